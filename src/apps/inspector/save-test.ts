import { access, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Engine } from '../../core/contracts/engine.ts'
import { defined, isObject } from '../../core/types/guards.ts'
import { messageText, type Message, type ToolCall } from '../../core/types/message.ts'
import type { Session } from '../../core/types/session.ts'
import { refused } from '../../durable/runs/handler.ts'
import { questionsOf } from '../../engine/calls/pending.ts'
import { innerPlace } from '../../engine/calls/places.ts'
import { engineParts } from '../../engine/model-call/context.ts'
import { cassetteVersion, type Cassette, type CassetteCall } from '../../testing/fakes/cassette.ts'
import type { Script } from '../../testing/fakes/script.ts'
import { testOfCassette, type WaitingCalls } from '../../testing/recording/cassette-to-test.ts'
import { redactorOf, redactRequest, redactScript } from '../../testing/recording/redaction.ts'
import { stringifyCassette } from '../../testing/recording/write-cassette.ts'
import type { SavedTest } from './api.ts'
import { sessionBefore } from './history.ts'
import { engineOf, requestOf } from './model-requests.ts'
import { readAt, type Place } from './places.ts'
import { named, readRecording, scriptOfCall, type RecordedCall } from './recording.ts'
import { forkOrigin } from './sessions.ts'

/** Where a test is written, and what it runs. */
export interface TestSettings {
  /** The engine of the session, if the inspector was given one. */
  readonly engine: Engine | undefined
  readonly folder: string | undefined
  /** The module that exports the engine, as a file at this place imports it. */
  readonly engineModule: ((file: string) => string) | undefined
}

/** The recording of a session and a test that replays it, as `allm-ts test` writes it: into a folder, or only as texts. */
export async function savedTest(
  place: Place,
  id: string,
  { engine, folder, engineModule }: TestSettings,
): Promise<SavedTest> {
  const { session } = await readAt(place, id)
  const cassette = await cassetteOf(place, session, place.name === 'forks' ? undefined : engine)
  const name = await freeName(fileName(id), folder)
  const [cassetteName, testName] = [`${name}.cassette.json`, `${name}.test.mjs`]
  const own = engineModule !== undefined && engine !== undefined && runsAlone(engine, cassette)
  const text = testOfCassette(
    cassette,
    {
      file: `./${cassetteName}`,
      engine: own ? engineModule(join(folder ?? '.', testName)) : undefined,
    },
    waitingOf(session),
  )
  const files = [
    { path: cassetteName, text: stringifyCassette(cassette) },
    { path: testName, text },
  ]
  const tools = own ? 'engine' : 'recorded'
  if (folder === undefined) return { files, written: false, tools }
  const placed = files.map(({ path, text }) => ({ path: join(folder, path), text }))
  // They have the words of the conversation: they are for their owner only.
  await mkdir(folder, { recursive: true, mode: 0o700 })
  for (const { path, text } of placed) await writeFile(path, text, { flag: 'wx', mode: 0o600 })
  return { files: placed, written: true, tools }
}

/** Whether the models of a test are all recorded: an agent inside of a tool, and an engine that was handed over to, would ask their own. */
function runsAlone(engine: Engine, { calls }: Cassette): boolean {
  const called = new Set(
    calls.flatMap(({ script }) =>
      script.flatMap(([type, details]) =>
        type === 'tool_call' && isObject(details) ? [details['name']] : [],
      ),
    ),
  )
  const others = engineParts(engine).tools.filter((own) => own.agent ?? own.handoff)
  return !others.some(({ name }) => called.has(name))
}

/** What a session waits for. What an agent inside of a call waits for, its call waits for. */
function waitingOf(session: Session): WaitingCalls {
  const outer = (id: string): string => innerPlace(session, id)?.callId ?? id
  const idsOf = (calls: readonly ToolCall[]): readonly string[] => [
    ...new Set(calls.map(({ id }) => outer(id))),
  ]
  return {
    approvals: idsOf(session.pendingApprovals),
    manual: idsOf(session.pendingToolCalls),
    questions: Object.fromEntries(
      questionsOf(session).map(({ toolCallId, question = '' }) => [outer(toolCallId), question]),
    ),
  }
}

/**
 * The model calls of a session as a cassette, with the requests as they are rebuilt from the log. The log of a fork begins where it was forked:
 * the answers before are made from its messages, so that a changed result is what the recorded tools answer.
 */
async function cassetteOf(
  place: Place,
  session: Session,
  given: Engine | undefined,
): Promise<Cassette> {
  const { id } = session
  const { calls } = await readRecording(place, id, session.thread)
  if (calls.length === 0) {
    throw refused(
      409,
      'nothing_recorded',
      `the log of session ${id} has no model call: it is kept for a time (keepEventsMs of createRuns), and a session that was saved without runs has none`,
    )
  }
  const engine = given ?? (await engineOf(place, session))
  const redactor = redactorOf()
  const recorded = async (call: RecordedCall): Promise<CassetteCall> => {
    const before = await sessionBefore(place, id, call.first)
    const request = await requestOf(engine, before, call.model)
    return defined<CassetteCall>({
      provider: named(call.provider),
      model: request.model,
      request: redactRequest(request, redactor),
      script: redactScript(scriptOfCall(call), redactor),
    })
  }
  const all: CassetteCall[] = []
  for (const call of calls) all.push(await recorded(call))
  const shared = forkOrigin(session) === undefined ? [] : sharedCalls(all[0])
  return { version: cassetteVersion, calls: [...shared, ...all] }
}

/** The calls that led to the request of the first one, one for each answer in it. */
function sharedCalls(first: CassetteCall | undefined): readonly CassetteCall[] {
  if (first === undefined) return []
  const { request, script: _answer, ...facts } = first
  const calls: CassetteCall[] = []
  for (const [index, message] of request.messages.entries()) {
    if (message.role !== 'assistant') continue
    const asked = { ...request, messages: request.messages.slice(0, index) }
    calls.push({ ...facts, request: asked, script: scriptOfMessage(message) })
  }
  return calls
}

function scriptOfMessage(message: Message): Script {
  const { toolCalls = [] } = message
  const { finishReason = toolCalls.length === 0 ? 'stop' : 'tool_calls' } = message
  const text = messageText(message)
  return [
    ...(text === '' ? [] : [['text', text] as const]),
    ...toolCalls.map((call) => ['tool_call', call] as const),
    ['finish', finishReason],
  ]
}

/** A name that every file system takes, and that a file store does not take for a session. */
function fileName(id: string): string {
  const safe = id.replaceAll(/[^A-Za-z0-9_-]+/g, '-').replaceAll(/^-+|-+$/g, '')
  return safe === '' ? 'session' : safe.slice(0, 80)
}

async function freeName(name: string, folder: string | undefined): Promise<string> {
  if (folder === undefined) return name
  for (let number = 1; ; number++) {
    const own = number === 1 ? name : `${name}-${number}`
    const isFree = await access(join(folder, `${own}.cassette.json`)).then(
      () => false,
      () => true,
    )
    if (isFree) return own
  }
}
