import { isObject } from '../types/guards.ts'
import type { JsonObject } from '../types/json.ts'
import type { StandardSchema } from '../types/standard-schema.ts'

/**
 * A connected MCP client, by its shape. `Client` of `@modelcontextprotocol/client` and of the older `@modelcontextprotocol/sdk` have it.
 *
 * The optional members are used where they exist: without them there is no elicitation, no notice of changed lists, and no
 * way to tell a lost connection from a failed call.
 */
export interface McpClient {
  listTools(...args: never): Promise<{ readonly tools: readonly unknown[] }>
  callTool(...args: never): Promise<unknown>
  close(): Promise<void>
}

/** A server that tools can be added to, by its shape: `McpServer`, or the `Server` inside of it, of either official package. */
export type McpServer = McpServerCore | { readonly server: McpServerCore }

/** The low-level server, whose handlers get requests as they came. */
export interface McpServerCore {
  registerCapabilities(capabilities: never): void
  setRequestHandler(...args: never): unknown
  getClientCapabilities(): unknown
}

/** A client or server with everything that the bridge may call. Other implementations may lack any of it. */
export interface Peer {
  listTools(params?: object, options?: object): Promise<unknown>
  callTool(params: object, ...rest: unknown[]): Promise<unknown>
  close(): Promise<void>
  request?(request: object, schema: object, options?: object): Promise<unknown>
  ping?(options: object): Promise<unknown>
  getProtocolEra?(): unknown
  getServerCapabilities?(): unknown
  getClientCapabilities?(): unknown
  registerCapabilities?(capabilities: object): void
  setRequestHandler?(method: unknown, handler: RequestHandler): void
  assertCanSetRequestHandler?(method: string): void
  fallbackNotificationHandler?: (notification: { readonly method: string }) => Promise<void>
  onerror?: (error: Error) => void
  transport?: { terminateSession?(): Promise<void> } | undefined
}

/** Answers a request of the other side. `extra` is what the package adds: the signal, ways to send something back. */
export type RequestHandler = (
  request: { readonly params?: Readonly<Record<string, unknown>> },
  extra: Readonly<Record<string, unknown>>,
) => Promise<object>

/** A client or server as the bridge calls it. The members that were not checked are optional, and looked for before they are called. */
export function asPeer(value: McpClient | McpServerCore): Peer {
  return value as unknown as Peer
}

/**
 * Handles a method, unless the peer did not declare it, or the user handles it. Returns whether it does.
 *
 * The newer package takes the name of the method, the older one a Zod schema whose `method` is that literal.
 */
export function onRequest(peer: Peer, method: string, handler: RequestHandler): boolean {
  for (const key of [method, { shape: { method: { value: method } }, ...anyValue }]) {
    try {
      peer.assertCanSetRequestHandler?.(method)
      peer.setRequestHandler?.(key, handler)
      return peer.setRequestHandler !== undefined
    } catch {
      // The other form, or none.
    }
  }
  return false
}

/** A Standard Schema for the newer package, and a Zod schema by its shape for the older one. */
interface AnyValue extends StandardSchema<unknown, JsonObject> {
  safeParse(data: unknown): object
  parse(data: unknown): unknown
}

/** A schema that takes any value. */
export const anyValue: AnyValue = {
  '~standard': {
    version: 1,
    vendor: 'mcp',
    // The type is for the arguments of tools, which are objects.
    validate: (value) => ({ value: value as JsonObject }),
  },
  safeParse: (data) => ({ success: true, data }),
  parse: (data) => data,
}

/** The longest time that a timer can wait. The packages end a request after a minute by themselves; the deadline of the tool decides here. */
export const noTimeout = 2_147_483_647

/** The members of an object; none of anything else. */
export function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {}
}
