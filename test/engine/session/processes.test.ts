import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Session } from '../../../src/index.ts'
import { programOnSources } from '../../support/on-sources.ts'

const worker = await programOnSources(new URL('worker.mjs', import.meta.url))

interface Life {
  readonly lines: number
  readonly killed: boolean
}

/** Runs a worker; with `killAt`, it is killed with SIGKILL as soon as it has printed that many lines. */
function live(args: readonly string[], killAt = Number.POSITIVE_INFINITY): Promise<Life> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [worker, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    let lines = 0
    let errors = ''
    child.stderr.on('data', (data: Buffer) => (errors += String(data)))
    child.stdout.on('data', (data: Buffer) => {
      lines += String(data).split('\n').length - 1
      if (lines >= killAt) child.kill('SIGKILL')
    })
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (code === 0 || signal === 'SIGKILL') resolve({ lines, killed: signal === 'SIGKILL' })
      else reject(new Error(`the worker failed: ${errors}`))
    })
  })
}

/** Completes the run in as many processes as needed, each killed at the next of the given line counts. */
async function history(kills: readonly number[]): Promise<{ session: Session; runs: string[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'allm-processes-'))
  try {
    const file = join(folder, 'session.json')
    const counts = join(folder, 'counts')
    await live([file, counts, 'start'], kills[0])
    for (const at of kills.slice(1)) await live([file, counts], at)
    await live([file, counts])
    const session = Session.parse(readFileSync(file, 'utf8'))
    const runs = existsSync(counts) ? readFileSync(counts, 'utf8').trim().split('\n') : []
    return { session, runs }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** The first process prints some 60 lines: two for each event. The starts of the tools are lines 12 to 17. */
test.each([
  [12, 3, 9, 40],
  [14, 4, 13, 21],
  [16, 17, 2, 30],
  [17, 6, 25, 11],
  [18, 19, 5, 8],
])(
  'a process that is killed with SIGKILL, also between an event and its save, is resumed by another: after %i, %i, %i and %i lines',
  async (...places) => {
    const uncut = await history([])
    expect(uncut.session.status).toBe('completed')
    const cut = await history(places)
    const context = `killed at ${places.join(', ')}`
    expect(cut.session.status, context).toBe('completed')
    expect(new Set(cut.runs).size, context).toBe(cut.runs.length)
    const answers = cut.session.thread.messages.map((message) =>
      message.metadata?.['interrupted'] === true ? 'interrupted' : message,
    )
    uncut.session.thread.messages.forEach((message, index) => {
      if (answers[index] !== 'interrupted') expect(answers[index], context).toEqual(message)
      else expect(message.role, context).toBe('tool')
    })
  },
)
