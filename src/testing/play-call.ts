import { beginCall, type BegunCall, type FakeInput } from './begin-call.ts'
import { playSections, type SlowPlay } from './play-sections.ts'
import { renderSection, sectionsFor } from './render-section.ts'
import type { ModelEvent } from '../types/events.ts'

type Step = Promise<IteratorResult<readonly ModelEvent[], undefined>>

/** An adapter's stream that can also be read by hand. */
export interface FakeStream extends AsyncIterable<readonly ModelEvent[]> {
  next(): Step
  /** Leaves the stream: a wait that is under way ends at once. */
  return(): Step
  [Symbol.asyncIterator](): FakeStream
}

/**
 * Plays a call. Nothing happens before the first `next()`.
 *
 * A script without waits is one batch, handed out without a generator; one with waits is played by `playSections`.
 */
export function playCall(input: FakeInput): FakeStream {
  // Object.create has no type. Methods of its own would cost a stream twenty times as much as it costs otherwise.
  const play = Object.create(methods) as Play
  play.input = input
  play.status = 'new'
  play.slow = undefined
  return play
}

interface Play extends FakeStream {
  input: FakeInput
  status: 'new' | 'open' | 'over'
  /** Set when the script waits; it then does everything. */
  slow: SlowPlay | undefined
}

const methods: FakeStream & ThisType<Play> = {
  next() {
    if (this.status === 'new') return begin(this)
    if (this.slow !== undefined) return this.slow.batches.next()
    if (this.status === 'open') end(this)
    return over
  },
  return() {
    if (this.slow !== undefined) return this.slow.leave()
    if (this.status === 'open') end(this)
    this.status = 'over'
    return over
  },
  [Symbol.asyncIterator]() {
    return this
  },
}

const over: Promise<IteratorResult<never, undefined>> = Promise.resolve(
  Object.freeze({ done: true, value: undefined }),
)

function begin(play: Play): Step {
  const { input } = play
  play.status = 'open'
  input.fake.openStreams++
  const call = attempt(input)
  if ('failure' in call) {
    end(play)
    return Promise.reject(call.failure)
  }
  const batch = onlyBatch(input, call)
  if (batch !== undefined) return Promise.resolve({ done: false, value: batch })
  play.slow = playSections(input.options, call, () => end(play))
  return play.slow.batches.next()
}

function end(play: Play): void {
  const { fake } = play.input
  play.status = 'over'
  fake.openStreams--
  fake.cleanupObserver?.()
}

function attempt(input: FakeInput): BegunCall | { readonly failure: Error } {
  try {
    return beginCall(input)
  } catch (error) {
    return { failure: error instanceof Error ? error : new Error(String(error), { cause: error }) }
  }
}

function onlyBatch(
  { options }: FakeInput,
  { script, facts }: BegunCall,
): readonly ModelEvent[] | undefined {
  const sections = sectionsFor(script, options)
  if (sections.length > 1 || sections[0]?.delayMs !== 0) return undefined
  return renderSection(script, sections, 0, facts)
}
