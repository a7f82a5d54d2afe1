import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { messageBuilder, type MessageBuilder } from '../../../src/core/answer/message-builder.ts'
import type { ModelEvent } from '../../../src/core/types/events.ts'
import { validateScript, type Script } from '../../../src/testing.ts'
import { compileScript } from '../../../src/testing/fakes/interpret.ts'
import { scriptOf } from '../../../src/testing/fakes/script-of.ts'
import { image, json, jsonObject, shaped, text, usage, word } from '../../support/arbitraries.ts'
import { script } from '../../support/scripts.ts'

const call = { provider: 'fake', requestId: 'r1', includeRawChunks: true, model: 'asked-for' }

/** The events of a script, or what it throws. */
function played(input: Script): { events: readonly ModelEvent[]; thrown?: unknown } {
  validateScript({ script: input })
  const { preflight, sections } = compileScript(input, call)
  const events = sections.flatMap((section) => section.events)
  return preflight === undefined ? { events } : { events, thrown: preflight.toJSON() }
}

function scriptFor(events: readonly ModelEvent[]): Script {
  return scriptOf({ provider: 'fake', sections: [{ delayMs: undefined, events }] })
}

describe('a script for events', () => {
  test.each<readonly [string, readonly ModelEvent[], Script]>([
    [
      'is as short as a person would write it',
      played([
        ['reasoning', 'Hm.', { opaque: 'signed' }],
        ['text', 'One '],
        ['text', 'moment.'],
        ['tool_call_delta', { id: 'c1', name: 'weather', argumentsDelta: '{"city":' }],
        ['tool_call_delta', { id: 'c1', argumentsDelta: '"Ghent"}' }],
        ['tool_call', { id: 'c1', name: 'weather' }],
        ['tool_call', { id: 'c2', name: 'weather', arguments: { city: 'Rome' } }],
        ['usage', { inputTokens: 3 }],
        ['finish', 'tool_calls'],
      ]).events,
      [
        ['start', { model: 'asked-for' }],
        ['reasoning', 'Hm.', { opaque: 'signed' }],
        ['text', 'One '],
        ['text', 'moment.'],
        ['tool_call_delta', { id: 'c1', name: 'weather', argumentsDelta: '{"city":' }],
        ['tool_call_delta', { id: 'c1', argumentsDelta: '"Ghent"}' }],
        ['tool_call', { id: 'c1', name: 'weather' }],
        ['tool_call', { id: 'c2', name: 'weather', arguments: { city: 'Rome' } }],
        ['usage', { inputTokens: 3 }],
        ['finish', 'tool_calls'],
      ],
    ],
    [
      'names the index of a block once',
      built((builder) => {
        builder.reasoning('I ', 0)
        builder.reasoning('think.', 0)
        builder.endReasoning({ signature: 's' }, 0)
        builder.text('So ', 1)
        builder.text('what?', 1)
        builder.endText(1)
        builder.finish({ finishReason: 'stop', rawFinishReason: 'end_turn' })
      }),
      [
        ['start', {}],
        ['reasoning', 'I ', { index: 0, more: true }],
        ['reasoning', 'think.', { opaque: { signature: 's' } }],
        ['text', 'So ', { index: 1 }],
        ['text', 'what?'],
        ['finish', 'stop', { rawFinishReason: 'end_turn' }],
      ],
    ],
    [
      'keeps a text open that goes on after a call',
      built((builder) => {
        builder.text('One')
        builder.startCall('c1', 'look')
        builder.callDelta('c1', '{}')
        builder.text(' and two.')
        builder.finish({ finishReason: 'tool_calls' })
      }),
      [
        ['start', {}],
        ['text', 'One', { more: true }],
        ['tool_call_delta', { id: 'c1', name: 'look', argumentsDelta: '{}' }],
        ['text', ' and two.'],
        ['tool_call', { id: 'c1', name: 'look' }],
        ['finish', 'tool_calls'],
      ],
    ],
  ])('%s', (_name, events, expected) => {
    expect(scriptFor(events)).toEqual(expected)
    expect(played(expected).events).toEqual(events)
  })

  test('keeps the waits apart', () => {
    const events = played([
      ['text', 'a'],
      ['text', 'b'],
    ]).events
    const sections = [
      { delayMs: 20, events: events.slice(0, 2) },
      { delayMs: 5, events: events.slice(2) },
    ]
    expect(scriptOf({ provider: 'fake', sections })).toEqual([
      ['delay', 20],
      ['start', { model: 'asked-for' }],
      ['text', 'a'],
      ['delay', 5],
      ['text', 'b'],
      ['finish', 'stop'],
    ])
  })

  test('emits the same events, for every script', () => {
    fc.assert(
      fc.property(script, (input) => {
        const { events, thrown } = played(input)
        // A first `error` of three elements is thrown, without a section.
        if (thrown !== undefined) return
        expect(played(scriptFor(events)).events).toEqual(events)
      }),
    )
  })

  test('emits the same events, for everything that a builder can be told', () => {
    fc.assert(
      fc.property(moves, (list) => {
        const events = built((builder) => {
          for (const move of list) move(builder)
          if (!builder.done) builder.finish({ finishReason: 'other' })
        })
        expect(played(scriptFor(events)).events).toEqual(events)
      }),
      { numRuns: 500 },
    )
  })
})

/** The events of what a builder is told. */
function built(tell: (builder: MessageBuilder) => void): readonly ModelEvent[] {
  const events: ModelEvent[] = []
  const builder = messageBuilder({
    provider: 'fake',
    requestId: 'r1',
    rawChunks: true,
    emit: (event) => void events.push(event),
  })
  tell(builder)
  return events
}

type Move = (builder: MessageBuilder) => void

const index = fc.constantFrom(0, 1, 7)
const id = fc.constantFrom('c1', 'c2', 'c3')
const source = shaped<{ readonly type: 'url'; readonly url?: string }>(
  { type: fc.constant('url') },
  { url: fc.webUrl(), start: fc.nat(), end: fc.nat() },
)
const sources = fc.array(source, { maxLength: 2 })

/** With or without an index, as one provider has them: never both in one answer. */
const moves: fc.Arbitrary<readonly Move[]> = fc
  .boolean()
  .chain((hasIndex) => fc.array(moveWith(hasIndex ? index : fc.constant(undefined))))

function moveWith(at: fc.Arbitrary<number | undefined>): fc.Arbitrary<Move> {
  const whole = fc.option(text, { nil: undefined, freq: 2 })
  return fc
    .oneof(
      fc.tuple(text, at).map(
        ([delta, place]): Move =>
          (builder) =>
            builder.text(delta, place),
      ),
      fc.tuple(at, whole, sources).map(
        ([place, all, known]): Move =>
          (builder) =>
            builder.endText(place, all, known),
      ),
      fc.tuple(text, at).map(
        ([delta, place]): Move =>
          (builder) =>
            builder.reasoning(delta, place),
      ),
      fc.tuple(fc.option(json, { nil: undefined }), at, whole).map(
        ([opaque, place, all]): Move =>
          (builder) =>
            builder.endReasoning(opaque, place, all),
      ),
      image.map(
        (one): Move =>
          (builder) =>
            builder.image(one),
      ),
      jsonObject.map(
        (item): Move =>
          (builder) =>
            builder.item(item),
      ),
      json.map(
        (chunk): Move =>
          (builder) =>
            builder.raw(chunk),
      ),
      fc.tuple(id, word).map(([one, name]): Move => (builder) => {
        if (!hasBegun(builder, one)) builder.startCall(one, name)
        else if (!isDone(builder, one)) builder.callDelta(one, '{"a":')
      }),
      fc.tuple(id, word, jsonObject, whole).map(([one, name, args, raw]): Move => (builder) => {
        if (isDone(builder, one)) return
        hasBegun(builder, one)
        const call = { id: one, name, arguments: args }
        builder.endCall(raw === undefined ? call : { ...call, rawArguments: raw })
      }),
      fc
        .tuple(word, usage, jsonObject, sources)
        .map(([rawFinishReason, counts, metadata, late]): Move => (builder) => {
          if (builder.done) return
          builder.finish({ finishReason: 'stop', rawFinishReason, usage: counts, metadata }, late)
        }),
    )
    .map(
      (move): Move =>
        (builder) =>
          builder.done ? undefined : move(builder),
    )
}

/** The calls that were started, by builder. */
const begun = new WeakMap<MessageBuilder, Set<string>>()

function hasBegun(builder: MessageBuilder, one: string): boolean {
  const known = begun.get(builder) ?? new Set()
  begun.set(builder, known)
  const has = known.has(one)
  known.add(one)
  return has
}

function isDone(builder: MessageBuilder, one: string): boolean {
  return builder.calls.some((call) => call.id === one)
}
