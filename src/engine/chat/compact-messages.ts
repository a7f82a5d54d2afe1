import type { NextStep, PrepareStep } from '../../core/contracts/options.ts'
import { isUsersOwn } from '../../core/messages/tool-messages.ts'
import {
  anyFunction,
  assertValid,
  describe,
  fine,
  isPlainObject,
  join,
  nonNegativeInteger,
  optionsOf,
  positiveInteger,
  refusal,
  within,
  type Check,
} from '../../core/schema/checks.ts'
import type { Message } from '../../core/types/message.ts'

/** The options of `compactMessages`. */
export interface CompactOptions {
  /** The tokens that the messages of a call may have, estimated at four characters each. */
  readonly budget: number
  /** How many of the last messages are kept, whatever they cost (10). */
  readonly keepLast?: number | undefined
  /**
   * Sums up the messages that are left out; the text of an earlier summary is the first of them. Without it they are only counted. The
   * signal is aborted when the run is stopped.
   */
  readonly summarize?:
    | ((
        messages: readonly Message[],
        options: { readonly signal: AbortSignal },
      ) => string | Promise<string>)
    | undefined
}

const optionChecks = {
  budget: positiveInteger,
  keepLast: nonNegativeInteger,
  summarize: anyFunction,
} satisfies Readonly<Record<keyof CompactOptions, Check>>

/** The problems of the options. A budget that is absent is one. */
const checkOptions: Check = (options) =>
  join(
    optionsOf(optionChecks)(options),
    isPlainObject(options) && options['budget'] === undefined
      ? within('budget', positiveInteger(undefined))
      : fine,
  )

/** How many summaries are remembered. */
const maxNotes = 1000

/**
 * A `prepareStep` that keeps a long conversation within a budget: the oldest messages are left out of the call, and one
 * message says so, or sums them up. System messages and the last message of the user stay. A tool call is never separated from its
 * result.
 *
 * The thread does not change, so nothing is lost. What was left out stays out until the rest is over the budget again, and
 * half of the budget is free then, so that a prompt cache holds and `summarize` is not called for every step. The last 1000 summaries
 * are remembered by what they sum up, so a session may come from a store. Another process sums up anew.
 */
export function compactMessages(options: CompactOptions): PrepareStep {
  assertValid('invalid_options', checkOptions(options))
  const { budget, keepLast = 10, summarize } = options
  // What stands for messages that are left out, by those messages.
  const notes = new Map<string, Message>()

  return async ({ messages, signal }) => {
    if (tokens(messages) <= budget) return undefined
    const start = Math.max(
      messages.findIndex(({ role }) => role !== 'system'),
      0,
    )
    const digests = digestsOf(messages.slice(start))
    const known = digests.findLastIndex((digest) => notes.has(digest))
    const from = start + known + 1
    const before = notes.get(digests[known] ?? '')
    const rest = messages.slice(from)
    if (before !== undefined && tokens([before, ...rest]) <= budget) {
      return { messages: compacted(messages, start, from, before) }
    }
    const at = cutAt(messages, start, { budget: budget / 2, keepLast })
    const digest = digests[at - start - 1]
    if (at <= from || digest === undefined) {
      return before && { messages: compacted(messages, start, from, before) }
    }
    const left = messages.slice(from, at)
    const dropped = before === undefined ? left : [before, ...left]
    const note = await noteFor(dropped, at - start, { summarize, signal })
    notes.set(digest, note)
    const [oldest] = notes.keys()
    if (notes.size > maxNotes && oldest !== undefined) notes.delete(oldest)
    return { messages: compacted(messages, start, at, note) }
  }
}

/** The messages of a call. What the user asked for last is among them, also when it is far back: it is the task. */
function compacted(
  messages: readonly Message[],
  start: number,
  at: number,
  note: Message,
): readonly Message[] {
  const task = messages.findLastIndex(isUsersOwn)
  const kept = task >= start && task < at ? messages.slice(task, task + 1) : []
  return [...messages.slice(0, start), note, ...kept, ...messages.slice(at)]
}

async function noteFor(
  dropped: readonly Message[],
  count: number,
  { summarize, signal }: Pick<CompactOptions, 'summarize'> & Pick<NextStep, 'signal'>,
): Promise<Message> {
  const summary = await summarize?.(dropped, { signal })
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

/** For each message, what tells it and all before it from other conversations. */
function digestsOf(messages: readonly Message[]): readonly string[] {
  let chain = ''
  return messages.map((message) => {
    let own = digests.get(message)
    if (own === undefined) {
      const { role, content, toolCalls, toolCallId } = message
      own = digest(JSON.stringify([role, content, toolCalls, toolCallId], sorted))
      digests.set(message, own)
    }
    chain = digest(chain + own)
    return chain
  })
}

const digests = /* @__PURE__ */ new WeakMap<Message, string>()

/** A database may change the order of keys. */
function sorted(_key: string, value: unknown): unknown {
  return isPlainObject(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value
}

/** 128 bits of a text: four multiplicative hashes with different seeds. It need not resist anybody, only tell texts apart. */
function digest(text: string): string {
  const sums = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f]
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    for (let n = 0; n < 4; n++) {
      const sum = Math.imul((sums[n] ?? 0) ^ code, 0x01000193 + 2 * n)
      sums[n] = sum ^ (sum >>> 15)
    }
  }
  return sums.map((sum) => (sum >>> 0).toString(36)).join('.')
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
