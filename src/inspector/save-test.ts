import { access, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Engine } from '../contracts/engine.ts'
import { cassetteToTest } from '../middleware/cassette-to-test.ts'
import { stringifyCassette } from '../middleware/cassette.ts'
import { redactorOf, redactRequest, redactScript } from '../middleware/redaction.ts'
import { refused } from '../runs/handler.ts'
import { cassetteVersion, type Cassette, type CassetteCall } from '../testing/cassette.ts'
import { defined } from '../types/guards.ts'
import type { SavedTest } from './api.ts'
import { sessionBefore } from './history.ts'
import { engineOf, requestOf } from './model-requests.ts'
import { readAt, type Place } from './places.ts'
import { named, readRecording, scriptOfCall, type RecordedCall } from './recording.ts'

/** The recording of a session and a test that replays it, as `allm test` writes it: into a folder, or only as texts. */
export async function savedTest(
  place: Place,
  id: string,
  { engine, folder }: { readonly engine: Engine | undefined; readonly folder: string | undefined },
): Promise<SavedTest> {
  const cassette = await cassetteOf(place, id, engine)
  const name = await freeName(fileName(id), folder)
  const [cassetteName, testName] = [`${name}.cassette.json`, `${name}.test.mjs`]
  const files = [
    { path: cassetteName, text: stringifyCassette(cassette) },
    { path: testName, text: cassetteToTest(cassette, { file: `./${cassetteName}` }) },
  ]
  if (folder === undefined) return { files, written: false }
  const placed = files.map(({ path, text }) => ({ path: join(folder, path), text }))
  await mkdir(folder, { recursive: true })
  for (const { path, text } of placed) await writeFile(path, text, { flag: 'wx' })
  return { files: placed, written: true }
}

/** The model calls of a session as a cassette, with the requests as they are rebuilt from the log. */
async function cassetteOf(place: Place, id: string, given: Engine | undefined): Promise<Cassette> {
  const { session } = await readAt(place, id)
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
  return { version: cassetteVersion, calls: all }
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
