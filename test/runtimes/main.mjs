// The program for Node, Bun and Deno. It imports none of their modules. Bun and Deno also serve a run, with their own servers.
import { runAll } from './run-all.mjs'
import { handle, servedCases } from './served-cases.mjs'

const { Bun: bun, Deno: deno } = globalThis
const place = { hostname: '127.0.0.1', port: 0 }

if (bun !== undefined) {
  const server = bun.serve({ ...place, fetch: handle })
  await runAll(servedCases((path) => fetch(new URL(path, server.url))))
  await server.stop(true)
} else if (deno !== undefined) {
  const server = deno.serve({ ...place, onListen: () => undefined }, handle)
  const { port } = server.addr
  await runAll(servedCases((path) => fetch(`http://127.0.0.1:${port}${path}`)))
  await server.shutdown()
} else {
  await runAll()
}
