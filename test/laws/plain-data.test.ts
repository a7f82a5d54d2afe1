import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { errorFromJSON, errorToJSON } from '../../src/core/errors/error-json.ts'
import { validateImageRequest } from '../../src/core/schema/validate-images.ts'
import { validateSession } from '../../src/core/schema/validate-session.ts'
import {
  isSendable,
  validateImage,
  validateMessage,
  validateRequest,
  validateThread,
  validateTool,
} from '../../src/core/schema/validate.ts'
import type { Issue } from '../../src/core/types/error-data.ts'
import { isStreamEvent } from '../../src/core/types/events.ts'
import { Session } from '../../src/index.ts'
import * as data from '../support/arbitraries.ts'
import { corrupted, pathOf, placesIn, without } from '../support/corruptions.ts'
import * as runs from '../support/run-arbitraries.ts'

const everyType: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  JsonValue: data.json,
  Image: data.image,
  Part: data.part,
  ToolCall: data.toolCall,
  Message: data.message,
  Thread: data.thread,
  ToolSpec: data.toolSpec,
  ResponseFormat: data.responseFormat,
  ModelRequest: data.modelRequest,
  Usage: data.usage,
  ImageRequest: data.imageRequest,
  ImageResponse: data.imageResponse,
  ErrorData: runs.errorData,
  ModelResponse: runs.modelResponse,
  StepResult: runs.stepResult,
  ChatResult: runs.chatResult,
  Session: runs.session,
  StreamEvent: runs.streamEvent,
}

test.each(Object.entries(everyType))('%s survives JSON deep-equal', (_name, arbitrary) => {
  fc.assert(
    fc.property(arbitrary, (value) => {
      expect(JSON.parse(JSON.stringify(value))).toStrictEqual(value)
    }),
    { numRuns: 50 },
  )
})

test('a session is read as it was written', () => {
  fc.assert(
    fc.property(runs.session, (session) => {
      expect(Session.parse(Session.stringify(session))).toStrictEqual(session)
    }),
    { numRuns: 100 },
  )
})

test('every arbitrary event is recognized as an event, and no other tag is', () => {
  fc.assert(
    fc.property(runs.streamEvent, (event) => {
      expect(isStreamEvent(event)).toBe(true)
      expect(isStreamEvent({ ...event, type: `${event.type}x` })).toBe(false)
    }),
    { numRuns: 50 },
  )
})

test('an error in an event survives conversion to its class and back', () => {
  fc.assert(
    fc.property(runs.errorData, (error) => {
      const once = errorToJSON(errorFromJSON(error))
      expect(JSON.parse(JSON.stringify(once))).toStrictEqual(once)
      expect(errorToJSON(errorFromJSON(once))).toStrictEqual(once)
    }),
    { numRuns: 100 },
  )
})

type Validator = (value: unknown) => readonly Issue[]

const validators: Readonly<
  Record<string, readonly [Validator, fc.Arbitrary<object>, readonly string[]]>
> = {
  validateImage: [validateImage, data.image, ['type']],
  validateMessage: [validateMessage, data.message, ['role', 'content']],
  validateThread: [validateThread, data.thread, ['messages', 'metadata']],
  validateTool: [validateTool, data.toolSpec, ['name', 'description', 'schema']],
  validateRequest: [
    validateRequest,
    data.modelRequest,
    ['messages', 'tools', 'providerOptions', 'metadata'],
  ],
  validateImageRequest: [
    validateImageRequest,
    data.imageRequest,
    ['operation', 'n', 'responseFormat', 'inputImages', 'providerOptions', 'metadata'],
  ],
  validateSession: [
    validateSession,
    runs.session,
    ['version', 'id', 'status', 'thread', 'pendingToolCalls', 'context', 'metadata'],
  ],
}

describe.each(Object.entries(validators))('%s', (_name, [validate, arbitrary, required]) => {
  test('accepts every legal value', () => {
    fc.assert(
      fc.property(arbitrary, (value) => {
        expect(validate(value)).toEqual([])
      }),
    )
  })

  test.each<[string, unknown]>([
    ['a function', () => 1],
    ['NaN', Number.NaN],
    ['undefined', undefined],
    ['a Map', new Map()],
    ['a symbol', Symbol('s')],
  ])('names the path of %s, wherever it is', (_kind, foreign) => {
    fc.assert(
      fc.property(arbitrary, fc.nat(), (value, choice) => {
        const places = placesIn(value)
        const place = places[choice % places.length] ?? []
        const paths = validate(corrupted(value, place, foreign)).map(({ path }) => path)
        expect(paths).toContain(pathOf(place))
      }),
    )
  })

  test.each(required)('names %s when it is missing', (key) => {
    fc.assert(
      fc.property(arbitrary, (value) => {
        expect(validate(without(value, key)).map(({ path }) => path)).toContain(key)
      }),
      { numRuns: 20 },
    )
  })

  test('names an unknown key', () => {
    fc.assert(
      fc.property(arbitrary, (value) => {
        const [issue, ...others] = validate({ ...value, zzyzx: 1 })
        expect(others).toEqual([])
        expect(issue).toMatchObject({
          path: '',
          problem: expect.stringContaining('unknown key zzyzx'),
        })
      }),
      { numRuns: 20 },
    )
  })

  test.each<[string, unknown]>([
    ['null', null],
    ['undefined', undefined],
    ['a number', 5],
    ['a text', 'text'],
    ['a list', []],
    ['a function', () => 1],
    ['a Date', new Date(0)],
  ])('refuses %s in the place of the value', (_kind, value) => {
    expect(validate(value)).toMatchObject([{ path: '' }])
  })
})

test('a valid thread is sendable; without any one of its tool results it is not', () => {
  fc.assert(
    fc.property(data.thread, ({ messages, metadata }) => {
      expect(isSendable({ messages, metadata })).toBe(true)
      messages.forEach((message, index) => {
        if (message.role !== 'tool') return
        expect(isSendable({ messages: messages.toSpliced(index, 1), metadata })).toBe(false)
        expect(isSendable({ messages: messages.toSpliced(index, 0, message), metadata })).toBe(
          false,
        )
      })
    }),
  )
})
