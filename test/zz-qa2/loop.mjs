import * as allm from '../../src/index.ts'
import { openai } from '../../src/openai.ts'
import { z } from 'zod'
const s=(...e)=>e.map(x=>`data: ${typeof x==='string'?x:JSON.stringify(x)}\n\n`).join('')
const c=(delta,fin=null)=>({id:'c',choices:[{index:0,delta,finish_reason:fin}]})
for (const fin of ['stop','tool_calls','length','weird',null]) {
 let k=0; const sent=[]
 const f=async(u,i)=>{sent.push(JSON.parse(i.body));k++;return new Response(k===1?s(c({tool_calls:[{index:0,id:'a',function:{name:'f',arguments:'{"x":1}'}}]}),c({},fin),'[DONE]'):s(c({content:'done'},'stop'),'[DONE]'),{headers:{'content-type':'text/event-stream'}})}
 let ran=0
 const e=allm.createEngine({adapter:openai({api:'chat',apiKey:'k',fetch:f}),model:'m',tools:[allm.tool({name:'f',description:'d',schema:z.object({x:z.number()}),handler:()=>{ran++;return 'ok'}})]})
 try { const r=await allm.chat(e,[allm.user('hi')]); console.log(fin,'ran',ran,'calls',k,r.haltedReason,r.finalResponse.finishReason,JSON.stringify(r.finalResponse.outputText), allm.isSendable(r.thread)) } catch(err){console.log(fin,err.message)}
}
process.exit(0)
