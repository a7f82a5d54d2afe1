import fs from 'node:fs'; import path from 'node:path'
import * as allm from '../../src/index.ts'
import { openai } from '../../src/openai.ts'
import { anthropic } from '../../src/anthropic.ts'
import { gemini } from '../../src/gemini.ts'
const root = '/work/shared/fixtures'
const list = JSON.parse(fs.readFileSync(root + '/open/index.json'))
function mk(c, fetch) {
  const o = { apiKey:'k-test-1', fetch }
  if (c.provider==='anthropic' && c.endpoint==='messages') return anthropic(o)
  if (['gemini','vertex'].includes(c.provider) && /enerateContent$/.test(c.endpoint)) return gemini(o)
  if (c.endpoint==='chat/completions') return openai({...o, api:'chat', baseUrl:'http://x.test/v1'})
  if (c.endpoint==='responses') return openai({...o, api:'responses'})
}
const TO = Symbol('timeout')
async function play(c, body, { ct, chunk, status = 200 } = {}) {
  const bytes = typeof body==='string'? Buffer.from(body) : body
  const fetch = async () => new Response(new ReadableStream({ start(k){ if (!chunk) { if (bytes.length) k.enqueue(new Uint8Array(bytes)) } else for (let i=0;i<bytes.length;i+=chunk) k.enqueue(new Uint8Array(bytes.subarray(i,i+chunk))); k.close() } }), { status, headers: ct===null?{}:{ 'content-type': ct } })
  let n=0
  const engine = allm.createEngine({ adapter: mk(c, fetch), model: c.model ?? 'm', retry: false, newId: (k)=>`${k}_${++n}` })
  const evs=[]
  const run = (async()=>{ try { for await (const e of allm.streamGenerate(engine,[allm.user('hi')])) evs.push(e); return {r: await allm.collect((async function*(){yield* evs})())} } catch(err) { return {err} } })()
  const r = await Promise.race([run, new Promise(r=>setTimeout(()=>r(TO),5000))])
  if (r===TO) return { hang:true }
  if (r.err) { if (!allm.isAllmError(r.err)) return { untyped: r.err }; return { err: r.err.kind+'/'+r.err.reason+': '+r.err.message.slice(0,120) } }
  const x=r.r
  const last = evs.at(-1)?.type
  const deltas = evs.filter(e=>e.type==='text_delta').map(e=>e.delta).join('')
  return { text:x.outputText, deltas, reasoning:(Array.isArray(x.message.content)?x.message.content:[]).filter(p=>p.type==='reasoning').map(p=>p.text).join('|'), calls:x.toolCalls.map(t=>[t.name,t.arguments,t.rawArguments]), fin:x.finishReason, usage:x.usage, err: x.error? x.error.kind+'/'+x.error.reason+': '+x.error.message.slice(0,120):undefined, last, n: evs.length }
}
const noExtra = r=>r.usage?{...r,usage:{...r.usage,extra:undefined}}:r
const key = (r0, f=['text','deltas','reasoning','calls','fin','usage','err']) => { const r=noExtra(r0); return JSON.stringify(f.map(k=>r[k])) }
function sse(text) { return text.split(/\r\n\r\n|\n\n|\r\r/).filter(b=>b.trim()!=='').map(b=>b) }
const mapJson = (text, fn) => sse(text).map(b=>b.split(/\r?\n/).map(l=>{ const m=/^data: ?(.*)$/.exec(l); if(!m) return l; let v; try{v=JSON.parse(m[1])}catch{return l}; const w=fn(v); return w===undefined?null:'data: '+JSON.stringify(w)}).filter(x=>x!==null).join('\n')).filter(b=>b!=='').join('\n\n')+'\n\n'
const deep = (v, fn) => { if (Array.isArray(v)) return v.map(x=>deep(x,fn)); if (v&&typeof v==='object') { const o={}; for (const k in v) o[k]=deep(v[k],fn); return fn(o) } return v }
const opaqueKeys = new Set(['input','args','arguments','partialArgs'])
const nulls = v => { // add null members for commonly-optional names everywhere
  const names = ['index','id','type','text','thinking','signature','name','input','citations','error','usage','delta','message','content_block','finish_reason','refusal','tool_calls','function_call','role','content','logprobs','reasoning','reasoning_content','reasoning_details','audio','images','annotations','functionCall','inlineData','thought','thoughtSignature','promptFeedback','usageMetadata','finishReason','stop_reason','partial_json','data','choices','candidates','parts','functionResponse','executableCode','response','item','part','partialArgs','willContinue','x_groq','object','request_id','container','stop_sequence','id','output_index','content_index','incomplete_details','summary','encrypted_content','call_id','param','code','status','extra_content','thinking_blocks','blockReason']
  const walk = (x, inArgs) => { if (Array.isArray(x)) return x.map(y=>walk(y,inArgs)); if (x&&typeof x==='object') { const o={}; for (const k in x) o[k]=walk(x[k], inArgs||opaqueKeys.has(k)||['usage','usageMetadata','safetyRatings','groundingMetadata'].includes(k)); if (!inArgs) for (const n of names) if (!(n in o)) o[n]=null; return o } return x }
  return walk(v,false)
}
const unknowns = v => deep(v, o=>({...o, zz_new:{a:[1,null,{b:'x'}]}, zz_s:'new'}))
const muts = {
  crlf: t=>t.replace(/\r?\n/g,'\r\n'), cr: t=>t.replace(/\r?\n/g,'\r'), nofinalblank: t=>t.trimEnd(), onefinalnl: t=>t.trimEnd()+'\n',
  comments: t=>': hi\n\n'+sse(t).join('\n\n: ping\n\n')+'\n\n: bye\n\n', commentsNoBlank: t=>sse(t).map(b=>': c\n'+b).join('\n\n')+'\n\n',
  bom: t=>'\ufeff'+t, nospace: t=>t.replace(/^data: /gm,'data:'), ids: t=>sse(t).map((b,i)=>`id: ${i}\nretry: 100\n`+b).join('\n\n')+'\n\n',
  emptydata: t=>sse(t).join('\n\ndata:\n\n')+'\n\n', emptydata2: t=>sse(t).join('\n\ndata: \n\n')+'\n\n', pings: t=>sse(t).join('\n\nevent: ping\ndata: {"type": "ping"}\n\n')+'\n\n',
  unknownevents: t=>sse(t).join('\n\nevent: zz_new\ndata: {"type":"zz_new","zz":null,"x":[1]}\n\n')+'\n\n',
  unknowns: t=>mapJson(t,unknowns), nulls: t=>mapJson(t,nulls), noeventline: t=>t.replace(/^event: .*\r?\n/gm,''), 
  doneAfter: t=>/\[DONE\]/.test(t)?t:t.replace(/\s*$/,'\n\n')+'data: [DONE]\n\n', doneTwice: t=>t.replace(/\s*$/,'\n\n')+'data: [DONE]\n\ndata: [DONE]\n\n',
  noindex: t=>mapJson(t,v=>{ if (v.index!==undefined&&v.type) { const {index,...r}=v; v=r } ; if (v.choices) v={...v,choices:v.choices.map(({index,...r})=>r)}; if(v.candidates) v={...v,candidates:v.candidates.map(({index,...r})=>r)}; return v }),
  nulindex: t=>mapJson(t,v=>{ if (v.index!==undefined&&v.type) v={...v,index:null}; if (v.choices) v={...v,choices:v.choices.map(r=>({...r,index:null}))}; return v }),
  pretty: t=>sse(t).map(b=>b.split(/\r?\n/).flatMap(l=>{const m=/^data: ?(.*)$/.exec(l); if(!m) return [l]; try{return JSON.stringify(JSON.parse(m[1]),null,2).split('\n').map(x=>'data: '+x)}catch{return [l]}}).join('\n')).join('\n\n')+'\n\n',
  padded: t=>sse(t).map(b=>b.split(/\r?\n/).map(l=>/^data: ?\{/.test(l)?l+'    ':l).join('\n')).join('\n\n')+'\n\n',
}
const ctMuts = { ctNone:null, ctJson:'application/json', ctText:'text/plain', ctSseCharset:'text/event-stream; charset=utf-8', ctUpper:'Text/Event-Stream', ctStreamJson:'application/stream+json' }
const stats={cases:0, plays:0, bad:{}}
const report=(m,c,a,b)=>{ (stats.bad[m]??=[]).push([c.id, a, b]) }
for (const c of list) {
  if (c.status!==200 || !mk(c)) continue
  const dir=path.join(root,c.dir); const meta=JSON.parse(fs.readFileSync(dir+'/meta.json')); const buf=fs.readFileSync(path.join(dir,meta.response.file)); const ct=meta.response.contentType
  const base = await play(c, buf, {ct}); stats.cases++
  if (base.hang||base.untyped) report('base',c,base,'')
  if (!c.streaming || !/^(data|event|:|id)/m.test(buf.toString().slice(0,2000)) || /^\s*[\[{]/.test(buf.toString())) {
    // whole body
    let v; try { v=JSON.parse(buf.toString()) } catch { continue }
    const ws = { ws: '\n\n  '+buf.toString()+'\n', unknowns: JSON.stringify(unknowns(v)), nulls: JSON.stringify(nulls(v)), min: JSON.stringify(v), bom:'\ufeff'+buf.toString() }
    for (const k in ws) { stats.plays++; const r=await play(c, ws[k], {ct}); if (r.hang||r.untyped||key(r)!==key(base)) report('whole-'+k,c,r,base) }
    for (const k of ['ctNone','ctText','ctSseCharset']) { stats.plays++; const r=await play(c, buf, {ct:ctMuts[k]}); if (r.hang||r.untyped||key(r)!==key(base)) report('whole-'+k,c,r,base) }
    continue
  }
  const t=buf.toString()
  for (const k in muts) { if (k==='noeventline'&&c.provider==='x') continue; stats.plays++; const r=await play(c, muts[k](t), {ct}); if (r.hang||r.untyped||key(r)!==key(base)) report(k,c,r,base) }
  for (const k in ctMuts) { stats.plays++; const r=await play(c, buf, {ct:ctMuts[k]}); if (r.hang||r.untyped||key(r)!==key(base)) report(k,c,r,base) }
  for (const chunk of [1,3,17,1000]) { stats.plays++; if (chunk===1&&buf.length>60000) continue; const r=await play(c, buf, {ct,chunk}); if (r.hang||r.untyped||key(r)!==key(base)) report('chunk'+chunk,c,r,base) }
  // truncation at every event boundary: never success before end; text monotone
  const bl=sse(t); const step=Math.max(1,Math.floor(bl.length/25))
  for (let i=0;i<bl.length-1;i+=step) { const cut=bl.slice(0,i).map(b=>b+'\n\n').join(''); stats.plays++; const r=await play(c,cut,{ct}); if (r.hang||r.untyped) report('cut',c,{i,...r},base); else if (!r.err) { // success: allowed only if finish reason seen
      if (key(r,['text','reasoning','calls','fin'])!==key(base,['text','reasoning','calls','fin'])) report('cut-success',c,{i,of:bl.length,...r},base) }
    else { const want = base.text??''; if (r.text!==undefined && r.text !== r.deltas) report('cut-lost',c,{i,...r},base) } }
  // cut inside bytes
  for (let f=0.1;f<1;f+=0.13) { const cut=buf.subarray(0,Math.floor(buf.length*f)); stats.plays++; const r=await play(c,cut,{ct}); if (r.hang||r.untyped) report('bytecut',c,r,base); else if (!r.err && key(r,['text','reasoning','calls','fin'])!==key(base,['text','reasoning','calls','fin'])) report('bytecut-success',c,r,base) }
}
console.log(stats.cases, stats.plays)
for (const m in stats.bad) { console.log(`## ${m}: ${stats.bad[m].length}`); for (const [id,a,b] of stats.bad[m].slice(0,+process.env.N||3)) { console.log('   ',id); console.log('      got ',a.untyped?a.untyped:JSON.stringify(a).slice(0,500)); console.log('      base',JSON.stringify(b).slice(0,400)) } }
process.exit(0)
