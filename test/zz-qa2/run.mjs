// node run.mjs : generic acceptance over open fixtures via replay server
import fs from 'node:fs'; import path from 'node:path'
import { startReplay } from '../../../shared/tools/replay.mjs'
import * as allm from '../../src/index.ts'
import { openai, openaiImages } from '../../src/openai.ts'
import { anthropic } from '../../src/anthropic.ts'
import { gemini, geminiImages } from '../../src/gemini.ts'
const root = path.resolve(import.meta.dirname, '../../../shared/fixtures')
const ix = JSON.parse(fs.readFileSync(root + '/open/index.json')); const list = ix.cases ?? ix
const srv = await startReplay(root)
const known = { stop:'stop', length:'length', tool_calls:'tool_calls', function_call:'tool_calls', content_filter:'content_filter',
 end_turn:'stop', stop_sequence:'stop', max_tokens:'length', tool_use:'tool_calls', refusal:'content_filter', STOP:'stop', MAX_TOKENS:'length', SAFETY:'content_filter', RECITATION:'content_filter', PROHIBITED_CONTENT:'content_filter', BLOCKLIST:'content_filter', SPII:'content_filter', IMAGE_SAFETY:'content_filter' }
let n=0, bad=0; const skipped={}
for (const c of list) {
  const dir = path.join(root, c.dir); const meta = JSON.parse(fs.readFileSync(dir+'/meta.json'))
  const e = JSON.parse(fs.readFileSync(dir+'/expect.json'))
  let adapter; const base = `${srv.url}/c/open/${c.provider}/${c.id}/v1`
  if (c.provider==='anthropic' && c.endpoint==='messages') adapter = anthropic({ baseUrl: base, apiKey:'k-test-1' })
  else if (['gemini','vertex'].includes(c.provider) && /enerateContent$/.test(c.endpoint)) adapter = gemini({ baseUrl: base, apiKey:'k-test-1' })
  else if (c.endpoint==='chat/completions') adapter = openai({ api:'chat', baseUrl: base, apiKey:'k-test-1' })
  else if (c.endpoint==='responses') adapter = openai({ api:'responses', baseUrl: base, apiKey:'k-test-1' })
  else { skipped[c.provider+' '+c.endpoint]=(skipped[c.provider+' '+c.endpoint]??0)+1; continue }
  n++
  const engine = allm.createEngine({ adapter, model: meta.model ?? 'm', retry: false })
  const outs = {}
  for (const how of ['generate','stream','adapterGenerate']) {
    try {
      if (how==='generate') outs[how] = { r: await allm.generate(engine, [allm.user('hi')]) }
      else if (how==='stream') { const evs=[]; for await (const ev of allm.streamGenerate(engine, [allm.user('hi')])) evs.push(ev); const r = await allm.collect((async function*(){yield* evs})()); outs[how]={ r: r.error? undefined : r, err: r.error, part: r, evs } }
      else { if (c.streaming && c.provider!=='x') continue; outs[how] = { r: await adapter.generate({ model: meta.model??'m', messages:[{role:'user',content:'hi'}], tools:[], providerOptions:{}, metadata:{} }, {requestId:'r'}) } }
    } catch (err) { outs[how] = { err, part: err.partial }; if (!allm.isAllmError(err)) console.log('UNTYPED', c.id, how, err) }
  }
  for (const how in outs) {
    const { r, err, part } = outs[how]; const diffs=[]
    const cmp=(k,a,b)=>{ if (JSON.stringify(a)!==JSON.stringify(b)) diffs.push(`${k}: got ${JSON.stringify(a)?.slice(0,300)} want ${JSON.stringify(b)?.slice(0,300)}`) }
    const wantErr = e.error ?? e.streamErrors?.[0]
    if (wantErr) { if (!err) diffs.push('no error but expected '+JSON.stringify(wantErr).slice(0,200)); else { if (e.error?.status && err.status!==e.error.status) diffs.push(`status ${err.status} want ${e.error.status}`); if (wantErr.message && !err.message.includes(wantErr.message.slice(0,40))) diffs.push('message: '+err.message.slice(0,150)+' WANT '+wantErr.message.slice(0,150)); if (process.env.V) console.log(c.id, how, err.reason, err.kind, JSON.stringify(wantErr).slice(0,200)) } }
    else if (err) diffs.push(`error ${err.kind}/${err.reason}: ${err.message.slice(0,200)}`)
    const x = r ?? part
    if (x) {
      const ch = e.choices ? e.choices[0] ?? {} : e
      const text = ch.text ?? ''
      cmp('text', x.outputText, text)
      const parts = Array.isArray(x.message?.content)? x.message.content:[]
      cmp('reasoning', parts.filter(p=>p.type==='reasoning').map(p=>p.text).join(''), ch.reasoning ?? '')
      cmp('calls', x.toolCalls.map(t=>[t.name,t.arguments]), (ch.toolCalls??[]).map(t=>[t.name, t.arguments]))
      if ((ch.toolCalls??[]).some(t=>t.id)) cmp('callIds', x.toolCalls.map(t=>t.id), ch.toolCalls.map(t=>t.id))
      let fin = ch.finish; if (e.status) fin = e.status==='completed' ? ((e.toolCalls??[]).length?'tool_calls':'stop') : e.incompleteReason==='max_output_tokens'?'length':e.incompleteReason
      const wantFin = fin==null? undefined : known[fin] ?? fin
      if (!err) cmp('finish', x.finishReason, (c.provider==='gemini'&&wantFin==='stop'&&(e.toolCalls??[]).length)?'tool_calls':wantFin)
      cmp('id', x.id, e.id ?? undefined); cmp('model', x.model, e.model ?? undefined)
      const u = e.usage ?? {}; let w
      if (c.provider==='anthropic') { const i=u.input_tokens==null?undefined:u.input_tokens+(u.cache_read_input_tokens??0)+(u.cache_creation_input_tokens??0); w={inputTokens:i,outputTokens:u.output_tokens,cachedInputTokens:u.cache_read_input_tokens??undefined,cacheWriteInputTokens:u.cache_creation_input_tokens??undefined,reasoningTokens:u.output_tokens_details?.thinking_tokens} }
      else if (['gemini','vertex'].includes(c.provider)) w={inputTokens:u.promptTokenCount==null?undefined:u.promptTokenCount+(u.toolUsePromptTokenCount??0),outputTokens:u.candidatesTokenCount==null&&u.thoughtsTokenCount==null?undefined:(u.candidatesTokenCount??0)+(u.thoughtsTokenCount??0),totalTokens:u.totalTokenCount,cachedInputTokens:u.cachedContentTokenCount,reasoningTokens:u.thoughtsTokenCount}
      else w={inputTokens:u.prompt_tokens??u.input_tokens,outputTokens:u.completion_tokens??u.output_tokens,totalTokens:u.total_tokens,cachedInputTokens:(u.prompt_tokens_details??u.input_tokens_details)?.cached_tokens,reasoningTokens:(u.completion_tokens_details??u.output_tokens_details)?.reasoning_tokens}
      for (const k in w) if ((x.usage?.[k])!==(w[k]??undefined)) diffs.push(`usage.${k}: got ${x.usage?.[k]} want ${w[k]}`)
      if (e.inlineData?.length) { const im=parts.filter(p=>p.type==='image').length; const wi=e.inlineData.length; if (im!==wi) diffs.push(`images ${im} want ${JSON.stringify(e.inlineData).slice(0,200)}`) }
      if (JSON.stringify(JSON.parse(JSON.stringify(x)))!==JSON.stringify(x)) diffs.push('not plain')
    }
    if (diffs.length) { bad++; console.log(`-- ${c.id} [${how}] ${c.features}`); for (const d of diffs) console.log('     '+d) }
  }
}
console.log({ n, bad, skipped }); srv.close(); process.exit(0)
