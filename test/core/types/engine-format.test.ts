import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  chat,
  createEngine,
  extendEngine,
  generate,
  jsonSchema,
  Session,
  step,
  streamChat,
  streamGenerate,
  tool,
  type CallOptions,
  type Engine,
  type EngineOptions,
} from '../../../src/index.ts'
import { fake } from '../../../src/testing.ts'

const Place = z.object({ city: z.string() })
const Count = z.object({ n: z.string().transform(Number) })
const script = ['{"city":"Ghent","n":"2"}'] as const
type PlaceOutput = { city: string }
type CountOutput = { n: number }

const engineOf = () =>
  createEngine({ adapter: fake({ script: () => script }), responseFormat: Place })
const plain = () => createEngine({ adapter: fake({ script: () => script }) })

test('the format of an engine types the output of its calls', async () => {
  const engine = engineOf()
  expectTypeOf((await generate(engine, 'go')).output).toEqualTypeOf<PlaceOutput>()
  expectTypeOf(
    (await generate(engine, 'go', { temperature: 0 })).output,
  ).toEqualTypeOf<PlaceOutput>()
  expectTypeOf((await streamGenerate(engine, 'go').result).output).toEqualTypeOf<PlaceOutput>()
  expectTypeOf((await chat(engine, 'go')).output).toEqualTypeOf<PlaceOutput | undefined>()
  expectTypeOf((await streamChat(engine, 'go').result).output).toEqualTypeOf<
    PlaceOutput | undefined
  >()
  // A step has no output of its own.
  expectTypeOf(await step(engine, 'go')).not.toHaveProperty('output')
})

test('the format of an engine types the output of its sessions', async () => {
  const engine = engineOf()
  const { session, result } = await Session.start(engine, 'go')
  expectTypeOf(result.output).toEqualTypeOf<PlaceOutput | undefined>()
  const replied = await Session.reply(engine, session, 'more')
  expectTypeOf(replied.result.output).toEqualTypeOf<PlaceOutput | undefined>()
  const streamed = await Session.streamReply(engine, replied.session, 'more').result
  expectTypeOf(streamed.result.output).toEqualTypeOf<PlaceOutput | undefined>()
  const started = await Session.streamStart(engine, 'go', { id: 's' }).result
  expectTypeOf(started.result.output).toEqualTypeOf<PlaceOutput | undefined>()
  expectTypeOf(
    Session.resume<undefined, never, [], 'auto', typeof Place>,
  ).returns.resolves.toHaveProperty('result')
  const own = await Session.start(engine, 'go', { responseFormat: Count })
  expectTypeOf(own.result.output).toEqualTypeOf<CountOutput | undefined>()
})

test('the format of a call wins over that of its engine', async () => {
  const engine = engineOf()
  const options = { responseFormat: Count }
  expectTypeOf((await generate(engine, 'go', options)).output).toEqualTypeOf<CountOutput>()
  expectTypeOf((await chat(engine, 'go', options)).output).toEqualTypeOf<CountOutput | undefined>()
  expectTypeOf((await streamChat(engine, 'go', options).result).output).toEqualTypeOf<
    CountOutput | undefined
  >()
  const raw = { responseFormat: jsonSchema('place', { type: 'object' }) }
  expectTypeOf(await generate(engine, 'go', raw)).not.toHaveProperty('output')
})

test('a format of a call that may be absent leaves both possible', async () => {
  const engine = engineOf()
  const maybe = undefined as typeof Count | undefined
  const { output } = await generate(engine, 'go', { responseFormat: maybe })
  expectTypeOf(output).toEqualTypeOf<PlaceOutput | CountOutput>()
  const unknown: CallOptions = {}
  expectTypeOf((await chat(engine, 'go', unknown)).output).toEqualTypeOf<unknown>()
})

test('an engine whose format is not known, or that has none, types no output', async () => {
  const engine: Engine = engineOf()
  expectTypeOf(await generate(engine, 'go')).not.toHaveProperty('output')
  expectTypeOf((await chat(engine, 'go')).output).toEqualTypeOf<unknown>()
  expectTypeOf(await generate(plain(), 'go')).not.toHaveProperty('output')
  expectTypeOf((await Session.start(plain(), 'go')).result.output).toEqualTypeOf<unknown>()
  const options: EngineOptions = { adapter: fake({ script: () => script }) }
  expectTypeOf(await generate(createEngine(options), 'go')).not.toHaveProperty('output')
  const raw = createEngine({
    adapter: fake({ script: () => script }),
    responseFormat: { type: 'json_object' },
  })
  expectTypeOf(await generate(raw, 'go')).not.toHaveProperty('output')
  const maybe = createEngine({
    adapter: fake({ script: () => script }),
    responseFormat: undefined as typeof Place | undefined,
  })
  expectTypeOf((await generate(maybe, 'go')).output).toEqualTypeOf<PlaceOutput | undefined>()
})

test('extendEngine keeps the format, replaces it or removes it', async () => {
  const engine = engineOf()
  const kept = extendEngine(engine, { temperature: 0 })
  expectTypeOf((await generate(kept, 'go')).output).toEqualTypeOf<PlaceOutput>()
  const look = tool({
    name: 'look',
    description: 'Looks.',
    schema: { type: 'object' },
    handler: () => 'seen',
  })
  const tooled = extendEngine(engine, { tools: [look], context: { user: 'ada' } })
  expectTypeOf((await chat(tooled, 'go', { toolChoice: 'look' })).output).toEqualTypeOf<
    PlaceOutput | undefined
  >()
  const replaced = extendEngine(engine, { responseFormat: Count })
  expectTypeOf((await generate(replaced, 'go')).output).toEqualTypeOf<CountOutput>()
  const added = extendEngine(plain(), { responseFormat: Place, tools: [look] })
  expectTypeOf((await generate(added, 'go')).output).toEqualTypeOf<PlaceOutput>()
  const removed = extendEngine(engine, { responseFormat: undefined })
  expectTypeOf(await generate(removed, 'go')).not.toHaveProperty('output')
  const unknown: EngineOptions = {}
  const either = extendEngine(engine, unknown)
  expectTypeOf(await generate(either, 'go')).not.toHaveProperty('output')
})

test('a schema without its JSON Schema, and what is no format, are refused', () => {
  const bare = {
    '~standard': { version: 1, vendor: 'mine', validate: (value: unknown) => ({ value }) },
  } as const
  // They are compiled, and not called.
  const refused = [
    // @ts-expect-error the schema does not provide its JSON Schema
    () => createEngine({ responseFormat: bare }),
    // @ts-expect-error the schema does not provide its JSON Schema
    () => extendEngine(engineOf(), { responseFormat: bare }),
    // @ts-expect-error not a format
    () => createEngine({ responseFormat: 3 }),
    // @ts-expect-error not a format
    () => extendEngine(engineOf(), { responseFormat: 3 }),
  ]
  expect(refused).toHaveLength(4)
})

test('every engine is a plain Engine', () => {
  expectTypeOf(engineOf()).toExtend<Engine>()
  expectTypeOf(plain()).toExtend<Engine>()
  expectTypeOf(extendEngine(engineOf(), {})).toExtend<Engine>()
})
