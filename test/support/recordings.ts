import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './root.ts'

/** A folder of recorded answers: `<provider>/<id>/` with `meta.json`, `request.json`, the response and `expect.json`. */
export interface RecordingRoot {
  readonly name: string
  readonly folder: string
}

/** A recorded answer, and where its files are. */
export interface RecordedCase {
  readonly id: string
  readonly provider: string
  readonly endpoint: string
  readonly status: number
  readonly streaming: boolean
  readonly folder: string
}

const shared: RecordingRoot = {
  name: '../shared/fixtures',
  folder: join(root, '../shared/fixtures/open'),
}

/** Whether third-party recordings are present next to the repository. */
export const hasShared: boolean = existsSync(shared.folder)

/** The invented recordings of this repository and, if present, those next to it. */
export const recordingRoots: readonly RecordingRoot[] = [
  { name: 'test/fixtures', folder: join(root, 'test/fixtures/recordings') },
  ...(hasShared ? [shared] : []),
]

/** The recordings of one root, or of all. */
export function recordedCases(
  roots: readonly RecordingRoot[] = recordingRoots,
): readonly RecordedCase[] {
  return roots.flatMap(({ folder }) =>
    folders(folder).flatMap((provider) =>
      folders(join(folder, provider)).map((id) => readCase(join(folder, provider, id))),
    ),
  )
}

function folders(path: string): readonly string[] {
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .toSorted()
}

function readCase(folder: string): RecordedCase {
  // The recordings are data that the tests trust.
  const meta = JSON.parse(readFileSync(join(folder, 'meta.json'), 'utf8')) as RecordedCase
  const { id, provider, endpoint, status, streaming } = meta
  return { id, provider, endpoint, status, streaming, folder }
}
