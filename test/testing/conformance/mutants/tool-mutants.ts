import type { ModelEvent } from '../../../../src/core/types/events.ts'
import type { ToolCall } from '../../../../src/core/types/message.ts'
import { broken, edit, events, saying, those } from './mutant.ts'

/** Adapters that get the calls of tools wrong. */
export const toolMutants = [
  broken(
    'a name has a prefix',
    'a call arrives with its id, its name and its arguments',
    saying((all) =>
      isLoneWholeCall(all)
        ? all.map((event) =>
            event.type === 'tool_call_started'
              ? event
              : JSON.parse(JSON.stringify(event).replaceAll('"weather"', '"functions.weather"')),
          )
        : all,
    ),
  ),
  broken(
    'an answer with calls ends with stop',
    'an answer with calls finishes with tool_calls',
    events(
      edit('message_completed', (event) => ({
        ...event,
        finishReason: event.finishReason === 'tool_calls' ? 'stop' : event.finishReason,
      })),
    ),
  ),
  broken(
    'the message has no calls',
    'the message holds the calls of its events',
    events(
      edit('message_completed', (event) => ({
        ...event,
        message: { ...event.message, toolCalls: [] },
      })),
    ),
  ),
  broken(
    'a call without arguments is dropped',
    'a call without arguments has none',
    events(
      edit('tool_call_completed', (event) => {
        const { arguments: args, rawArguments } = event.call
        return Object.keys(args).length === 0 && rawArguments === undefined ? [] : event
      }),
    ),
  ),
  broken(
    'text before a call is dropped',
    'text before a call is kept',
    events((event, all) => {
      if (!isLoneWholeCall(all) || those(all, 'text_completed').length !== 1) return event
      if (event.type === 'text_delta' || event.type === 'text_completed') return []
      return event.type === 'message_completed'
        ? { ...event, message: { ...event.message, content: '' } }
        : event
    }),
  ),
  broken(
    'calls come in the order in which they are complete, last first',
    'calls in one answer stay apart and keep their order',
    saying((all) => {
      const calls = [...those(all, 'tool_call_completed')].toReversed()
      return all.map((event) => (event.type === 'tool_call_completed' ? calls.shift() : event))
    }),
  ),
  broken(
    'arguments that are no JSON are repaired',
    'arguments that are not JSON are kept as they were written',
    events(
      edit('tool_call_completed', (event) =>
        event.call.rawArguments?.endsWith('Par') === true
          ? { ...event, call: { ...event.call, arguments: { city: 'Par' } } }
          : event,
      ),
    ),
  ),
  broken(
    'arguments are whatever JSON.parse makes of them',
    'arguments that JSON cannot hold are kept as they were written',
    events(
      edit('tool_call_completed', (event) =>
        event.call.rawArguments?.includes('1e999') === true
          ? { ...event, call: { ...event.call, arguments: JSON.parse(event.call.rawArguments) } }
          : event,
      ),
    ),
  ),
  ...(
    [
      [
        'arguments that are no object are none, and what was written is lost',
        ({ rawArguments: _raw, ...call }) => call,
      ],
      [
        'a list is taken for arguments',
        (call) => ({ ...call, arguments: JSON.parse(call.rawArguments ?? '{}') }),
      ],
      [
        'arguments that are no object are wrapped in one',
        (call) => ({ ...call, arguments: { value: JSON.parse(call.rawArguments ?? '{}') } }),
      ],
    ] as const satisfies readonly (readonly [string, (call: ToolCall) => unknown])[]
  ).map(([defect, rewrite]) =>
    broken(
      defect,
      'arguments that are JSON and no object are kept as they were written',
      events(
        edit('tool_call_completed', (event) =>
          event.call.rawArguments !== undefined && !event.call.rawArguments.startsWith('{')
            ? { ...event, call: rewrite(event.call) }
            : event,
        ),
      ),
    ),
  ),
  broken(
    'a whole call is not started',
    'a call is started before it is completed',
    saying((all) =>
      isLoneWholeCall(all) ? all.filter((event) => event.type !== 'tool_call_started') : all,
    ),
  ),
  broken(
    'the last piece of a call is lost',
    'the pieces of a call add up to its arguments',
    saying((all) => {
      const lone = those(all, 'tool_call_completed').length === 1
      return lone ? all.filter((event) => event !== those(all, 'tool_call_delta').at(-1)) : all
    }),
  ),
  broken(
    'a call is started after its pieces',
    'a call is started before its pieces and completed after them',
    saying((all) => {
      const started: readonly ModelEvent[] = those(all, 'tool_call_started')
      const rest: readonly ModelEvent[] = all.filter((event) => event.type !== 'tool_call_started')
      const end = rest.findIndex((event) => event.type === 'tool_call_completed')
      return end === -1 ? all : rest.toSpliced(end, 0, ...started)
    }),
  ),
  broken(
    'a piece belongs to the call that was started last',
    'pieces of several calls that come in turn are kept apart',
    events((event, all) => {
      if (event.type !== 'tool_call_delta') return event
      const before = those(all.slice(0, all.indexOf(event)), 'tool_call_started')
      return { ...event, id: before.at(-1)?.id ?? event.id }
    }),
  ),
]

/** Whether an answer has one call, which came in one piece. */
function isLoneWholeCall(all: readonly ModelEvent[]): boolean {
  return (
    those(all, 'tool_call_completed').length === 1 && those(all, 'tool_call_delta').length === 0
  )
}
