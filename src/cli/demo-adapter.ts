import type { ChatAdapter } from '../contracts/adapter.ts'
import { fake } from '../testing/fake.ts'
import type { Script, ScriptEntry } from '../testing/script.ts'
import { messageText, type Message } from '../types/message.ts'
import type { ModelRequest } from '../types/request.ts'

/**
 * The fake that `allm chat` talks to: each call gets a script that fits the last message, so a conversation never runs out.
 *
 * It shows what a model does (words that stream, two tools at once, a question), and says that it is not one.
 */
export function demoAdapter(): ChatAdapter {
  return {
    provider: 'fake',
    stream: (request, options) => fake({ script: scriptFor(request) }).stream(request, options),
  }
}

function scriptFor({ messages }: ModelRequest): Script {
  const last = messages.at(-1)
  const before = messages.at(-2)
  const call = `call-${messages.length}`
  const said = last === undefined ? '' : messageText(last).trim()
  if (last?.role === 'tool') return spoken(`The tools say ${toolWords(messages)}.`)
  if (before?.metadata?.['askUser'] === true) return spoken(`You chose ${said}. Good to know.`)
  if (/\b(?:dice|die|roll)\b/i.test(said)) {
    return [
      ['tool_call', { id: `${call}a`, name: 'roll_dice', arguments: { sides: 6 } }],
      ['tool_call', { id: `${call}b`, name: 'roll_dice', arguments: { sides: 6 } }],
    ]
  }
  if (/\b(?:time|date|clock)\b/i.test(said)) {
    return [['tool_call', { id: call, name: 'now', arguments: { timeZone: 'UTC' } }]]
  }
  if (/\b(?:ask|question)\b/i.test(said)) {
    const question = { question: 'Tea or coffee?', choices: ['tea', 'coffee'] }
    return [['tool_call', { id: call, name: 'ask_person', arguments: question }]]
  }
  return spoken(
    `You said "${said}". I am the Fake, so I only play scripts: say "dice" for two tools at once, "time" for one, "ask" for a question. For a real model, start me with --provider.`,
  )
}

/** The results of the last batch, in a row. */
function toolWords(messages: readonly Message[]): string {
  const from = messages.findLastIndex(({ role }) => role === 'assistant')
  return messages
    .slice(from + 1)
    .map(messageText)
    .join(' and ')
}

/** A text as a model says it: word by word, after a moment. */
export function spoken(text: string, firstMs: number = 120, eachMs: number = 25): Script {
  const entries: ScriptEntry[] = []
  for (const [index, word] of (text.match(/\S+\s*/g) ?? []).entries()) {
    entries.push(['delay', index === 0 ? firstMs : eachMs], ['text', word])
  }
  return [...entries, ['finish', 'stop']]
}
