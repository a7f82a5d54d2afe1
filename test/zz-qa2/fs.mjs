import * as allm from '../../src/index.ts'
import { openai, openaiImages } from '../../src/openai.ts'
import { anthropic } from '../../src/anthropic.ts'
import { gemini } from '../../src/gemini.ts'
import { createFakeServer } from '../../src/server.ts'
import fs from 'node:fs'
const src=fs.readFileSync(new URL('./req.mjs',import.meta.url),'utf8')
const block=src.slice(src.indexOf('const png='),src.indexOf('const provs='))
const { threads, opts } = new Function(block+';return {threads,opts}')()
const srv=await createFakeServer({script:[['text','{"answer":"x","n":1}']],repeat:true})
const provs={chat:[()=>openai({api:'chat',apiKey:'k',baseUrl:srv.openaiBaseUrl}),['gpt-4o','gpt-5','o3-mini','gpt-3.5-turbo']],resp:[()=>openai({api:'responses',apiKey:'k',baseUrl:srv.openaiBaseUrl}),['gpt-4o','gpt-5','gpt-5.5']],ant:[()=>anthropic({apiKey:'k',baseUrl:srv.anthropicBaseUrl}),['claude-3-5-sonnet-latest','claude-sonnet-4-5','claude-opus-4-7','claude-opus-5-5']],gem:[()=>gemini({apiKey:'k',baseUrl:srv.geminiBaseUrl}),['gemini-2.0-flash','gemini-2.5-flash','gemini-3-pro-preview']]}
const bad={};let n=0
for (const p in provs) for (const model of provs[p][1]) { const combos=[]; for (const th in threads) for (const o of ['none','tools','re_high']) combos.push([th,o]); for (const o in opts) for (const th of ['simple','tools','reasonAN']) combos.push([th,o])
 for (const [th,o] of combos) for (const via of ['engine','adapter']) { n++
  const ad=provs[p][0]()
  try { if(via==='engine') await allm.generate(allm.createEngine({adapter:ad,retry:false}),allm.modelRequest(threads[th],{model,...opts[o]})); else { const evs=[]; for await (const b of ad.stream({model,messages:threads[th],tools:[],providerOptions:{},metadata:{},...opts[o]},{requestId:'r'})) evs.push(...b); const l=evs.at(-1); if(l.type!=='message_completed') throw new Error(JSON.stringify(l)) } } catch(e) { const k=`${via} ${p} ${allm.isAllmError(e)?e.kind+'/'+e.reason:'UNTYPED'} ${e.message.slice(0,160)}`; (bad[k]??=[]).push(`${model} ${th} ${o}`) } } }
console.log(n); for(const k in bad) console.log(`## ${bad[k].length}x ${k}\n    ${[...new Set(bad[k])].slice(0,5).join(' | ')}`)
await srv.close(); process.exit(0)
