import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createRuns, toNodeHandler } from '../../../src/runs.ts'
import { memoryStore, type RunStore } from '../../../src/stores.ts'
import { virtualClock } from '../../../src/testing.ts'
import { serviceEngine, service } from './service.ts'

let warnings: string[] = []

beforeEach(() => {
  warnings = []
  vi.spyOn(process, 'emitWarning').mockImplementation((text, options) => {
    warnings.push(`${(options as { type: string }).type}: ${String(text)}`)
  })
})

afterEach(() => vi.restoreAllMocks())

const engine = serviceEngine(async () => 'seen')

/** A store that cannot be asked for what is due. */
function broken(clock = virtualClock({ auto: false })): RunStore {
  const fail = async (): Promise<never> => Promise.reject(new Error('the database is down'))
  return { ...memoryStore({ clock }), claim: fail, due: fail }
}

test('what authorize throws is a warning, once for each handler, and keys are not in it', async () => {
  const { get } = service({
    authorize: () => {
      throw new TypeError('a bug in my sign-in, with sk-proj-abcdefghijklmnopqrstuvwxyz0123456789')
    },
  })
  for (let count = 0; count < 3; count++) expect((await get('ada')).status).toBe(500)
  expect(warnings).toEqual([
    expect.stringMatching(
      /^AllmWarning: runs\.handler without onError: a request failed .*: a bug in my sign-in, with /,
    ),
  ])
  expect(warnings[0]).not.toContain('abcdefghijkl')
})

test('what a client sent cannot forge a line of the log', async () => {
  const { post } = service({
    authorize: (_request, _id, { callId }) => {
      throw new Error(`no call ${callId}`)
    },
  })
  const path = `ada/approvals/${encodeURIComponent('c1\r\n[fatal]\u001b[2J\u0085\u2028 forged')}`
  expect((await post(path, { approve: true })).status).toBe(500)
  expect(warnings[0]).toMatch(/no call c1\\u000d\\u000a\[fatal\]\\u001b\[2J\\u0085\\u2028 forged$/)
})

test('a worker whose store is down warns once', async () => {
  const clock = virtualClock({ auto: false })
  const runs = createRuns({ engine, store: broken(clock), clock })
  const worker = runs.work({ everyMs: 20 })
  await clock.advance(1000)
  await worker.close()
  await runs.close()
  expect(warnings).toEqual([
    expect.stringMatching(
      /^AllmWarning: createRuns without onError: something failed .*: the database is down$/,
    ),
  ])
})

test('nothing is warned of where onError is told', async () => {
  const clock = virtualClock({ auto: false })
  const told: string[] = []
  const onError = (error: unknown): void => void told.push(String(error))
  const runs = createRuns({ engine, store: broken(clock), clock, onError })
  const worker = runs.work({ everyMs: 20 })
  await clock.advance(50)
  await worker.close()
  const fail = (): never => {
    throw new Error('mine')
  }
  expect((await service({ authorize: fail, onError }).get('ada')).status).toBe(500)
  expect(told).toContain('Error: the database is down')
  expect(told.at(-1)).toBe('Error: mine')
  expect(warnings).toEqual([])
})

test('a refusal is not a warning', async () => {
  const { get, post } = service({ authorize: () => Response.json({}, { status: 403 }) })
  expect((await get('ada')).status).toBe(403)
  expect((await post('ada/messages', { text: 'hello' })).status).toBe(403)
  expect((await service().get('nobody')).status).toBe(404)
  expect(warnings).toEqual([])
})

test('what a mounted handler throws is a warning, once', async () => {
  const handle = toNodeHandler(() => {
    throw new Error('mine')
  })
  for (let count = 0; count < 2; count++) {
    const status = await new Promise<number>((resolve) => {
      const response = {
        writeHead: resolve,
        flushHeaders: () => undefined,
        write: () => true,
        end: () => undefined,
        destroy: () => undefined,
        once: () => undefined,
        off: () => undefined,
        destroyed: false,
        writableFinished: true,
      }
      const request = { url: '/', headers: {}, socket: {}, [Symbol.asyncIterator]: () => never() }
      handle(request, response)
    })
    expect(status).toBe(500)
  }
  expect(warnings).toEqual([
    expect.stringMatching(/^AllmWarning: a handler of toNodeHandler threw .*: mine$/),
  ])
})

async function* never(): AsyncGenerator<Uint8Array, void> {}
