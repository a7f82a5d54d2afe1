import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { shared } from './support.ts'

const tool = shared('tools/llama/up')
const home = join(tmpdir(), 'allm-llama-anthropic')

/** The tiny models: one that answers in text, one that always calls a tool, one that thinks first. */
export type TinyModel = 'tiny.gguf' | 'tiny--tool.gguf' | 'tiny--think.gguf'

/**
 * Whether a llama.cpp server can be started here. The first time, `../shared/tools/llama/up` puts it together, for which it
 * has to find its packages.
 */
export function hasLlama(): boolean {
  if (!existsSync(tool)) return false
  if (!existsSync(join(home, 'tiny--think.gguf'))) {
    spawnSync(tool, [home], { stdio: 'ignore', timeout: 120_000 })
    // The tool also starts servers, on ports that others may want.
    spawnSync(tool, [home, '--down'], { stdio: 'ignore' })
  }
  return existsSync(join(home, 'tiny--think.gguf'))
}

/** Servers that are running. */
export interface LlamaServers {
  /** The base address of the server that has this model. */
  readonly baseUrl: (model: TinyModel) => string
  readonly stop: () => void
}

/** Starts a server for each model, each on a port of its own, and waits until all listen. */
export async function startLlama(...models: readonly TinyModel[]): Promise<LlamaServers> {
  const running: ChildProcess[] = []
  const addresses = new Map<string, string>()
  const stop = (): void => running.forEach((server) => server.kill())
  try {
    for (const model of models) {
      const port = await freePort()
      const server = spawn(join(home, 'run'), serverArguments(model, port), { cwd: home })
      running.push(server)
      await listening(server)
      addresses.set(model, `http://127.0.0.1:${port}/v1`)
    }
  } catch (error) {
    stop()
    throw error
  }
  return { baseUrl: (model) => addresses.get(model) ?? '', stop }
}

function serverArguments(model: TinyModel, port: number): string[] {
  const options = [
    '--alias',
    'tiny',
    '--api-key',
    'test-key',
    '--jinja',
    '--temp',
    '0',
    '-c',
    '4096',
  ]
  return ['llama-server', '-m', model, '--host', '127.0.0.1', '--port', String(port), ...options]
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      // A server that listens on a port has an address that is no path.
      const { port } = probe.address() as AddressInfo
      probe.close(() => resolve(port))
    })
  })
}

function listening(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = ''
    const read = (piece: Buffer): void => {
      log += piece.toString()
      if (log.includes('listening on')) resolve()
    }
    server.stdout?.on('data', read)
    server.stderr?.on('data', read)
    server.on('exit', () => reject(new Error(`llama-server ended: ${log.slice(-500)}`)))
  })
}
