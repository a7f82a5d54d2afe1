import type { ToolResultEncoder } from '../../core/contracts/tool.ts'
import { allDifferent, sameJson } from '../../core/schema/json-schema.ts'
import type { JsonValue } from '../../core/types/json.ts'
import type { ConformanceCase, Declares, EncoderCapability } from './cases.ts'
import { demand, show } from './demands.ts'

/** Different values of every kind that a handler may return. Each call returns new ones, in case an encoder changes them. */
const samples = (): readonly JsonValue[] => [
  'text',
  'line one\nline two',
  'ünï¢ödé 🦜',
  0,
  42,
  -1.5,
  0.1,
  true,
  false,
  null,
  { a: 1 },
  { a: 2 },
  { nested: { list: [1, 'two', null] } },
  [1, 2, 3],
  [{ a: 1 }, { a: 2 }],
  { ok: { a: 1 } },
  { error: 'not_found' },
]

/** The cases for every encoder of tool results. */
export const toolResultEncoderCases: readonly EncoderCase[] = [
  {
    name: 'every JSON value is encoded as a string',
    async run({ encoder }) {
      for (const value of [...samples(), '', [], {}]) {
        const content: unknown = encoder(value)
        demand(typeof content === 'string', {
          expected: `a string for ${show(value)}`,
          received: content,
          contract: 'encoder',
          hint: 'an encoder cannot be async',
        })
      }
    },
  },
  {
    name: 'nothing is encoded as a string too',
    async run({ encoder }) {
      const content: unknown = encoder(undefined)
      demand(typeof content === 'string', {
        expected: 'a string for undefined, which a handler without a return statement returns',
        received: content,
        contract: 'encoder',
        hint: 'JSON.stringify(undefined) is undefined',
      })
    },
  },
  {
    name: 'the same value is encoded the same way',
    async run({ encoder }) {
      for (const value of samples()) {
        const [first, second] = [structuredClone(value), structuredClone(value)].map((copy) =>
          encoder(copy),
        )
        demand(first === second, {
          expected: `the same string for ${show(value)} each time`,
          received: { first, second },
          contract: 'encoder',
          hint: 'a time or a counter in a result makes prompt caches useless',
        })
      }
    },
  },
  {
    name: 'different values are encoded in different ways',
    async run({ encoder }) {
      const objects = samples().filter((value) => typeof value === 'object')
      const contents = objects.map((value) => encoder(value))
      demand(allDifferent(contents), {
        expected: 'a string of its own for each value',
        received: contents,
        contract: 'encoder',
        hint: 'String(value) is [object Object] for every object',
      })
    },
  },
  {
    name: 'a value is not changed',
    async run({ encoder }) {
      for (const value of samples()) {
        const copy = structuredClone(value)
        encoder(copy)
        demand(sameJson(copy, value), {
          expected: `${show(value)} as it was`,
          received: copy,
          contract: 'encoder',
        })
      }
    },
  },
  {
    name: 'strings are written as they are',
    capability: 'plain_text',
    async run({ encoder }) {
      for (const text of ['text', '', '{"a": 1}', 'line one\nline two', 'ünï¢ödé 🦜']) {
        const content = encoder(text)
        demand(content === text, {
          expected: JSON.stringify(text),
          received: JSON.stringify(content),
          contract: 'encoder',
        })
      }
    },
  },
  {
    name: 'everything else is written as JSON',
    capability: 'json',
    async run({ encoder }) {
      for (const value of samples()) {
        if (typeof value === 'string') continue
        const content = encoder(structuredClone(value))
        demand(sameJson(parsed(content), value), {
          expected: `JSON of ${show(value)}`,
          received: content,
          contract: 'encoder',
        })
      }
    },
  },
]

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** An encoder to be tested. */
export interface EncoderHarness extends Declares<EncoderCapability> {
  readonly encoder: ToolResultEncoder
}

/** A case for tool result encoders. */
export type EncoderCase = ConformanceCase<EncoderHarness, EncoderCapability>
