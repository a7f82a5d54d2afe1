import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { Engine, EventOf } from '../../../src/core/contracts/engine.ts'
import type { CallOptions } from '../../../src/core/contracts/options.ts'
import type { ResultOf, Tool } from '../../../src/core/contracts/tool.ts'
import { textPart } from '../../../src/core/messages/messages.ts'
import { content, halt, type askUser, type fail } from '../../../src/core/messages/outcomes.ts'
import type { StreamEvent } from '../../../src/core/types/events.ts'
import type { JsonObject, JsonValue } from '../../../src/core/types/json.ts'
import type { ToolCall } from '../../../src/core/types/message.ts'
import type { ChatResult, StepResult } from '../../../src/core/types/results.ts'
import type { OtherName, ToolTypes } from '../../../src/core/types/tool-types.ts'
import { agentTool } from '../../../src/engine/agents/agent-tool.ts'
import { handoff } from '../../../src/engine/agents/handoff.ts'
import { chat, step, streamChat, streamStep } from '../../../src/engine/chat/chat.ts'
import { createEngine, extendEngine } from '../../../src/engine/model-call/engine.ts'
import { generate } from '../../../src/engine/model-call/generate.ts'
import { textDeltas } from '../../../src/engine/model-call/read-stream.ts'
import { Session } from '../../../src/engine/session/session.ts'
import { tool } from '../../../src/engine/tools/tool.ts'
import { fake } from '../../../src/testing/fakes/fake.ts'

interface Booking {
  readonly table: number
}

const weather = tool({
  name: 'weather',
  description: 'The weather of a city.',
  schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  handler: async ({ city }) => ({ city, degrees: 21 }),
})
const book = tool({
  name: 'book',
  description: 'Books a table.',
  schema: z.object({ seats: z.number(), at: z.string().transform(Number).optional() }),
  needsApproval: true,
  handler: ({ seats, at }): Booking => {
    expectTypeOf(at).toEqualTypeOf<number | undefined>()
    return { table: seats }
  },
})
const sign = tool({
  name: 'sign',
  description: 'The caller signs.',
  schema: { type: 'object', properties: { paper: { type: 'string' } }, required: ['paper'] },
  manual: true,
})
const engine = createEngine({
  adapter: fake({
    scripts: [
      [['tool_call', { id: 'c1', name: 'weather', arguments: { city: 'Rome' } }]],
      [['text', 'Warm.']],
    ],
  }),
  tools: [weather, book, sign],
})
type Typed = EventOf<typeof engine>
type Written = { readonly city: string }

const none = tool({ name: 'none_', description: 'd', schema: { type: 'object' } })

/** Only the compiler reads it. */
const unread = (work: (event: Typed) => unknown): void => {
  expectTypeOf(work).toBeFunction()
}

describe('events narrow by the name of the tool', () => {
  test('in a stream, at run time as the types say', async () => {
    const seen: unknown[] = []
    for await (const event of streamChat(engine, 'How is Rome?')) {
      if (event.type === 'tool_execution_started' && event.name === 'weather') {
        expectTypeOf(event.arguments).toEqualTypeOf<Written>()
        seen.push(event.arguments.city)
      }
      if (event.type === 'tool_execution_completed' && event.name === 'weather') {
        if ('ok' in event.result) {
          expectTypeOf(event.result.ok).toEqualTypeOf<{ city: string; degrees: number }>()
          seen.push(event.result.ok.degrees)
        }
      }
    }
    expect(seen).toEqual(['Rome', 21])
  })

  test('to the arguments as the model writes them, before a schema transforms them', () => {
    unread((event) => {
      if (event.type !== 'tool_execution_started' || event.name !== 'book') return
      expectTypeOf(event.arguments).toEqualTypeOf<{
        readonly seats: number
        readonly at?: string
      }>()
    })
  })

  test('to the result of the handler, an interface included', () => {
    unread((event) => {
      if (event.type !== 'tool_execution_completed' || event.name !== 'book') return
      if ('ok' in event.result) {
        expectTypeOf(event.result.ok).toEqualTypeOf<{ readonly table: number }>()
      } else expectTypeOf(event.result.error.message).toEqualTypeOf<string>()
    })
  })

  test('in approvals, by the name of the event and by that of the call', () => {
    unread((event) => {
      if (event.type !== 'approval_requested') return
      if (event.toolName === 'book')
        expectTypeOf(event.call.arguments.seats).toEqualTypeOf<number>()
      if (event.call.name === 'weather') {
        expectTypeOf(event.call.arguments).toEqualTypeOf<Written>()
      }
    })
  })

  test('in a switch, whose rest is a call of any other tool', () => {
    unread((event) => {
      if (event.type !== 'tool_execution_started') return
      switch (event.name) {
        case 'weather':
          return event.arguments.city.trim()
        case 'book':
          return event.arguments.seats
        case 'sign':
          return event.arguments.paper.trim()
        default:
          expectTypeOf(event.name).toEqualTypeOf<OtherName>()
          expectTypeOf(event.name).toExtend<string>()
          expectTypeOf(event.arguments).toEqualTypeOf<JsonObject>()
          return event.name.trim()
      }
    })
  })

  test('and a name that is misspelt does not compile', () => {
    unread((event) => {
      if (event.type !== 'tool_progress' && event.type !== 'tool_execution_started') return false
      // @ts-expect-error no tool has this name
      return event.name === 'wether'
    })
    unread((event) => {
      // The name of a tool that is only known at run time is compared as a string.
      const name: string = event.type === 'tool_progress' ? event.name : ''
      return name === 'found_at_run_time'
    })
  })

  test('but not where nothing was checked: the call of a model stays as it was written', () => {
    unread((event) => {
      if (event.type === 'tool_call_completed') expectTypeOf(event.call).toEqualTypeOf<ToolCall>()
      if (event.type === 'step_completed') {
        expectTypeOf(event.response.toolCalls).toEqualTypeOf<readonly ToolCall[]>()
      }
    })
  })
})

describe('results narrow by the name of the tool', () => {
  test('approvals, and the calls that the caller has to answer', () => {
    const never = async (): Promise<void> => {
      const { pendingApprovals, manualToolCalls, steps } = await chat(engine, 'x')
      for (const call of pendingApprovals) {
        if (call.name === 'book') expectTypeOf(call.arguments.seats).toEqualTypeOf<number>()
        expectTypeOf(call.reason).toEqualTypeOf<string | undefined>()
      }
      for (const call of [...manualToolCalls, ...(steps[0]?.manualToolCalls ?? [])]) {
        if (call.name === 'sign') expectTypeOf(call.arguments.paper).toEqualTypeOf<string>()
      }
      const one = await step(engine, 'x')
      for (const call of one.manualToolCalls) {
        if (call.name === 'sign') expectTypeOf(call.arguments.paper).toEqualTypeOf<string>()
      }
    }
    expectTypeOf(never).toBeFunction()
  })

  test('in manual mode nobody has checked the calls, so they are as the model wrote them', () => {
    const never = async (): Promise<void> => {
      const { manualToolCalls } = await chat(engine, 'x', { mode: 'manual' })
      expectTypeOf(manualToolCalls).toEqualTypeOf<readonly ToolCall[]>()
      const one = await step(engine, 'x', { mode: 'manual' })
      expectTypeOf(one.manualToolCalls).toEqualTypeOf<readonly ToolCall[]>()
    }
    expectTypeOf(never).toBeFunction()
  })

  test('of sessions, too, and so do their streams', () => {
    const never = async (session: Session): Promise<void> => {
      const { result } = await Session.start(engine, 'x')
      for (const call of result.pendingApprovals) {
        if (call.name === 'book') expectTypeOf(call.arguments.seats).toEqualTypeOf<number>()
      }
      for await (const event of Session.streamReply(engine, session, 'x')) {
        expectTypeOf(event).toEqualTypeOf<Typed>()
      }
      for await (const event of Session.streamStep(engine, session)) {
        expectTypeOf(event).toEqualTypeOf<Typed>()
      }
      const stream = Session.streamNext(engine, session, { type: 'resume' })
      expectTypeOf(stream.session).toEqualTypeOf<Session>()
      const next = await stream.result
      expectTypeOf(next.result).toExtend<ChatResult>()
    }
    expectTypeOf(never).toBeFunction()
  })
})

describe('tools are added', () => {
  const wider = extendEngine(engine, { tools: [none] })

  test('by extendEngine, where one of the same name is replaced', () => {
    const other = tool({
      name: 'weather',
      description: 'd',
      schema: { type: 'object', properties: { zip: { type: 'number' } }, required: ['zip'] },
      handler: ({ zip }) => zip,
    })
    const replaced = extendEngine(wider, { tools: [other] })
    const never = (event: EventOf<typeof replaced>): void => {
      if (event.type !== 'tool_execution_started') return
      if (event.name === 'weather') expectTypeOf(event.arguments.zip).toEqualTypeOf<number>()
      if (event.name === 'none_') expectTypeOf(event.arguments).toEqualTypeOf<JsonObject>()
      if (event.name === 'book') expectTypeOf(event.arguments.seats).toEqualTypeOf<number>()
    }
    expectTypeOf(never).toBeFunction()
    expectTypeOf(extendEngine(engine, { maxTurns: 3 })).toExtend<typeof engine>()
  })

  test('by the options of a call, for that call', () => {
    const bare = createEngine({})
    const never = async (): Promise<void> => {
      for await (const event of streamChat(bare, 'x', {
        tools: [weather],
        toolChoice: 'weather',
      })) {
        if (event.type === 'tool_execution_started' && event.name === 'weather') {
          expectTypeOf(event.arguments).toEqualTypeOf<Written>()
        }
      }
      await Session.start(engine, 'x', { tools: [none], toolChoice: 'none_' })
    }
    expectTypeOf(never).toBeFunction()
  })

  test('from a list whose names are not known: the known ones still narrow', () => {
    const mixed = createEngine({ tools: [weather, ...([] as Tool[])], toolChoice: 'any name' })
    const never = (event: EventOf<typeof mixed>): void => {
      if (event.type === 'tool_execution_started' && event.name === 'weather') {
        expectTypeOf(event.arguments).toEqualTypeOf<Written>()
      }
    }
    expectTypeOf(never).toBeFunction()
  })
})

test('toolChoice takes the names of the tools, and of a plain engine any name', () => {
  createEngine({ tools: [weather], toolChoice: 'weather' })
  extendEngine(engine, { tools: [none], toolChoice: 'none_' })
  extendEngine(engine, { toolChoice: 'book' })
  const never = async (plain: Engine, options: CallOptions): Promise<void> => {
    await chat(plain, 'x', { toolChoice: 'whatever' })
    await chat(engine, 'x', { toolChoice: 'sign' })
    await generate(engine, 'x', { toolChoice: 'required' })
    await chat(plain, 'x', options)
    await Session.start(plain, 'x', options)
    // @ts-expect-error no tool has this name
    await chat(engine, 'x', { toolChoice: 'wether' })
    // @ts-expect-error no tool has this name
    await generate(engine, 'x', { toolChoice: 'wether' })
    // @ts-expect-error no tool has this name
    await Session.start(engine, 'x', { toolChoice: 'wether' })
    // @ts-expect-error no tool has this name
    createEngine({ tools: [weather], toolChoice: 'wether' })
  }
  expectTypeOf(never).toBeFunction()
})

describe('a plain type stays what it was', () => {
  test('every typed value is a plain one, without type arguments in the signatures of users', async () => {
    const ask = (any: Engine): Promise<ChatResult> => chat(any, 'Hello')
    const log = (event: StreamEvent): string => event.type
    const list: Tool[] = [weather, book, sign]
    const listed = createEngine({ tools: list })
    unread(log)
    expectTypeOf(listed).toExtend<Engine>()
    expectTypeOf<EventOf<typeof listed>>().toEqualTypeOf<StreamEvent>()
    expectTypeOf<EventOf<Engine>>().toEqualTypeOf<StreamEvent>()
    expectTypeOf<Typed>().toExtend<StreamEvent>()
    expectTypeOf<typeof engine>().toExtend<Engine>()
    expectTypeOf<Awaited<ReturnType<typeof ask>>>().toEqualTypeOf<ChatResult>()
    expectTypeOf(ask).toBeCallableWith(engine)
    const never = (): void => {
      textDeltas(streamChat(engine, 'x'))
      textDeltas(streamStep(engine, 'x'))
    }
    expectTypeOf(never).toBeFunction()
  })

  test('and of a plain engine the calls are plain', () => {
    const never = async (plain: Engine): Promise<void> => {
      for await (const event of streamChat(plain, 'x')) {
        expectTypeOf(event).toEqualTypeOf<StreamEvent>()
        if (event.type === 'tool_execution_started' && event.name === 'x') {
          expectTypeOf(event.arguments).toEqualTypeOf<JsonObject>()
        }
      }
      expectTypeOf((await chat(plain, 'x')).manualToolCalls).toEqualTypeOf<readonly ToolCall[]>()
      expectTypeOf(await step(plain, 'x')).toEqualTypeOf<StepResult>()
    }
    expectTypeOf(never).toBeFunction()
  })

  test('a tool has its name, arguments and result, unless a type argument was given', () => {
    expectTypeOf(weather.name).toEqualTypeOf<'weather'>()
    expectTypeOf(weather).toExtend<Tool>()
    const given = tool<{ a: string }>({ name: 'g', description: 'd', schema: { type: 'object' } })
    expectTypeOf(given.name).toEqualTypeOf<string>()
    expectTypeOf<ToolTypes<'a'>>().toExtend<ToolTypes>()
  })
})

test('the result of a handler is what its event has as JSON', () => {
  expectTypeOf<ResultOf<string>>().toEqualTypeOf<string>()
  expectTypeOf<ResultOf<Promise<number>>>().toEqualTypeOf<number>()
  expectTypeOf<ResultOf<undefined>>().toEqualTypeOf<null>()
  expectTypeOf<ResultOf<Promise<void>>>().toEqualTypeOf<null>()
  expectTypeOf<ResultOf<Date>>().toEqualTypeOf<JsonValue>()
  expectTypeOf<ResultOf<unknown>>().toEqualTypeOf<JsonValue>()
  expectTypeOf<ResultOf<Booking>>().toEqualTypeOf<{ readonly table: number }>()
  type Outcome = ReturnType<typeof askUser> | ReturnType<typeof fail> | { readonly booked: number }
  expectTypeOf<ResultOf<Outcome>>().toEqualTypeOf<{ readonly booked: number } | null>()
  const halted = halt('done', { n: 1 })
  expectTypeOf<ResultOf<typeof halted>>().toEqualTypeOf<{ n: number }>()
  const parts = content([textPart('a')])
  expectTypeOf<ResultOf<typeof parts>>().toEqualTypeOf<JsonValue>()
})

describe('agents and handoffs', () => {
  const search = agentTool({ name: 'search', description: 'Searches.', engine })
  const plan = agentTool({
    name: 'plan',
    description: 'Plans.',
    engine,
    input: z.object({ days: z.number().default(3) }),
  })
  const leave = handoff(engine, {
    name: 'leave',
    input: { type: 'object', properties: { why: { type: 'string' } }, required: ['why'] },
  })
  const outer = createEngine({ adapter: fake({ script: ['Hi.'] }), tools: [search, plan, leave] })
  type Outer = EventOf<typeof outer>

  test('their events narrow by name to the arguments that the model writes', () => {
    type Started = Extract<Outer, { type: 'tool_execution_started' }>
    type ArgumentsOf<Name> = Extract<Started, { name: Name }>['arguments']
    expectTypeOf<ArgumentsOf<'search'>>().toEqualTypeOf<{ readonly prompt: string }>()
    // As the model may write it: the default is not there yet.
    expectTypeOf<ArgumentsOf<'plan'>['days']>().toEqualTypeOf<number | undefined>()
    expectTypeOf<ArgumentsOf<'leave'>>().toEqualTypeOf<{ readonly why: string }>()
    type Completed = Extract<Outer, { type: 'tool_execution_completed'; name: 'leave' }>
    expectTypeOf<Extract<Completed['result'], { ok: unknown }>['ok']>().toEqualTypeOf<string>()
  })

  test('approvals inside of them have the arguments of their tools, and a name that is known twice has both', () => {
    type Approval = Extract<Outer, { type: 'approval_requested' }>
    type ArgumentsOf<Name> = Extract<Approval, { toolName: Name }>['call']['arguments']
    expectTypeOf<ArgumentsOf<'weather'>>().toEqualTypeOf<Written>()
    const weatherOfMine = tool({
      name: 'weather',
      description: 'Another one.',
      schema: { type: 'object', properties: { at: { type: 'number' } }, required: ['at'] },
    })
    const twice = createEngine({ tools: [weatherOfMine, search] })
    type Twice = Extract<EventOf<typeof twice>, { type: 'approval_requested'; toolName: 'weather' }>
    expectTypeOf<Twice['call']['arguments']>().toEqualTypeOf<Written | { readonly at: number }>()
  })

  test('toolChoice takes their names, and no other', () => {
    expectTypeOf(chat).toBeCallableWith(outer, 'hi', { toolChoice: 'search' })
    // @ts-expect-error a tool of the agent is not one of this engine
    void (() => chat(outer, 'hi', { toolChoice: 'weather' }))
    // @ts-expect-error no tool has this name
    void (() => chat(outer, 'hi', { toolChoice: 'serch' }))
    expect(handoff(engine).name).toBe('handoff')
    expectTypeOf(handoff(engine).name).toEqualTypeOf<'handoff'>()
  })
})
