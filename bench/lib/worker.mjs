/** One contestant in a process of its own: loaded and warmed once, then asked for short batches in turn with the others. */
import { createHook } from 'node:async_hooks'
import { Socket } from 'node:net'
import { performance } from 'node:perf_hooks'

/** Called with every chunk that comes from a socket. */
let onChunk = () => undefined
// oxlint-disable-next-line typescript/unbound-method -- It is called with its socket.
const { push } = Socket.prototype
Socket.prototype.push = function (chunk, ...rest) {
  if (chunk) onChunk(chunk)
  return push.call(this, chunk, ...rest)
}

const { contestant } = await import(process.argv[2])
let run

/** How long the first delta takes from this process's socket to the consumer, in µs. Built on a contestant's `deltas`. */
async function latency(options) {
  const read = await contestant.deltas?.(options)
  if (read === undefined) return undefined
  // There are few paced answers. Quick ones first let the runtime optimize the code, as in a long-running server.
  const warmUp = await contestant.deltas({ ...options, url: options.warmUrl })
  const start = performance.now()
  while (performance.now() - start < options.warmMs) await warmUp()
  let arrived
  onChunk = (chunk) => {
    if (arrived === undefined && chunk.includes(options.mark)) arrived = performance.now()
  }
  return async () => {
    arrived = undefined
    let seen
    await read(() => {
      seen ??= performance.now()
    })
    return (seen - arrived) * 1000
  }
}

const commands = {
  async prepare({ scenario, options }) {
    onChunk = () => undefined
    run = await (scenario === 'latency' ? latency(options) : contestant[scenario]?.(options))
    return run === undefined ? { skipped: true } : { value: await run() }
  },
  async warm({ ms }) {
    const start = performance.now()
    let times = 0
    do {
      await run()
      times++
    } while (performance.now() - start < ms)
    return { perCall: (performance.now() - start) / times }
  },
  async measure({ times }) {
    globalThis.gc?.()
    const heap = process.memoryUsage().heapUsed
    const cpu = process.cpuUsage()
    const start = performance.now()
    for (let index = 0; index < times; index++) await run()
    const wall = performance.now() - start
    const { user, system } = process.cpuUsage(cpu)
    const allocated = process.memoryUsage().heapUsed - heap
    return { wall: (wall * 1000) / times, cpu: (user + system) / times, bytes: allocated / times }
  },
  async promises() {
    await run()
    let promises = 0
    const hook = createHook({ init: (_id, type) => (promises += type === 'PROMISE' ? 1 : 0) })
    hook.enable()
    await run()
    hook.disable()
    return { promises }
  },
  /** In how many pieces the answer comes from the socket. */
  async reads() {
    let reads = 0
    onChunk = () => {
      reads++
    }
    await run()
    onChunk = () => undefined
    return { reads }
  },
  async samples({ times }) {
    const samples = []
    for (let index = 0; index < times; index++) samples.push(await run())
    return { samples }
  },
}

process.on('message', ({ id, command, ...rest }) => {
  commands[command](rest).then(
    (result) => process.send({ id, ...result }),
    (error) => process.send({ id, error: String(error?.stack ?? error) }),
  )
})
process.on('disconnect', () => process.exit(0))
process.send({ id: 0 })
