import { createRequire } from 'node:module'
import { basename, join, resolve } from 'node:path'
import type { McpServer } from '../../bridges/mcp/peer.ts'
import { serveMcp } from '../../bridges/mcp/serve.ts'
import type { Tool } from '../../core/contracts/tool.ts'
import { isAllmError } from '../../core/errors/errors.ts'
import { isObject } from '../../core/types/guards.ts'
import {
  exitCodes,
  failure,
  packageVersion,
  usageError,
  type Command,
  type CommandCall,
} from './command.ts'
import { say, type Io } from './io.ts'
import { readTools } from './modules.ts'
import { during } from './progress.ts'

/** `allm-ts mcp serve`: the tools of a module for MCP clients. */
export const mcpServeCommand: Command = {
  name: 'mcp serve',
  summary: 'offer the tools of a module to MCP clients, over stdin and stdout',
  synopsis: '<tools.js> [options]',
  options: {
    name: { value: '<text>', help: 'the name of the server (the name of the file)' },
  },
  notes: [
    'The module exports its tools as tools, as the default, or one by one. TypeScript needs a Node that loads it: 22.18 or newer.',
    'The server is that of @modelcontextprotocol/server, or of the older @modelcontextprotocol/sdk, installed beside the module. What the tools write with console.log goes to stderr. It ends with its input.',
  ],
  examples: [
    ['mcp serve ./tools.js', 'what an MCP client starts'],
    ['mcp serve ./tools.js --name orders', 'with a name of its own'],
  ],
  positionals: [1, 1],
  run,
}

async function run(call: CommandCall): Promise<number> {
  const { io, positionals } = call
  const [file = ''] = positionals
  const path = resolve(file)
  const restore = keepStdoutClean()
  try {
    const tools = await during(io, `loading ${file}`, () => readTools(file))
    const open = findServer(path, file)
    const info = { name: call.text('name') ?? basename(file), version: packageVersion() }
    const end = ended(io)
    const close = await open(info, tools, io)
    // A person has to know that it waits for a client.
    if (io.stdin.isTTY === true) {
      const names = tools.map(({ name }) => name).join(', ')
      say(io.stderr, `serving ${names} to the MCP client on stdin, until Ctrl-D\n`)
    }
    await end
    await close()
    return exitCodes.ok
  } finally {
    restore()
  }
}

/** Stdout belongs to the protocol. */
function keepStdoutClean(): () => void {
  const { log, info, debug } = console
  Object.assign(console, { log: console.error, info: console.error, debug: console.error })
  return () => Object.assign(console, { log, info, debug })
}

type Info = { readonly name: string; readonly version: string }

/** Starts a server with the tools, and returns the function that ends it. */
type Open = (info: Info, tools: readonly Tool[], io: Io) => Promise<() => Promise<void>>

/** The package that is installed beside the module, or where the program was started. */
function findServer(path: string, file: string): Open {
  for (const from of [path, join(process.cwd(), 'x.js')]) {
    const load = createRequire(from)
    for (const find of [newServer, oldServer]) {
      try {
        return find(load)
      } catch (error) {
        if (!isObject(error) || error['code'] !== 'MODULE_NOT_FOUND') throw error
      }
    }
  }
  const advice = 'npm install @modelcontextprotocol/server'
  throw failure(`there is no package with an MCP server beside ${file}; run ${advice}`)
}

/** What is used of the packages. */
interface Closable {
  close(): Promise<void>
}
type ConnectedServer = McpServer & Closable & { connect(transport: object): Promise<void> }
type NewServer = new (info: Info) => ConnectedServer
type NewTransport = new (stdin: Io['stdin'], stdout: Io['stdout']) => object
interface NewStdio {
  readonly StdioServerTransport: NewTransport
  readonly serveStdio: (factory: () => object, options: object) => Closable
}

function newServer(load: NodeJS.Require): Open {
  // The package's own names.
  const { McpServer: Server } = load('@modelcontextprotocol/server') as { McpServer: NewServer }
  const { StdioServerTransport, serveStdio } = load(
    '@modelcontextprotocol/server/stdio',
  ) as NewStdio
  return async (info, tools, { stdin, stdout }) => {
    const factory = (): object => served(new Server(info), tools)
    // What cannot be served is refused now, not by the first client.
    factory()
    const handle = serveStdio(factory, { transport: new StdioServerTransport(stdin, stdout) })
    return () => handle.close()
  }
}

function oldServer(load: NodeJS.Require): Open {
  const { McpServer: Server } = load('@modelcontextprotocol/sdk/server/mcp.js') as {
    McpServer: NewServer
  }
  const { StdioServerTransport } = load('@modelcontextprotocol/sdk/server/stdio.js') as NewStdio
  return async (info, tools, { stdin, stdout }) => {
    const server = served(new Server(info), tools)
    await server.connect(new StdioServerTransport(stdin, stdout))
    return () => server.close()
  }
}

function served(server: ConnectedServer, tools: readonly Tool[]): ConnectedServer {
  try {
    serveMcp(tools, server)
    return server
  } catch (error) {
    throw isAllmError(error) ? usageError(error.message, error) : error
  }
}

/** Waits for the end of the input, or for Ctrl-C. */
function ended({ stdin, onInterrupt }: Io): Promise<void> {
  return new Promise((resolve) => {
    const off = onInterrupt(() => finish())
    const finish = (): void => {
      off()
      resolve()
    }
    stdin.once('end', finish)
    stdin.once('close', finish)
  })
}
