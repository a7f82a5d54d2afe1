import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Clock } from '../../src/index.ts'
import { root } from '../support/root.ts'

/** The example as it runs: bundled once, below node_modules, so that its imports of packages resolve. */
export interface Bundle {
  readonly folder: string
  [Symbol.dispose](): void
}

export function bundleService(name = 'chat-service'): Bundle {
  const folder = mkdtempSync(join(root, 'node_modules/.allm-browser-'))
  const args = [join(root, 'scripts/example.mjs'), '--bundle', folder, name]
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) throw new Error('the example cannot be bundled')
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}

/** The chat service in a process of its own, which can be killed and started again where it was. */
export interface ChatService {
  readonly url: string
  /** Starts the process, also again after `kill` or `end`, at the same address and on the same files. */
  start(): Promise<void>
  /** Ends the process at once. */
  kill(): Promise<void>
  /** Asks the process to end, as a deploy does, and returns its exit code. */
  end(): Promise<number | null>
  [Symbol.asyncDispose](): Promise<void>
}

export async function chatService(
  { folder }: Bundle,
  env: Readonly<Record<string, string>> = {},
): Promise<ChatService> {
  const data = mkdtempSync(join(tmpdir(), 'allm-chat-'))
  let child: ChildProcess | undefined
  let port = '0'
  const gone = async (signal: NodeJS.Signals): Promise<number | null> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return null
    const exit = once(child, 'exit') as Promise<[number | null]>
    child.kill(signal)
    return (await exit)[0]
  }
  const service = {
    url: '',
    async start() {
      child = spawn(process.execPath, [join(folder, 'server.mjs')], {
        cwd: data,
        stdio: ['ignore', 'pipe', 'inherit'],
        env: {
          PATH: process.env['PATH'],
          PORT: port,
          CHAT_DATA: join(data, 'conversations'),
          CHAT_PACE_MS: '1',
          ...env,
        },
      })
      if (child.stdout === null) throw new Error('the process has no output')
      for await (const line of createInterface(child.stdout)) {
        const [url, , number] = /http:\/\/([\w.]+):(\d+)/.exec(line) ?? []
        if (url === undefined || number === undefined) continue
        service.url = url
        port = number
        return
      }
      throw new Error(`the service ended with ${child.exitCode}`)
    },
    async kill() {
      await gone('SIGKILL')
    },
    end: () => gone('SIGTERM'),
    async [Symbol.asyncDispose]() {
      await gone('SIGKILL')
      rmSync(data, { recursive: true, force: true })
    },
  }
  await service.start()
  return service
}

/** A clock whose waits last until the test ends them: `['delay', 3]` in a script waits for `open(3)`. */
export interface Gates extends Clock {
  open(gate: number): void
}

export function gates(): Gates {
  const doors = new Map<number, { readonly opened: Promise<void>; readonly open: () => void }>()
  const door = (gate: number): { readonly opened: Promise<void>; readonly open: () => void } => {
    const known = doors.get(gate)
    if (known !== undefined) return known
    let open: () => void = () => undefined
    const opened = new Promise<void>((resolve) => (open = resolve))
    const made = { opened, open }
    doors.set(gate, made)
    return made
  }
  return {
    now: () => Date.now(),
    sleep: (gate, signal) =>
      new Promise((resolve, reject) => {
        const leave = (): void => reject(new Error('left'))
        signal?.addEventListener('abort', leave, { once: true })
        door(gate).opened.then(resolve, reject)
        if (signal?.aborted === true) leave()
      }),
    open: (gate) => door(gate).open(),
  }
}

/** Where Chromium is: the path in `CHROMIUM`, or else one of the usual places. */
export function findChromium(): string | undefined {
  const { CHROMIUM } = process.env
  const usual = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
  return (CHROMIUM ? [CHROMIUM] : usual).find((path) => existsSync(path))
}
