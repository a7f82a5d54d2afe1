import type { Clock } from '../../core/base/clock.ts'
import type { Engine } from '../../core/contracts/engine.ts'
import type { ModelRequest } from '../../core/types/request.ts'
import type { Session } from '../../core/types/session.ts'
import type { Runs } from '../../durable/runs/contract.ts'
import { createRuns } from '../../durable/runs/runs.ts'
import { memoryStore } from '../../durable/stores/memory-store.ts'
import { createEngine } from '../../engine/model-call/engine.ts'
import { createSession } from '../../engine/session/create.ts'
import { cassetteVersion, type Cassette } from '../../testing/fakes/cassette.ts'
import {
  recordedRuns,
  type RecordedAnswer,
  type RecordedRun,
} from '../../testing/fakes/recorded-runs.ts'
import { replay } from '../../testing/recording/replay.ts'
import { playedTools } from './fork-engine.ts'
import type { RecordedCalls } from './model-requests.ts'
import { toolsIn } from './recording.ts'

/**
 * The conversations of a cassette as sessions with logs, in memory: each is played once, at once, with the answers and the results of tools that
 * were recorded. Their ids are the name, with numbers if there are several. The recorded calls are kept beside them: a request that the sessions would
 * make again need not be the one that was recorded.
 */
export async function cassetteRuns(
  cassette: Cassette,
  name: string,
): Promise<{ readonly runs: Runs; readonly recorded: RecordedCalls }> {
  const recorded = new Map<string, readonly RecordedAnswer[]>()
  const engines = new Map<string, Engine>()
  const store = memoryStore()
  const none = createEngine()
  const options = {
    engine: ({ id }: Session) => engines.get(id) ?? none,
    store,
    keepEventsMs: Number.MAX_SAFE_INTEGER,
  }
  const runs = createRuns({ ...options, clock: hastyClock })
  const all = recordedRuns(cassette)
  for (const [index, run] of all.entries()) {
    const id = all.length === 1 ? name : `${name}-${index + 1}`
    engines.set(id, playingEngine(run))
    recorded.set(id, loggedCalls(run))
    const [first, ...turns] = run.turns
    await store.save(createSession({ id, messages: first?.messages ?? [] }), { first: true })
    while ((await runs.advance(id)).more);
    for (const { messages } of turns) {
      for (const { content } of messages) await runs.send(id, content, { whenBusy: 'queue' })
      await runs.wait(id)
    }
  }
  await runs.close()
  return { runs: createRuns(options), recorded }
}

/** The calls that the log tells: those that were refused and tried again are one with the last attempt. */
function loggedCalls({ turns }: RecordedRun): readonly RecordedAnswer[] {
  const calls = turns.flatMap((turn) => turn.calls)
  return calls.filter(({ isRefused }, index) => !isRefused || index === calls.length - 1)
}

/** A recording is played without its waits. */
const hastyClock: Clock = {
  now: () => Date.now(),
  sleep: () => Promise.resolve(),
  timer: () => () => undefined,
}

function playingEngine(run: RecordedRun): Engine {
  const answers = run.turns.flatMap(({ calls }) => calls)
  const calls = answers.map(({ call }) => call)
  const requests = calls.map(({ request }) => request)
  const results = toolsIn({ messages: requests.at(-1)?.messages ?? [], metadata: {} })
  for (const { message } of answers) {
    for (const call of message?.toolCalls ?? []) {
      if (!results.has(call.id)) results.set(call.id, { call, isAsked: false })
    }
  }
  const specs = new Map(requests.flatMap(({ tools }) => tools.map((spec) => [spec.name, spec])))
  const options = {
    adapter: replay({ version: cassetteVersion, calls }, { match: () => true }),
    tools: playedTools([...results.values()], [...specs.values()], []),
    maxTurns: Math.max(1, answers.length),
    retry: { maxAttempts: attemptsIn(run), respectRetryAfter: false },
    clock: hastyClock,
  }
  try {
    return createEngine({ ...options, ...settingsOf(requests[0]) })
  } catch {
    // A setting that was left out of the recording is not legal.
    return createEngine(options)
  }
}

/** The settings of a request that an engine may have. */
function settingsOf(request: ModelRequest | undefined): object {
  const {
    messages: _thread,
    tools: _tools,
    responseFormat: _format,
    ...settings
  } = request ?? noRequest
  return settings
}

const noRequest: ModelRequest = { messages: [], tools: [], providerOptions: {}, metadata: {} }

/** How often the calls of a run were tried at most. */
function attemptsIn({ turns }: RecordedRun): number {
  let most = 1
  for (const { calls } of turns) {
    let attempts = 1
    for (const { isRefused } of calls) {
      most = Math.max(most, attempts)
      attempts = isRefused ? attempts + 1 : 1
    }
  }
  return most
}
