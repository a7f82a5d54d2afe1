import type { PrepareStep } from '../contracts/options.ts'
import {
  assertValid,
  describe,
  anyFunction,
  nonNegativeInteger,
  optionsOf,
  positiveInteger,
  refusal,
  type Check,
} from '../schema/checks.ts'
import type { Message } from '../types/message.ts'

/** The options of `compactMessages`. */
export interface CompactOptions {
  /** The tokens that the messages of a call may have, estimated at four characters each. */
  readonly budget: number
  /** How many of the last messages are kept, whatever they cost (10). */
  readonly keepLast?: number | undefined
  /** Sums up the messages that are left out; the text of an earlier summary is the first of them. Without it they are only counted. */
  readonly summarize?: ((messages: readonly Message[]) => string | Promise<string>) | undefined
}

const checkOptions: Check = optionsOf({
  budget: positiveInteger,
  keepLast: nonNegativeInteger,
  summarize: anyFunction,
} satisfies Readonly<Record<keyof CompactOptions, Check>>)

/**
 * A `prepareStep` that keeps a long conversation within a budget: the oldest messages are left out of the call, and one
 * message says so, or sums them up. System messages stay. A tool call is never separated from its result.
 *
 * The thread does not change, so nothing is lost. What was left out stays out until the rest is over the budget again, and
 * half of the budget is free then, so that a prompt cache holds and `summarize` is not called for every step.
 */
export function compactMessages(options: CompactOptions): PrepareStep {
  assertValid('invalid_options', checkOptions(options))
  const { budget, keepLast = 10, summarize } = options
  // By the first message, which is the same object in every step of a run.
  const cuts = new WeakMap<Message, Cut>()

  return async ({ messages }) => {
    const [first] = messages
    if (first === undefined || tokens(messages) <= budget) return undefined
    const start = messages.findIndex(({ role }) => role !== 'system')
    const before = cuts.get(first)
    const isSame = before !== undefined && messages[before.at - 1] === before.last
    let cut = isSame ? before : undefined
    if (cut === undefined || tokens([cut.note, ...messages.slice(cut.at)]) > budget) {
      const at = cutAt(messages, Math.max(start, 0), { budget: budget / 2, keepLast })
      const from = cut?.at ?? Math.max(start, 0)
      const last = messages[at - 1]
      if (at <= from || last === undefined)
        return cut && { messages: compacted(messages, start, cut) }
      const left = messages.slice(from, at)
      const dropped = cut === undefined ? left : [cut.note, ...left]
      cut = { at, last, note: await noteFor(dropped, at - Math.max(start, 0), summarize) }
      cuts.set(first, cut)
    }
    return { messages: compacted(messages, start, cut) }
  }
}

/** Where a conversation was cut. */
interface Cut {
  /** The index of the first message that is kept. */
  readonly at: number
  /** The last message that is left out. */
  readonly last: Message
  /** Stands for the messages that are left out. */
  readonly note: Message
}

function compacted(messages: readonly Message[], start: number, cut: Cut): readonly Message[] {
  return [...messages.slice(0, Math.max(start, 0)), cut.note, ...messages.slice(cut.at)]
}

async function noteFor(
  dropped: readonly Message[],
  count: number,
  summarize: CompactOptions['summarize'],
): Promise<Message> {
  const summary = await summarize?.(dropped)
  if (summary !== undefined && typeof summary !== 'string') {
    throw refusal('invalid_options', 'summarize', `must return a text, not ${describe(summary)}`)
  }
  const content =
    summary === undefined
      ? `(${count} earlier messages of this conversation are left out.)`
      : `A summary of the earlier conversation:\n${summary}`
  return { role: 'user', content, metadata: { compacted: count } }
}

/** The first message to keep: as many as fit, at least `keepLast`, and never a tool message without its call. */
function cutAt(
  messages: readonly Message[],
  start: number,
  { budget, keepLast }: { readonly budget: number; readonly keepLast: number },
): number {
  let spent = 0
  let at = messages.length
  while (at > start) {
    const message = messages[at - 1]
    if (message === undefined) break
    spent += tokens([message])
    if (spent > budget && messages.length - at >= keepLast) break
    at--
  }
  // The answers to a call come after it, so the cut moves back to the message that made the calls.
  while (at > start && messages[at]?.role === 'tool') at--
  return at
}

/** An estimate. A part that is not text, such as an image, counts as 1,000. */
function tokens(messages: readonly Message[]): number {
  let sum = 0
  for (const message of messages) {
    let size = sizes.get(message)
    if (size === undefined) {
      size = characters(message) / 4
      sizes.set(message, size)
    }
    sum += size
  }
  return sum
}

/** Messages do not change, so each is measured once. */
const sizes = /* @__PURE__ */ new WeakMap<Message, number>()

function characters({ content, toolCalls }: Message): number {
  const calls = toolCalls === undefined ? 0 : JSON.stringify(toolCalls).length
  if (typeof content === 'string') return content.length + calls
  const parts = content.map((part) => ('text' in part ? part.text.length : 4000))
  return parts.reduce((sum, length) => sum + length, calls)
}
