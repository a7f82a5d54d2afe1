import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { Tool } from '../../src/contracts/tool.ts'
import { tool } from '../../src/make/tools.ts'
import type { JsonObject } from '../../src/types/json.ts'

test('a handler is typed by what a Zod schema gives, defaults and transforms included', () => {
  const made = tool({
    name: 'when',
    description: 'd',
    schema: z.object({ day: z.string().transform(Number), unit: z.enum(['c', 'f']).default('c') }),
    handler: (args, options) => {
      expectTypeOf(args).toEqualTypeOf<{ day: number; unit: 'c' | 'f' }>()
      expectTypeOf(options.signal).toEqualTypeOf<AbortSignal>()
      return args.day
    },
  })
  expectTypeOf(made).toExtend<Tool<{ day: number; unit: 'c' | 'f' }>>()
})

test('a handler is typed by an ArkType schema', () => {
  tool({
    name: 'when',
    description: 'd',
    schema: type({ day: 'string', 'hour?': 'number' }),
    handler: (args) => expectTypeOf(args).toEqualTypeOf<{ day: string; hour?: number }>(),
  })
})

test('a handler is typed by a Valibot schema that says its JSON Schema', () => {
  tool({
    name: 'when',
    description: 'd',
    schema: toStandardJsonSchema(v.object({ day: v.string() })),
    handler: (args) => expectTypeOf(args).toEqualTypeOf<{ day: string }>(),
  })
})

test('with plain JSON Schema the arguments are a JSON object', () => {
  tool({
    name: 'when',
    description: 'd',
    schema: { type: 'object', properties: { day: { type: 'string' } }, required: ['day'] },
    handler: (args) => expectTypeOf(args).toEqualTypeOf<JsonObject>(),
  })
})

test('tools with different arguments share a list, also when a schema gives what JSON can not hold', () => {
  const tools: readonly Tool[] = [
    tool({
      name: 'a',
      description: 'd',
      schema: z.object({ x: z.number() }),
      handler: ({ x }) => x,
    }),
    tool({
      name: 'b',
      description: 'd',
      schema: z.object({ d: z.string().transform((t) => new Date(t)) }),
      handler: ({ d }) => d.getTime(),
    }),
    tool({ name: 'c', description: 'd', schema: { type: 'object' }, handler: ({ q }) => q }),
    tool({ name: 'e', description: 'd', schema: { type: 'object' }, manual: true }),
  ]
  expectTypeOf(tools).toEqualTypeOf<readonly Tool[]>()
})
