import type { Clock } from '../../core/base/clock.ts'
import type { ChatAdapter } from '../../core/contracts/adapter.ts'
import type { Engine } from '../../core/contracts/engine.ts'
import type { Tool } from '../../core/contracts/tool.ts'
import type { ModelEvent } from '../../core/types/events.ts'
import { engineParts } from '../../engine/model-call/context.ts'
import { extendEngine } from '../../engine/model-call/engine.ts'

/** An engine whose answers have the time at which they were complete, in `metadata.at`, and so have those of the engines that it hands over to. */
export function timedEngine(engine: Engine, clock: Clock): Engine {
  const { adapter, tools } = engineParts(engine)
  if (adapter === undefined) return engine
  const known = timed.get(engine)
  if (known?.clock === clock) return known.engine
  const own = extendEngine(engine, {
    adapter: timedAdapter(adapter, clock),
    tools: tools.flatMap((tool) => timedHandoff(tool, clock)),
  })
  timed.set(engine, { clock, engine: own })
  return own
}

/** A tool that hands over, to an engine with times. */
function timedHandoff(tool: Tool, clock: Clock): readonly Tool[] {
  const { handoff } = tool
  if (handoff === undefined) return []
  return [{ ...tool, handoff: { ...handoff, engine: () => timedEngine(handoff.engine(), clock) } }]
}

/** The engines that were made before. Most runs of a process have the same. */
const timed = /* @__PURE__ */ new WeakMap<Engine, { clock: Clock; engine: Engine }>()

function timedAdapter(adapter: ChatAdapter, clock: Clock): ChatAdapter {
  const { provider, providers, identity, model, needsModel, key, server } = adapter
  return {
    provider,
    providers,
    identity,
    model,
    server,
    ...(needsModel === undefined ? {} : { needsModel }),
    ...(key === undefined ? {} : { key }),
    stream: (request, options) => ({
      [Symbol.asyncIterator]() {
        const batches = adapter.stream(request, options)[Symbol.asyncIterator]()
        return {
          next: async () => {
            const step: IteratorResult<readonly ModelEvent[], unknown> = await batches.next()
            if (step.done === true) return { done: true, value: undefined }
            return { done: false, value: step.value.map((event) => timedEvent(event, clock)) }
          },
          return: async () => {
            await batches.return?.()
            return { done: true, value: undefined }
          },
        }
      },
    }),
  }
}

function timedEvent(event: ModelEvent, clock: Clock): ModelEvent {
  if (event.type !== 'message_completed') return event
  const { message } = event
  const metadata = { ...message.metadata, at: clock.now() }
  return { ...event, message: { ...message, metadata } }
}
