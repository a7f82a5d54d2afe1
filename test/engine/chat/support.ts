import { chat, createEngine, tool, user, type CallOptions, type Tool } from '../../../src/index.ts'
import { fake, type Fake, type Script } from '../../../src/testing.ts'

/** Shared by the tests of the loop: a tool, an answer, and a run of scripts. */

export const messages = [user('go')]
export const call = (id: string, name = 'echo'): Script[number] => [
  'tool_call',
  { id, name, arguments: { id } },
]
export const done: Script = [
  ['text', 'done'],
  ['usage', { inputTokens: 2, outputTokens: 1 }],
  ['finish', 'stop'],
]
export const named = (
  name: string,
  handler: NonNullable<Tool['handler']>,
  extra: Partial<Tool> = {},
): Tool => ({
  ...tool({ name, description: `the tool ${name}`, schema: { type: 'object' }, handler }),
  ...extra,
})
export const echo = named('echo', (args) => args)

export function run(
  scripts: readonly Script[],
  options: CallOptions = {},
  tools: readonly Tool[] = [echo],
): { adapter: Fake; result: ReturnType<typeof chat> } {
  const adapter = fake({ scripts })
  return { adapter, result: chat(createEngine({ adapter, tools }), messages, options) }
}
