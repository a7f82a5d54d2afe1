import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { HandlerOutcome, Tool } from '../../src/contracts/tool.ts'
import { imageFromBytes, imageFromUrl } from '../../src/make/media.ts'
import { assistant, imagePart, textPart, toolResult, user } from '../../src/make/messages.ts'
import { jsonSchema, modelRequest } from '../../src/make/requests.ts'
import { askUser, fail, halt, tool } from '../../src/make/tools.ts'
import type { JsonObject } from '../../src/types/json.ts'
import type { InlineImage, RemoteImage } from '../../src/types/media.ts'
import type { ImagePart, Message } from '../../src/types/message.ts'
import type { JsonSchemaFormat, ModelRequest } from '../../src/types/request.ts'
import type { SchemaOutput } from '../../src/types/standard-schema.ts'

test('constructors give the narrowest type there is', () => {
  expectTypeOf(user).returns.toEqualTypeOf<Message>()
  expectTypeOf(imageFromUrl).returns.toEqualTypeOf<RemoteImage>()
  expectTypeOf(imageFromBytes).returns.toEqualTypeOf<InlineImage>()
  expectTypeOf(imagePart).returns.toEqualTypeOf<ImagePart>()
  expectTypeOf(jsonSchema).returns.toEqualTypeOf<JsonSchemaFormat>()
  expectTypeOf(modelRequest).returns.toEqualTypeOf<ModelRequest>()
  expectTypeOf(askUser).returns.toEqualTypeOf<HandlerOutcome>()
  expectTypeOf(halt).returns.toEqualTypeOf<HandlerOutcome>()
  expectTypeOf(fail).returns.toEqualTypeOf<HandlerOutcome>()
})

test('options may be forwarded: undefined is the same as absent', () => {
  const maybe = undefined as string | undefined
  assistant('', { name: maybe, toolCalls: undefined })
  modelRequest([], { model: maybe, temperature: undefined })
  user([textPart('a'), imagePart(imageFromUrl('https://a.b/c'))])
})

test('what is not an option does not compile', () => {
  const numbers = z.object({ n: z.number() })
  const never = (): void => {
    // @ts-expect-error a user makes no calls
    user('', { toolCalls: [] })
    // @ts-expect-error it is maxTokens
    modelRequest([], { max_tokens: 5 })
    // @ts-expect-error a Date is not JSON
    toolResult('c1', { when: new Date() })
    // @ts-expect-error the schema says a number
    tool({ name: 'x', description: '', schema: numbers, handler: ({ n }) => n.length })
    // @ts-expect-error a detail of its own
    imagePart(imageFromUrl('https://a.b'), { detail: 'huge' })
    // @ts-expect-error a tool needs a schema
    tool({ name: 'x', description: '' })
  }
  expectTypeOf(never).toBeFunction()
})

test('a schema says what it gives', () => {
  const schema = z.object({ n: z.string().transform(Number) })
  expectTypeOf<SchemaOutput<typeof schema>>().toEqualTypeOf<{ n: number }>()
  expectTypeOf<SchemaOutput<JsonObject>>().toBeNever()
})

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

test('tools with different arguments share a list, also when a schema gives what JSON cannot hold', () => {
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
