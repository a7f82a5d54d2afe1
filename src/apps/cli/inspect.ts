import { spawn } from 'node:child_process'
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brief } from '../../core/schema/checks.ts'
import { toNodeHandler } from '../../durable/runs/node-handler.ts'
import { pricesCheck, type PriceTable } from '../../models/cost.ts'
import { makeInspector, type Inspector, type InspectorOptions } from '../inspector/inspector.ts'
import {
  exitCodes,
  integerOption,
  usageError,
  type Command,
  type CommandCall,
  type OptionSpecs,
} from './command.ts'
import { describeError } from './describe-error.ts'
import { readJsonFile } from './files.ts'
import { say, type Io } from './io.ts'
import { moduleOf } from './make-test.ts'
import { readEngine } from './modules.ts'
import { openInspected } from './open-inspected.ts'
import { during } from './progress.ts'
import { listening, untilStopped } from './serve.ts'

const options: OptionSpecs = {
  store: {
    value: '<address>',
    help: 'postgres://…, redis://… or sqlite:<file> instead of a directory; the driver is yours',
  },
  prefix: { value: '<text>', help: 'the prefix of the tables or keys of the store' },
  schema: { value: '<name>', help: 'the schema of the tables in Postgres' },
  engine: {
    value: '<module>',
    help: 'the engine that this module exports as engine, or after a #: ./agent.ts#mine',
  },
  prices: {
    value: '<file>',
    help: 'what models cost: {"<model>": {"input": 1, "output": 2}}, for a million tokens',
  },
  'read-only': { help: 'change nothing: no commands, no forks, no tests' },
  port: { value: '<number>', short: 'p', help: 'the port on 127.0.0.1; otherwise any free one' },
  'no-open': { help: 'do not open the browser' },
}

/** `allm-ts inspect`: a page that shows, follows and forks sessions. */
export const inspectCommand: Command = {
  name: 'inspect',
  summary: 'look at sessions in the browser: timelines, events, requests; follow and fork them',
  synopsis: '[directory | session.json | cassette.json] [options]',
  options,
  notes: [
    'Without an argument it looks at ./sessions. The page is served on 127.0.0.1 only, to anybody who has its address, which holds a secret; nothing leaves the machine. Other tabs of the same browser may read, too. Ctrl-C ends it, with exit code 0.',
    'A fork runs in this process, on a script or on the recorded answers, and never in the store: no worker takes it. At rest it is saved beside the others. With --engine a fork can also run on a real model; it asks before each tool. Commands are stored for the workers of the store, or run here with --engine.',
    'TypeScript modules need a Node that loads them: 22.18 or newer.',
  ],
  examples: [
    ['inspect', 'look at ./sessions'],
    ['inspect talk.json', 'one session, or a cassette'],
    ['inspect --engine ./agent.ts', 'commands and forks run here'],
    ['inspect --store postgres://127.0.0.1/app', 'sessions in a database'],
  ],
  positionals: [0, 1],
  run,
}

async function run(call: CommandCall): Promise<number> {
  const { io } = call
  const port = integerOption(call, 'port', [0, 65_535]) ?? 0
  const prices = await readPrices(call)
  const module = call.text('engine')
  const given =
    module === undefined
      ? undefined
      : await during(io, `loading ${module}`, () => readEngine(module))
  const engine = given?.engine
  const readOnly = call.flag('read-only')
  const inspected = await during(io, 'opening the sessions', () => openInspected(call, engine))
  const { runs, name, testFolder, unattended, single, recorded } = inspected
  const secrets: Secrets = { token: newSecret(), cookie: newSecret() }
  const inspectorOptions: InspectorOptions = {
    authorize: (request) => authorize(request, secrets),
    mount: '/',
    name,
    readOnly,
    engine,
    prices,
    testFolder,
    onError: (error) => say(io.stderr, `allm-ts: ${describeError(error, io.env)}\n`),
  }
  const engineModule = given && ((file: string): string => moduleOf(given.module, file))
  const handle = makeInspector(runs, inspectorOptions, {
    unattended,
    single,
    engineModule,
    recorded,
  })
  try {
    const server = await listening({ port }, () => serve(withCookie(handle, secrets), port))
    const address = `http://127.0.0.1:${portOf(server)}/#token=${secrets.token}`
    say(io.stdout, `inspecting ${name} until Ctrl-C:\n  ${address}\n`)
    if (!call.flag('no-open')) openBrowser(io, address)
    try {
      await untilStopped(io)
    } finally {
      server.close()
      server.closeAllConnections()
    }
  } finally {
    await handle.close()
    await runs.close({ drainMs: 0 })
    await inspected.close()
  }
  return exitCodes.ok
}

async function readPrices(call: CommandCall): Promise<PriceTable | undefined> {
  const path = call.text('prices')
  if (path === undefined) return undefined
  const value = await readJsonFile(path, call.io, 'a price table')
  const [issue] = pricesCheck(value)
  if (issue === undefined) return value as PriceTable // Just checked.
  throw usageError(`${path}: ${issue.path} ${issue.problem}`)
}

/**
 * What lets a request in. The token, which the page sends in a header, is good for everything. The cookie is good for reading in other tabs
 * of the same browser. It is no token, because cookies know no ports: any other server of this machine is sent it, too.
 */
interface Secrets {
  readonly token: string
  readonly cookie: string
}

function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** What a request may do. */
type Access = 'all' | 'read' | 'nothing'

function accessOf({ headers, url }: Request, { token, cookie }: Secrets): Access {
  if (isSame(headers.get('authorization') ?? '', `Bearer ${token}`)) return 'all'
  // Only a page of this very origin, or the person at the browser, reads with it: not a page of another port, which is the same site.
  const site = headers.get('sec-fetch-site')
  if (site !== 'same-origin' && site !== 'none') return 'nothing'
  const wanted = `${cookieName(url)}=${cookie}`
  // Anybody may add a cookie of the same name.
  const cookies = (headers.get('cookie') ?? '').split('; ')
  return cookies.some((given) => isSame(given, wanted)) ? 'read' : 'nothing'
}

function cookieName(url: string): string {
  return `allm_${new URL(url).port}`
}

/** Compares in a time that does not depend on where two texts differ. */
function isSame(given: string, wanted: string): boolean {
  return timingSafeEqual(digest(given), digest(wanted))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function authorize(request: Request, secrets: Secrets): true | Response {
  const access = accessOf(request, secrets)
  if (access === 'all' || (access === 'read' && request.method === 'GET')) return true
  const message =
    access === 'read'
      ? 'this tab may only read: open the address that allm-ts inspect has printed in it'
      : 'the token is missing or wrong: open the address that allm-ts inspect has printed'
  return Response.json({ error: { reason: 'unauthorized', message } }, { status: 401 })
}

/** Gives the cookie to requests with the token, and tells a page that may only read that it does. */
function withCookie(handle: Inspector, secrets: Secrets): (request: Request) => Promise<Response> {
  return async (request) => {
    const response = await handle(request)
    const name = cookieName(request.url)
    const access = accessOf(request, secrets)
    const isKnown = request.headers.get('cookie')?.includes(`${name}=${secrets.cookie}`) === true
    if (access === 'read') response.headers.set('allm-access', 'read')
    if (access === 'all' && !isKnown) {
      const value = `${name}=${secrets.cookie}; Path=/api/; HttpOnly; SameSite=Strict`
      response.headers.append('set-cookie', value)
    }
    return response
  }
}

function serve(handle: (request: Request) => Promise<Response>, port: number): Promise<Server> {
  const respond = toNodeHandler(handle)
  const server = createServer((request, response) => {
    if (isOwnHost(request, server)) respond(request, response)
    else refuse(request, response)
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve(server))
  })
}

/** A name of another site may lead to this address, too: only requests to the address itself are answered. */
function isOwnHost({ headers }: IncomingMessage, server: Server): boolean {
  const port = portOf(server)
  return headers.host === `127.0.0.1:${port}` || headers.host === `localhost:${port}`
}

function refuse({ headers }: IncomingMessage, response: ServerResponse): void {
  const message = `this server is 127.0.0.1, not ${brief(headers.host ?? '')}`
  response.writeHead(403, { 'content-type': 'application/json', 'cache-control': 'no-store' })
  response.end(JSON.stringify({ error: { reason: 'foreign_host', message } }))
}

function portOf(server: Server): number {
  // It listens on a port.
  return (server.address() as AddressInfo | null)?.port ?? 0
}

/** Opens the page, if a person is there. That it cannot be opened is not a failure: the address was printed. */
function openBrowser({ stdout }: Io, address: string): void {
  if (stdout.isTTY !== true) return
  const [program, args] = opener(address)
  const child = spawn(program, args, { stdio: 'ignore', detached: true })
  child.once('error', () => undefined)
  child.unref()
}

function opener(address: string): readonly [string, string[]] {
  if (process.platform === 'darwin') return ['open', [address]]
  if (process.platform === 'win32') return ['cmd', ['/c', 'start', '', address]]
  return ['xdg-open', [address]]
}
