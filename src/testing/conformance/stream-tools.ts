import { sameJson } from '../../core/schema/json-schema.ts'
import type { ModelEvent } from '../../core/types/events.ts'
import type { ToolCall } from '../../core/types/message.ts'
import type { Script, ScriptEntry } from '../fakes/script.ts'
import { demand, show } from './demands.ts'
import {
  eventsOfType,
  foldEvents,
  play,
  readEvents,
  showEvents,
  weatherCall,
  weatherRequest,
  type ChatCase,
  type ChatHarness,
} from './harness.ts'

/** Complete tool calls. */
export const toolCases: readonly ChatCase[] = [
  {
    name: 'a call arrives with its id, its name and its arguments',
    capability: 'tools',
    run: (harness) =>
      answered(harness, weatherCall, (events) => {
        const calls = callsOf(events)
        demand(sameJson(calls, [{ id: 'call_1', name: 'weather', arguments: { city: 'Paris' } }]), {
          expected: 'one tool_call_completed: call_1, weather, {"city": "Paris"}',
          received: calls,
          contract: 'tools',
        })
      }),
  },
  {
    name: 'an answer with calls finishes with tool_calls',
    capability: 'tools',
    run: (harness) =>
      answered(harness, weatherCall, (events) => {
        const [end] = eventsOfType(events, 'message_completed')
        demand(end?.finishReason === 'tool_calls', {
          expected: 'finishReason "tool_calls"',
          received: end?.finishReason,
          contract: 'finish',
          hint: 'some providers send "stop" for an answer with calls; the calls decide',
        })
      }),
  },
  {
    name: 'the message holds the calls of its events',
    capability: 'tools',
    run: (harness) =>
      answered(harness, weatherCall, (events) => {
        const { message } = foldEvents(events)
        demand(sameJson(message.toolCalls?.map(plain), callsOf(events)), {
          expected: 'message.toolCalls with the calls of the tool_call_completed events',
          received: message,
          contract: 'tools',
        })
      }),
  },
  {
    name: 'a call without arguments has none',
    capability: 'tools',
    run: (harness) =>
      answered(harness, [['tool_call', { id: 'call_1', name: 'weather' }]], (events) => {
        const [call] = callsOf(events)
        demand(sameJson(call?.arguments, {}), {
          expected: 'arguments {}',
          received: call,
          contract: 'tools',
          hint: 'some providers send an empty text for no arguments; that is {}',
        })
      }),
  },
  {
    name: 'text before a call is kept',
    capability: 'tools',
    run: (harness) =>
      answered(harness, [['text', 'One moment.'], ...weatherCall], (events) => {
        const { outputText } = foldEvents(events)
        const calls = callsOf(events)
        demand(outputText === 'One moment.' && calls.length === 1, {
          expected: 'the text "One moment." and one call',
          received: { outputText, calls },
          contract: 'text',
        })
      }),
  },
  {
    name: 'calls in one answer stay apart and keep their order',
    capability: 'parallel_tools',
    run: (harness) =>
      answered(harness, twoCalls, (events) => {
        const calls = callsOf(events)
        demand(sameJson(calls, bothCalls), {
          expected: 'call_1 with Paris, then call_2 with Rome',
          received: calls,
          contract: 'tools',
        })
      }),
  },
  {
    name: 'arguments that are not JSON are kept as they were written',
    capability: 'raw_arguments',
    run: (harness) =>
      answered(harness, [['tool_call', brokenCall]], (events) => {
        const [completed] = eventsOfType(events, 'tool_call_completed')
        const { arguments: args, rawArguments } = completed?.call ?? {}
        demand(sameJson(args, {}) && rawArguments === brokenCall.rawArguments, {
          expected: `arguments {} and rawArguments ${brokenCall.rawArguments}`,
          received: completed,
          contract: 'rawArguments',
          hint: 'do not repair or guess: the tool runner reports the problem to the model',
        })
      }),
  },
  {
    name: 'arguments that JSON cannot hold are kept as they were written',
    capability: 'raw_arguments',
    async run(harness) {
      for (const rawArguments of ['{"days":1e999}', deepArguments]) {
        const script: Script = [['tool_call', { id: 'call_1', name: 'weather', rawArguments }]]
        await answered(harness, script, (events) => {
          const [completed] = eventsOfType(events, 'tool_call_completed')
          const { arguments: args, rawArguments: raw } = completed?.call ?? {}
          demand(sameJson(args, {}) && raw === rawArguments, {
            expected: `arguments {} and rawArguments ${rawArguments}`,
            received: completed,
            contract: 'rawArguments',
            hint: 'JSON.parse reads 1e999 as Infinity, which no JSON can hold; at most 500 levels can be saved',
          })
        })
      }
    },
  },
  {
    name: 'arguments that are JSON and no object are kept as they were written',
    capability: 'raw_arguments',
    async run(harness) {
      for (const rawArguments of ['[1]', '"x"', '3', 'null', 'true', '[{"city":"Paris"}]']) {
        const script: Script = [['tool_call', { id: 'call_1', name: 'weather', rawArguments }]]
        await answered(harness, script, (events) => {
          const [completed] = eventsOfType(events, 'tool_call_completed')
          const { arguments: args, rawArguments: raw } = completed?.call ?? {}
          demand(sameJson(args, {}) && raw === rawArguments, {
            problem: `the arguments ${rawArguments}, which are no object, are ${show(args)} with rawArguments ${show(raw)}`,
            expected: `arguments {} and rawArguments ${rawArguments}`,
            received: completed,
            contract: 'rawArguments',
            hint: 'without rawArguments the call would run with no arguments; with them it is an invalid_arguments error that the model reads',
          })
        })
      }
    },
  },
  {
    name: 'a call is started before it is completed',
    capability: 'tools',
    run: (harness) =>
      answered(harness, weatherCall, (events) => {
        const first = events.find(({ type }) => type.startsWith('tool_call'))
        demand(first?.type === 'tool_call_started' && first.name === 'weather', {
          expected: 'tool_call_started with the name of the call before its other events',
          received: showEvents(events),
          contract: 'pieces',
        })
      }),
  },
]

/** Beyond the depth that a session can keep. */
const deepArguments = `{"city":${'['.repeat(501)}${']'.repeat(501)}}`

const brokenCall = { id: 'call_1', name: 'weather', rawArguments: '{"city": "Par' }

const bothCalls: readonly ToolCall[] = [
  { id: 'call_1', name: 'weather', arguments: { city: 'Paris' } },
  { id: 'call_2', name: 'weather', arguments: { city: 'Rome' } },
]

const twoCalls: Script = bothCalls.map((call) => ['tool_call', call] as const)

/** Plays a script for a request with a tool and checks the events. */
function answered(
  harness: ChatHarness,
  script: Script,
  look: (events: readonly ModelEvent[]) => void,
): Promise<void> {
  return play(harness, script, async (fixture) =>
    look(await readEvents(fixture, { request: weatherRequest(fixture) })),
  )
}

function callsOf(events: readonly ModelEvent[]): readonly ToolCall[] {
  return eventsOfType(events, 'tool_call_completed').map(({ call }) => plain(call))
}

/** A call without the fields that only some providers have. */
function plain({ id, name, arguments: args }: ToolCall): ToolCall {
  return { id, name, arguments: args }
}

/** Streamed tool calls. */
export const toolPieceCases: readonly ChatCase[] = [
  {
    name: 'the pieces of a call add up to its arguments',
    capability: 'streamed_tools',
    run: (harness) =>
      answered(
        harness,
        [piece('call_1', '{"city":', 'weather'), piece('call_1', '"Paris"}')],
        (events) => demandCall(events, 'call_1', '{"city":"Paris"}'),
      ),
  },
  {
    name: 'a call is started before its pieces and completed after them',
    capability: 'streamed_tools',
    run: (harness) =>
      answered(
        harness,
        [piece('call_1', '{"city":', 'weather'), piece('call_1', '"Paris"}')],
        (events) => {
          const order = events
            .map(({ type }) => type)
            .filter((type) => type.startsWith('tool_call'))
          const [first, ...rest] = order
          const last = rest.pop()
          demand(
            first === 'tool_call_started' &&
              last === 'tool_call_completed' &&
              rest.every((type) => type === 'tool_call_delta'),
            {
              expected: 'tool_call_started, then tool_call_delta events, then tool_call_completed',
              received: showEvents(events),
              contract: 'pieces',
            },
          )
        },
      ),
  },
  {
    name: 'pieces of several calls that come in turn are kept apart',
    capability: 'interleaved_tools',
    run: (harness) =>
      answered(harness, inTurn, (events) => {
        demandCall(events, 'call_1', '{"city":"Paris"}')
        demandCall(events, 'call_2', '{"city":"Rome"}')
      }),
  },
]

const inTurn: Script = [
  piece('call_1', '{"ci', 'weather'),
  piece('call_2', '{"city"', 'weather'),
  piece('call_1', 'ty":"Pa'),
  piece('call_2', ':"Rome"}'),
  piece('call_1', 'ris"}'),
]

function piece(id: string, argumentsDelta: string, name?: string): ScriptEntry {
  return [
    'tool_call_delta',
    name === undefined ? { id, argumentsDelta } : { id, argumentsDelta, name },
  ]
}

function demandCall(events: readonly ModelEvent[], id: string, raw: string): void {
  const deltas = eventsOfType(events, 'tool_call_delta').filter((event) => event.id === id)
  const joined = deltas.map(({ argumentsDelta }) => argumentsDelta).join('')
  const completed = eventsOfType(events, 'tool_call_completed').find(({ call }) => call.id === id)
  demand(joined === raw && sameJson(completed?.call.arguments, JSON.parse(raw)), {
    expected: `tool_call_delta events of ${id} that add up to ${raw}, and a call with these arguments`,
    received: { deltas: joined, completed: completed?.call },
    contract: 'pieces',
    hint: 'an index or an id identifies the call of a delta; the deltas of several calls may be interleaved',
  })
}
