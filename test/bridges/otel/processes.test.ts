import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { programOnSources } from '../../support/on-sources.ts'

const program = await programOnSources(new URL('otel-worker.mjs', import.meta.url))

interface Told {
  readonly status: string
  readonly spans: readonly {
    readonly name: string
    readonly pid: number
    readonly traceId: string
    readonly spanId: string
    readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
  }[]
}

test('a run that goes on in another process links to its first part', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'allm-otel-'))
  try {
    const run = async (words: string): Promise<Told> => {
      const args = [program, folder, words]
      const { stdout } = await promisify(execFile)(process.execPath, args)
      return JSON.parse(stdout) as Told
    }
    const agentOf = ({ spans }: Told) => spans.find(({ name }) => name === 'invoke_agent')
    const first = await run('go')
    const second = await run('this one')
    expect([first.status, second.status]).toEqual(['awaiting_user', 'completed'])
    const [origin, next] = [agentOf(first), agentOf(second)]
    expect(next?.pid).not.toBe(origin?.pid)
    expect(next?.traceId).not.toBe(origin?.traceId)
    expect(next?.links).toMatchObject([{ traceId: origin?.traceId, spanId: origin?.spanId }])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
