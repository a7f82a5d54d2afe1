// Many tools, few tokens: the model sees one line for each tool, and asks for the full schema when it needs it.
import { chat, createEngine, tool, user } from 'allm-ts'
import { z } from 'zod'
import { choose } from './choose.ts'

const actions = ['archive', 'rename', 'share', 'translate', 'print']
const tools = actions.map((action) =>
  tool({
    name: `${action}_document`,
    description: `Use this to ${action} a document. It needs the id of the document.`,
    schema: z.object({ id: z.string().describe('such as doc-1') }),
    compact: true,
    handler: ({ id }) => `${action} of ${id}: done`,
  }),
)

const engine = createEngine({
  ...choose([
    [['tool_call', { id: 'c1', name: 'tool_help', arguments: { names: ['print_document'] } }]],
    [['tool_call', { id: 'c2', name: 'print_document', arguments: { id: 'doc-1' } }]],
    [['text', 'Printed doc-1.']],
  ]),
  tools,
})

const result = await chat(engine, [user('Print doc-1.')])
const [help, printed] = result.thread.messages.filter(({ role }) => role === 'tool')

console.log(JSON.stringify(help).includes('such as doc-1'))
console.log(printed?.content)
console.log(result.outputText)
// => true
// => print of doc-1: done
// => Printed doc-1.
