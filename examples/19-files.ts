// Sends a text file with a question. A tool answers with another file.
import { chat, content, createEngine, fileFromBytes, filePart, textPart, tool, user } from 'allm-ts'
import { choose } from './choose.ts'

const csv = (text: string, name: string) =>
  filePart(fileFromBytes(new TextEncoder().encode(text), 'text/csv', { name }))

const lastYear = tool({
  name: 'last_year',
  description: 'The sales of last year, as a table.',
  schema: { type: 'object', properties: {} },
  handler: () => content([textPart('Last year:'), csv('q1,q2\n80,90\n', 'last-year.csv')]),
})

const engine = createEngine({
  ...choose([
    [['tool_call', { id: 'c1', name: 'last_year', arguments: {} }]],
    [['text', 'Sales rose from 170 to 210.']],
  ]),
  tools: [lastYear],
})

const { finalResponse } = await chat(engine, [
  user([textPart('How do our sales compare to last year?'), csv('q1,q2\n100,110\n', 'sales.csv')]),
])

console.log(finalResponse?.outputText)
// => Sales rose from 170 to 210.
