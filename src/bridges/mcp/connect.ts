/// <reference lib="esnext.disposable" preserve="true" />

import { unlessStopped } from '../../core/base/abort.ts'
import { startTimer, systemClock } from '../../core/base/clock.ts'
import type { Tool } from '../../core/contracts/tool.ts'
import { ToolError } from '../../core/errors/errors.ts'
import { anyFunction, assertValid, timeoutMs, within } from '../../core/schema/checks.ts'
import type { Link } from './call.ts'
import { asPeer, nothing, type McpClient } from './peer.ts'
import { asClient, assertMcpOptions, listTools, toolsFrom, type McpToolsOptions } from './tools.ts'

/** The options of `connectMcp`. */
export interface ConnectMcpOptions extends McpToolsOptions {
  /** How long the server may take to connect and to list its tools (30 000). */
  readonly connectTimeoutMs?: number | undefined
}

/** What `connect` gets. Pass it on: `client.connect(transport, options)`. */
export interface McpConnectOptions {
  /** Aborted when the time is over. The official clients then close the transport, which ends the process of a local server. */
  readonly signal: AbortSignal
  /** The same time, for the client's own timer. */
  readonly timeout: number
}

/** Makes a client and connects it. */
export type McpConnect<Client extends McpClient = McpClient> = (
  options: McpConnectOptions,
) => Client | Promise<Client>

/** A connection to a server. */
export interface McpConnection<Client extends McpClient = McpClient> {
  /** The tools as the server last listed them. It is a new list after the server has changed it, or was connected again. */
  readonly tools: readonly Tool[]
  /** The client of now. */
  readonly client: Client
  /** Asks the server for its tools again. */
  refresh(): Promise<readonly Tool[]>
  /** Ends the session and closes the client, also one that is just being connected, if that takes at most 2 s. Calls that are open fail. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Connects to a server and keeps its tools working. `connect` makes an official client and connects it. It is called again, once for
 * each call that needs it, when the server has forgotten the session or its process has ended.
 *
 * Nothing is left running behind a time-out, nor after `close` or `await using`.
 */
export async function connectMcp<Client extends McpClient>(
  connect: McpConnect<Client>,
  options: ConnectMcpOptions = {},
): Promise<McpConnection<Client>> {
  assertMcpOptions(options, { connectTimeoutMs: timeoutMs })
  assertValid('invalid_options', within('connect', anyFunction(connect)))
  const { connectTimeoutMs: timeout = 30_000, clock = systemClock } = options
  // A bad tool of a later list is left out, because there is nobody to get an error.
  const later = { onRefused: nothing, ...options }
  const ending = new AbortController()
  /** Gives up the last connection that was begun. */
  let stop: AbortController
  let tools: readonly Tool[] = []
  let lists = 0
  let opening: Promise<void> | undefined

  /** Connects and lists the tools, in time. A client that comes too late, or whose list is of no use, is closed. */
  const open = async (toolsOptions: McpToolsOptions): Promise<Client> => {
    stop = new AbortController()
    const { signal } = stop
    const cancel = startTimer(clock, timeout, () => {
      const message = `the MCP server did not answer in ${timeout} ms (connectTimeoutMs)`
      stop.abort(new ToolError('timeout', message))
    })
    const attempt = (async () => connect({ signal, timeout }))()
    try {
      const fresh = await unlessStopped(attempt, signal)
      await unlessStopped(list(fresh, toolsOptions), signal)
      const peer = asPeer(fresh)
      const { fallbackNotificationHandler: before } = peer
      // The tools are listed again when the server says so, unless a handler of the user's takes that.
      peer.fallbackNotificationHandler = async (notification) => {
        if (/tools.list_changed/.test(notification.method)) await refresh()
        await before?.call(peer, notification)
      }
      return fresh
    } catch (error) {
      attempt.then((late) => late.close()).catch(nothing)
      throw error
    } finally {
      cancel()
    }
  }
  const list = async (from: Client, toolsOptions: McpToolsOptions): Promise<void> => {
    const turn = ++lists
    const infos = await listTools(asClient(from))
    if (turn === lists) tools = toolsFrom(infos, link, toolsOptions)
  }
  const refresh = async (): Promise<readonly Tool[]> => {
    await list(client, later)
    return tools
  }
  const link: Link = {
    peer: () => asPeer(client),
    reconnect: async (lost) => {
      ending.signal.throwIfAborted()
      if (lost === asPeer(client)) {
        opening ??= open(later)
          .then((fresh) => {
            client = fresh
            lost.close().catch(nothing)
          })
          .finally(() => {
            opening = undefined
          })
        await unlessStopped(opening, ending.signal)
      }
      return asPeer(client)
    },
  }
  const close = async (): Promise<void> => {
    if (ending.signal.aborted) return
    ending.abort(new Error('the MCP server is not connected'))
    const cancel = startTimer(clock, 2000, () => stop.abort())
    // A client that gives up does not wait for the end of its server. So it may connect first, and is closed then.
    await opening?.catch(nothing)
    // A server over HTTP is told that the session is over. One that does not answer is not waited for.
    const told = (async () => asPeer(client).transport?.terminateSession?.())()
    await unlessStopped(told, stop.signal).catch(nothing)
    cancel()
    await client.close()
  }

  let client = await open(options)
  return {
    get tools() {
      return tools
    },
    get client() {
      return client
    },
    refresh,
    close,
    [Symbol.asyncDispose]: close,
  }
}
