import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { Engine, EngineContext } from '../../../src/core/contracts/engine.ts'
import type {
  ApprovePolicy,
  CallOptions,
  NextStep,
  PrepareStep,
} from '../../../src/core/contracts/options.ts'
import type {
  AskOutcome,
  FailOutcome,
  HaltOutcome,
  HandlerOptions,
  HandlerOutcome,
  NeedsOf,
  Tool,
} from '../../../src/core/contracts/tool.ts'
import { imageFromBytes, imageFromUrl } from '../../../src/core/messages/media.ts'
import {
  assistant,
  imagePart,
  textPart,
  toolResult,
  user,
} from '../../../src/core/messages/messages.ts'
import { askUser, fail, halt } from '../../../src/core/messages/outcomes.ts'
import { jsonSchema, modelRequest } from '../../../src/core/messages/requests.ts'
import type { JsonObject, JsonValue } from '../../../src/core/types/json.ts'
import type { InlineImage, RemoteImage } from '../../../src/core/types/media.ts'
import type { ImagePart, Message } from '../../../src/core/types/message.ts'
import type { JsonSchemaFormat, ModelRequest } from '../../../src/core/types/request.ts'
import type { SchemaOutput, SchemaWithJson } from '../../../src/core/types/standard-schema.ts'
import { chat } from '../../../src/engine/chat/chat.ts'
import { createEngine, extendEngine } from '../../../src/engine/model-call/engine.ts'
import { generate } from '../../../src/engine/model-call/generate.ts'
import { Session } from '../../../src/engine/session/session.ts'
import { tool } from '../../../src/engine/tools/tool.ts'

test('constructors give the narrowest type there is', () => {
  expectTypeOf(user).returns.toEqualTypeOf<Message>()
  expectTypeOf(imageFromUrl).returns.toEqualTypeOf<RemoteImage>()
  expectTypeOf(imageFromBytes).returns.toEqualTypeOf<InlineImage>()
  expectTypeOf(imagePart).returns.toEqualTypeOf<ImagePart>()
  expectTypeOf(jsonSchema).returns.toEqualTypeOf<JsonSchemaFormat>()
  expectTypeOf(modelRequest).returns.toEqualTypeOf<ModelRequest>()
  expectTypeOf(askUser).returns.toEqualTypeOf<AskOutcome>()
  expectTypeOf(halt('done', { n: 1 })).toEqualTypeOf<HaltOutcome<{ n: number }>>()
  expectTypeOf(fail).returns.toEqualTypeOf<FailOutcome>()
  expectTypeOf<AskOutcome | HaltOutcome | FailOutcome>().toExtend<HandlerOutcome>()
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

test('a handler is typed by a literal JSON Schema', () => {
  tool({
    name: 'when',
    description: 'd',
    schema: {
      type: 'object',
      properties: {
        day: { type: 'string' },
        hour: { type: 'integer' },
        unit: { enum: ['c', 'f'] },
        kind: { const: 'x' },
        tags: { type: 'array', items: { type: 'string' } },
        place: {
          type: 'object',
          properties: { lat: { type: 'number' }, name: { type: ['string', 'null'] } },
          required: ['lat', 'name'],
        },
        either: { anyOf: [{ type: 'string' }, { type: 'boolean' }] },
        anything: {},
      },
      required: ['day', 'unit', 'place'],
    },
    handler: (args) =>
      expectTypeOf(args).toEqualTypeOf<{
        readonly day: string
        readonly unit: 'c' | 'f'
        readonly place: { readonly lat: number; readonly name: string | null }
        readonly hour?: number
        readonly kind?: 'x'
        readonly tags?: readonly string[]
        readonly either?: string | boolean
        readonly anything?: JsonValue
      }>(),
  })
})

test('with a JSON Schema that is not a literal, or says nothing, the arguments are a JSON object', () => {
  const schema: JsonObject = { type: 'object', properties: { day: { type: 'string' } } }
  const handler = (args: JsonObject): unknown => args['day']
  tool({
    name: 'a',
    description: 'd',
    schema,
    handler: (args) => expectTypeOf(args).toEqualTypeOf<JsonObject>(),
  })
  tool({
    name: 'b',
    description: 'd',
    schema: { type: 'object' },
    handler: (args) => expectTypeOf(args).toEqualTypeOf<JsonObject>(),
  })
  tool({ name: 'c', description: 'd', schema, handler })
})

test('the arguments may be given as a type', () => {
  interface Query {
    q: string
    limit?: number
  }
  const made = tool<Query>({
    name: 'search',
    description: 'd',
    schema: { type: 'object', properties: { q: { type: 'string' } } },
    handler: ({ q, limit = 3 }) => q.repeat(limit),
  })
  expectTypeOf(made).toExtend<Tool>()
})

interface Db {
  query(sql: string): Promise<readonly string[]>
}

describe('the context of a handler', () => {
  const find = tool({
    name: 'find',
    description: 'd',
    schema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
    handler: ({ id }, { context }: HandlerOptions<{ db: Db }>) => context.db.query(id),
  })
  const note = tool<{ text: string }, { log: (line: string) => void }>({
    name: 'note',
    description: 'd',
    schema: { type: 'object' },
    handler: ({ text }, { context }) => context.log(text),
  })
  const plain = tool({
    name: 'plain',
    description: 'd',
    schema: { type: 'object' },
    handler: (_args, { context }) => expectTypeOf(context).toEqualTypeOf<EngineContext>(),
  })
  const db: Db = { query: async (sql) => [sql] }
  const log = (): void => undefined

  test('has what the handler says it needs, and an engine that lacks it does not compile', () => {
    const engine: Engine = createEngine({ tools: [find, note, plain], context: { db, log, x: 1 } })
    createEngine({ tools: [plain] })
    createEngine({ tools: [find], context: { db } })
    expectTypeOf<NeedsOf<readonly [typeof find, typeof plain, typeof note]>>().toExtend<{
      db: Db
      log: (line: string) => void
    }>()
    // @ts-expect-error there is no context
    createEngine({ tools: [find] })
    // @ts-expect-error log is missing
    createEngine({ tools: [find, note], context: { db } })
    // @ts-expect-error it is another db
    createEngine({ tools: [find, plain], context: { db: 'postgres://' } })
    expectTypeOf(engine).toEqualTypeOf<Engine>()
  })

  test('may be an interface, and a plain engine and a plain list of tools need no type arguments', () => {
    interface AppContext {
      readonly db: Db
      readonly user: { readonly name: string }
    }
    const context: AppContext = { db, user: { name: 'Ada' } }
    const make = (tools: readonly Tool[]): Engine => createEngine({ tools, context })
    const engine = make([find, note, plain])
    const options: CallOptions = { context, tools: [find] }
    createEngine({
      tools: [find],
      context,
      instructions: ({ user }: AppContext) => `You talk to ${user.name}.`,
    })
    expectTypeOf(engine).toEqualTypeOf<Engine>()
    expectTypeOf(options).toExtend<CallOptions>()
  })
})

describe('hooks know the context', () => {
  interface AppContext {
    readonly db: Db
    readonly user: string
  }
  const context: AppContext = { db: { query: async (sql) => [sql] }, user: 'Ada' }
  const find = tool({
    name: 'find',
    description: 'd',
    schema: z.object({ id: z.string() }),
    handler: ({ id }, { context: { db } }: HandlerOptions<{ db: Db }>) => db.query(id),
    needsApproval: async ({ id }, { context: { db } }) => (await db.query(id)).length > 0,
  })

  test('of the engine that they are given to, without a cast', () => {
    createEngine({
      tools: [find],
      context,
      instructions: ({ user: name }) => `You talk to ${name}.`,
      approve: async (_call, { context: { user: name } }) => (name === 'Ada' ? 'run' : 'ask'),
      prepareStep: ({ context: { user: name } }) => ({ instructions: name.trim() }),
    })
    createEngine({
      context,
      prepareStep: ({ context: { user: name } }: NextStep<AppContext>) => ({ model: name }),
    })
    // @ts-expect-error nothing is known about such a member
    createEngine({ context, prepareStep: ({ context: own }) => ({ model: own['usr'] }) })
  })

  test('and hooks that were written for any context fit', () => {
    const plain = {} as PrepareStep
    const policy = {} as ApprovePolicy
    const make = (): Engine => createEngine({ context, prepareStep: plain, approve: policy })
    expectTypeOf(make).returns.toEqualTypeOf<Engine>()
  })

  test('needsApproval has what the handler needs, also when the needs are given as a type', () => {
    tool<{ id: string }, { db: Db }>({
      name: 'find',
      description: 'd',
      schema: { type: 'object' },
      needsApproval: ({ id }, options) => {
        expectTypeOf(options.context).toEqualTypeOf<{ db: Db }>()
        return id === ''
      },
    })
    const list: readonly Tool[] = [
      tool({
        name: 'plain',
        description: 'd',
        schema: { type: 'object' },
        needsApproval: (_args, options) => options.context['strict'] === true,
      }),
    ]
    expectTypeOf(list).toEqualTypeOf<readonly Tool[]>()
  })

  test('needsApproval may stand before the handler, with the arguments alone or with the type of its context', () => {
    const made = [
      tool({
        name: 'find',
        description: 'd',
        schema: z.object({ id: z.string() }),
        needsApproval: ({ id }) => id === '',
        handler: ({ id }, { context: { db } }: HandlerOptions<{ db: Db }>) => db.query(id),
      }),
      tool({
        name: 'find',
        description: 'd',
        schema: z.object({ id: z.string() }),
        needsApproval: ({ id }, { context: { user: name } }: { context: AppContext }) =>
          id === name,
        handler: ({ id }, { context: { db } }: HandlerOptions<AppContext>) => db.query(id),
      }),
    ] as const
    const never = (): void => {
      createEngine({ tools: made, context })
      // @ts-expect-error there is no db
      createEngine({ tools: [made[0]], context: { user: 'Ada' } })
      // @ts-expect-error there is no user
      createEngine({ tools: [made[1]], context: { db: context.db } })
    }
    expectTypeOf(never).toBeFunction()
  })

  test('an engine that is extended must have what the added tools need', () => {
    const engine = createEngine({ context })
    const bare = createEngine({})
    const never = (unknown: Engine): void => {
      extendEngine(engine, { tools: [find], instructions: ({ user: name }) => name })
      extendEngine(bare, { tools: [find], context: { db: context.db } })
      extendEngine(extendEngine(bare, { context: { db: context.db } }), { tools: [find] })
      // Of a plain Engine nothing is known.
      extendEngine(unknown, { tools: [find] })
      // @ts-expect-error there is no db
      extendEngine(bare, { tools: [find] })
      // @ts-expect-error there is another member
      extendEngine(createEngine({ context: { user: 'Ada' } }), { tools: [find] })
      // @ts-expect-error it is another db
      extendEngine(engine, { tools: [find], context: { db: 'postgres://' } })
      // @ts-expect-error it is model
      extendEngine(engine, { modle: 'x' })
    }
    expectTypeOf(never).toBeFunction()
    expectTypeOf(engine).toExtend<Engine>()
  })
})

test('a helper that is generic over what a schema gives has the type of its output', () => {
  const Place = z.object({ city: z.string().transform((name) => name.length) })
  const never = (engine: Engine): void => {
    async function ask<T>(schema: SchemaWithJson<unknown, T>): Promise<T> {
      return (await generate(engine, 'Where?', { responseFormat: schema })).output
    }
    async function run<T>(schema: SchemaWithJson<unknown, T>): Promise<T | undefined> {
      const { result } = await Session.start(engine, 'Where?', { responseFormat: schema })
      const { output } = await chat(engine, 'Where?', { responseFormat: schema })
      return result.output ?? output
    }
    expectTypeOf(ask(Place)).resolves.toEqualTypeOf<{ city: number }>()
    expectTypeOf(ask(type({ city: 'string' }))).resolves.toEqualTypeOf<{ city: string }>()
    expectTypeOf(run(Place)).resolves.toEqualTypeOf<{ city: number } | undefined>()
  }
  expectTypeOf(never).toBeFunction()
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
