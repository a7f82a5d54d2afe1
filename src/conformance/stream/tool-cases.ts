import type { ChatCase, ChatHarness } from '../chat-harness.ts'
import { play } from '../chat-scene.ts'
import { demand } from '../conformance-failure.ts'
import { eventsOfType, foldEvents } from '../events.ts'
import { readEvents } from '../read-stream.ts'
import { weatherCall, weatherRequest } from '../samples.ts'
import { sameJson } from '../../schema/json-schema.ts'
import type { Script } from '../../testing/script.ts'
import type { ModelEvent } from '../../types/events.ts'
import type { ToolCall } from '../../types/message.ts'

/** The calls of tools, whole. */
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
          hint: 'some providers say "stop" for an answer with calls; the calls decide',
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
    name: 'arguments that are no JSON are kept as they were written',
    capability: 'raw_arguments',
    run: (harness) =>
      answered(harness, [['tool_call', brokenCall]], (events) => {
        const [completed] = eventsOfType(events, 'tool_call_completed')
        const { arguments: args, rawArguments } = completed?.call ?? {}
        demand(sameJson(args, {}) && rawArguments === brokenCall.rawArguments, {
          expected: `arguments {} and rawArguments ${brokenCall.rawArguments}`,
          received: completed,
          contract: 'rawArguments',
          hint: 'do not repair or guess: the tool runner tells the model what is wrong',
        })
      }),
  },
]

const brokenCall = { id: 'call_1', name: 'weather', rawArguments: '{"city": "Par' }

const bothCalls: readonly ToolCall[] = [
  { id: 'call_1', name: 'weather', arguments: { city: 'Paris' } },
  { id: 'call_2', name: 'weather', arguments: { city: 'Rome' } },
]

const twoCalls: Script = bothCalls.map((call) => ['tool_call', call] as const)

/** Plays a script for a request with a tool and looks at its events. */
function answered(
  harness: ChatHarness,
  script: Script,
  look: (events: readonly ModelEvent[]) => void,
): Promise<void> {
  return play(harness, script, async (scene) =>
    look(await readEvents(scene, { request: weatherRequest(scene) })),
  )
}

function callsOf(events: readonly ModelEvent[]): readonly ToolCall[] {
  return eventsOfType(events, 'tool_call_completed').map(({ call }) => plain(call))
}

/** A call without what only some providers have. */
function plain({ id, name, arguments: args }: ToolCall): ToolCall {
  return { id, name, arguments: args }
}
