import fc from 'fast-check'
import { adapterErrorReasons, streamErrorReasons } from '../../src/core/errors/errors.ts'
import { finishReasons } from '../../src/core/types/response.ts'
import type { HarnessEntry, Script, ScriptEntry, SpecEntry } from '../../src/testing.ts'
import { json, jsonObject, shaped, text, usage, word } from './arbitraries.ts'

/** Arbitrary scripts, legal by construction, for the property tests of every folder. */

/** Makes entries that belong together; `id` is the id of the call in them. */
type Move = (id: string) => readonly SpecEntry[]

const adapterReason = fc.constantFrom(...adapterErrorReasons)
const finish = fc.constantFrom(...finishReasons).map((reason): ScriptEntry => ['finish', reason])
const details = shaped<{ readonly [key: string]: string | number }>(
  {},
  { message: word, status: fc.integer({ min: 400, max: 599 }), retryAfterMs: fc.nat() },
)

const texts: fc.Arbitrary<Move> = fc
  .array(text, { minLength: 1, maxLength: 4 })
  .map((pieces) => () => pieces.map((piece): SpecEntry => ['text', piece]))

const reasoning: fc.Arbitrary<Move> = fc.oneof(
  text.map((thought): Move => () => [['reasoning', thought]]),
  fc.tuple(text, json).map(([thought, opaque]): Move => () => [['reasoning', thought, { opaque }]]),
)

const wholeCall: fc.Arbitrary<Move> = fc
  .tuple(word, jsonObject, fc.option(json, { nil: undefined }))
  .map(([name, args, opaque]): Move => (id) => [
    ['tool_call', { id, name, arguments: args, ...(opaque === undefined ? {} : { opaque }) }],
  ])

/** Arguments in pieces: whole JSON or cut off, and with or without an entry that completes the call. */
const streamedCall: fc.Arbitrary<Move> = fc
  .tuple(word, jsonObject, fc.nat({ max: 40 }), fc.boolean(), fc.boolean())
  .map(([name, args, cut, whole, completed]): Move => (id) => {
    const raw = JSON.stringify(args)
    const head = raw.slice(0, cut)
    const pieces: SpecEntry[] = [['tool_call_delta', { id, name, argumentsDelta: head }]]
    if (whole) pieces.push(['tool_call_delta', { id, argumentsDelta: raw.slice(cut) }])
    return completed ? [...pieces, ['tool_call', { id, name }]] : pieces
  })

const aside: fc.Arbitrary<Move> = fc.oneof(
  usage.map((counts): Move => () => [['usage', counts]]),
  json.map((chunk): Move => () => [['raw_chunk', chunk]]),
)

const wait: fc.Arbitrary<Move> = fc.nat({ max: 100_000 }).map((ms): Move => () => [['delay', ms]])

function entriesOf(moves: readonly Move[]): readonly SpecEntry[] {
  return moves.flatMap((move, index) => move(`call_${index}`))
}

const content = fc.array(fc.oneof(texts, reasoning, wholeCall, streamedCall, aside, wait), {
  maxLength: 6,
})

/** A script that ends without a failure: with `finish`, or after its last entry. */
export const endingScript: fc.Arbitrary<Script> = fc
  .tuple(content, fc.option(finish, { nil: undefined }))
  .map(([moves, end]) => (end === undefined ? entriesOf(moves) : [...entriesOf(moves), end]))

/** A script of the tests' vocabulary that fails after its first event. */
export const failingScript: fc.Arbitrary<Script> = fc
  .tuple(content, fc.oneof(adapterReason, json))
  .map(([moves, term]) => [...entriesOf(moves), ['error', term]])

/** A script of the harnesses' vocabulary: whole answers and failures of every kind. */
export const harnessScript: fc.Arbitrary<Script> = fc.oneof(
  shaped<Extract<HarnessEntry, readonly ['ok', unknown]>[1]>(
    {},
    { outputText: text, usage, finishReason: fc.constantFrom(...finishReasons), model: word },
  ).map((response): Script => [['ok', response]]),
  fc
    .tuple(fc.constantFrom('error', 'preflight_error'), adapterReason, details)
    .map(([tag, reason, facts]): Script => [[tag, reason, facts]]),
  fc
    .tuple(fc.array(text, { maxLength: 3 }), harnessEnd())
    .map(([pieces, end]): Script => [
      ...pieces.map((piece): HarnessEntry => ['text_delta', piece]),
      end,
    ]),
)

/** Any legal script. */
export const script: fc.Arbitrary<Script> = fc.oneof(endingScript, failingScript, harnessScript)

function harnessEnd(): fc.Arbitrary<ScriptEntry> {
  return fc.oneof(
    finish,
    fc
      .tuple(adapterReason, details)
      .map(([reason, facts]): HarnessEntry => ['error_event', reason, facts]),
    fc
      .tuple(fc.constantFrom(...streamErrorReasons), details)
      .map(([reason, facts]): HarnessEntry => ['stream_error', reason, facts]),
  )
}
