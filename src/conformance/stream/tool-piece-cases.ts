import type { ChatCase, ChatHarness } from '../chat-harness.ts'
import { play } from '../chat-scene.ts'
import { demand } from '../conformance-failure.ts'
import { eventsOfType, showEvents } from '../events.ts'
import { readEvents } from '../read-stream.ts'
import { weatherRequest } from '../samples.ts'
import { sameJson } from '../../schema/json-schema.ts'
import type { Script, ScriptEntry } from '../../testing/script.ts'
import type { ModelEvent } from '../../types/events.ts'

/** The calls of tools, piece by piece. */
export const toolPieceCases: readonly ChatCase[] = [
  {
    name: 'the pieces of a call add up to its arguments',
    capability: 'streamed_tools',
    run: (harness) =>
      played(
        harness,
        [piece('call_1', '{"city":', 'weather'), piece('call_1', '"Paris"}')],
        (events) => demandCall(events, 'call_1', '{"city":"Paris"}'),
      ),
  },
  {
    name: 'a call is started before its pieces and completed after them',
    capability: 'streamed_tools',
    run: (harness) =>
      played(
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
      played(harness, inTurn, (events) => {
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

function played(
  harness: ChatHarness,
  script: Script,
  look: (events: readonly ModelEvent[]) => void,
): Promise<void> {
  return play(harness, script, async (scene) =>
    look(await readEvents(scene, { request: weatherRequest(scene) })),
  )
}

function demandCall(events: readonly ModelEvent[], id: string, raw: string): void {
  const deltas = eventsOfType(events, 'tool_call_delta').filter((event) => event.id === id)
  const joined = deltas.map(({ argumentsDelta }) => argumentsDelta).join('')
  const completed = eventsOfType(events, 'tool_call_completed').find(({ call }) => call.id === id)
  demand(joined === raw && sameJson(completed?.call.arguments, JSON.parse(raw)), {
    expected: `tool_call_delta events of ${id} that add up to ${raw}, and a call with these arguments`,
    received: { deltas: joined, completed: completed?.call },
    contract: 'pieces',
    hint: 'a provider tells the calls apart by an index or an id; the deltas of one may come between those of another',
  })
}
