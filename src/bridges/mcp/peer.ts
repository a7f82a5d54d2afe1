import { isObject } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { StandardSchema } from '../../core/types/standard-schema.ts'

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
  getServerCapabilities?(): { readonly tools?: unknown } | undefined
  getClientCapabilities?(): unknown
  registerCapabilities?(capabilities: object): void
  setRequestHandler?(method: unknown, handler: RequestHandler): void
  assertCanSetRequestHandler?(method: string): void
  fallbackNotificationHandler?: (notification: { readonly method: string }) => Promise<void>
  onerror?: (error: Error) => void
  transport?: { terminateSession?(): Promise<void> } | undefined
}

/** Answers a request of the other side. */
export type RequestHandler = (
  request: { readonly params?: Readonly<Record<string, unknown>> },
  extra: RequestExtra,
) => Promise<object>

/** What the packages pass with a request: the older one all in one object, the newer one in `mcpReq`. */
export interface RequestExtra {
  readonly sessionId?: string
  readonly signal?: AbortSignal
  readonly _meta?: { readonly progressToken?: unknown }
  readonly sendNotification?: (notification: object) => Promise<void>
  readonly sendRequest?: (request: object, schema: object, options: object) => Promise<unknown>
  /** Over HTTP: who is signed in, if somebody is. */
  readonly http?: { readonly authInfo?: { readonly clientId?: string } }
  readonly mcpReq?: {
    readonly signal: AbortSignal
    readonly _meta?: { readonly progressToken?: unknown }
    readonly notify: (notification: object) => Promise<void>
    /** Since 2026-07-28 a request says what its client can do. */
    readonly envelope?: Readonly<Record<string, unknown>>
    /** What was asked in the round before, and the answers. */
    readonly requestState: () => unknown
    readonly inputResponses?: Readonly<Record<string, unknown>>
  }
}

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

/** Three weeks. The packages end a request after a minute by themselves; here the deadline of the tool decides. */
export const noTimeout = 2_000_000_000

/** The members of an object; none of anything else. */
export function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {}
}

/** Does nothing. */
export const nothing = (): void => undefined
