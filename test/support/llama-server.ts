import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A tool that sets up a real llama.cpp server with tiny models. It is next to the repository, if it is present at all. */
const tool = join(process.cwd(), '..', 'shared', 'tools', 'llama', 'up')

/** Kept between runs, so that the tool fetches its files only once. */
const directory = join(tmpdir(), 'allm-llama')

/** The key that the servers ask for. */
export const llamaKey = 'test-key'

/** One model that answers, one that calls a tool first, and one that reasons first. */
const models = { plain: 'tiny.gguf', tool: 'tiny--tool.gguf', think: 'tiny--think.gguf' } as const

export type LlamaModel = keyof typeof models

/** Whether the server is installed or the tool can install it. */
export function hasLlama(): boolean {
  if (!existsSync(tool)) return false
  const last = join(directory, models.think)
  if (!existsSync(last)) {
    spawnSync(tool, [directory], { stdio: 'ignore', timeout: 120_000 })
    // The tool also starts servers on fixed ports. These tests use other ports.
    spawnSync(tool, [directory, '--down'], { stdio: 'ignore' })
  }
  return existsSync(last)
}

/** Servers that listen, one for each model. */
export interface LlamaServers {
  readonly ports: Readonly<Record<LlamaModel, number>>
  stop(): void
}

const chatOptions = ['--jinja', '--temp', '0'] as const

/** Starts the servers. If one does not start, the others are stopped. */
export async function startLlama(): Promise<LlamaServers> {
  const running: RunningLlama[] = []
  const stop = (): void => running.forEach((server) => server.stop())
  const start = async (model: LlamaModel): Promise<number> => {
    const server = await startOne(models[model], chatOptions)
    running.push(server)
    return server.port
  }
  try {
    const ports = { plain: await start('plain'), tool: await start('tool') }
    return { ports: { ...ports, think: await start('think') }, stop }
  } catch (error) {
    stop()
    throw error
  }
}

/** A server that listens. */
export interface RunningLlama {
  readonly port: number
  stop(): void
}

/** Starts a server of the plain model that is no chat: with options such as `--embeddings` or `--reranking`. */
export function startLlamaWith(...options: readonly string[]): Promise<RunningLlama> {
  return startOne(models.plain, options)
}

async function startOne(model: string, options: readonly string[]): Promise<RunningLlama> {
  const port = await freePort()
  const address = ['--host', '127.0.0.1', '--port', `${port}`, '--alias', 'tiny']
  const shared = ['--api-key', llamaKey, '-c', '4096']
  const program = ['llama-server', '-m', model, ...address, ...shared, ...options]
  const server = spawn(join(directory, 'run'), program, { cwd: directory })
  try {
    await listening(server)
  } catch (error) {
    server.kill()
    throw error
  }
  return { port, stop: () => void server.kill() }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      // A server that listens on a port has an address object, not a path.
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
