import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { build } from 'esbuild'
import { root } from './root.ts'

/** The steps of a case at its sizes, each twice the one before. */
export interface CaseSteps {
  readonly name: string
  readonly steps: readonly number[]
  readonly error?: string
}

/**
 * Runs a file that calls `reportSteps`, in a thread of its own, and returns what it reports.
 *
 * The file and the sources that it imports are bundled first. Copies of objects (`{ ...value }`) are written out as loops there, so that
 * their members count.
 */
export async function caseSteps(file: string): Promise<readonly CaseSteps[]> {
  const folder = await mkdtemp(join(tmpdir(), 'allm-steps-'))
  try {
    const outfile = join(folder, 'cases.mjs')
    await build({
      stdin: {
        contents: `import './test/support/count-steps.ts'; import './${file}'`,
        resolveDir: root,
      },
      bundle: true,
      outfile,
      platform: 'node',
      format: 'esm',
      target: 'node20.19',
      supported: { 'object-rest-spread': false },
      // The package says that its files have no side effects. These have.
      ignoreAnnotations: true,
      logLevel: 'silent',
    })
    return await reported(outfile)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function reported(file: string): Promise<readonly CaseSteps[]> {
  const found: CaseSteps[] = []
  const worker = new Worker(file)
  await new Promise<void>((resolve, reject) => {
    worker.on('message', (message: CaseSteps) => found.push(message))
    worker.on('error', reject)
    worker.on('exit', () => resolve())
  })
  return found
}
