import { systemClock, type Clock } from '../../core/base/clock.ts'
import type { Tool } from '../../core/contracts/tool.ts'
import { issueList, ValidationError } from '../../core/errors/errors.ts'
import {
  anyFunction,
  assertValid,
  fine,
  flag,
  listOf,
  optionsOf,
  positiveInteger,
  refusal,
  someText,
  text,
  timeoutMs,
  type Check,
  type Checks,
} from '../../core/schema/checks.ts'
import type { Issue } from '../../core/types/error-data.ts'
import { defined } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import { foreignTool } from '../../engine/tools/tool.ts'
import { callServer, type CallTarget, type Link } from './call.ts'
import { isUsualMedia } from './content.ts'
import { anyValue, asPeer, objectOf, type McpClient, type Peer } from './peer.ts'
import { isUsable, schemaProblem } from './schemas.ts'

/** A tool as its server describes it. Nothing in it is checked before `include` and `configure` see it. */
export interface McpToolInfo {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonObject
  readonly outputSchema?: JsonObject
  readonly annotations?: {
    readonly readOnlyHint?: boolean
    readonly destructiveHint?: boolean
    readonly idempotentHint?: boolean
    readonly openWorldHint?: boolean
  }
}

/** What the caller says about a tool of a server. */
export type McpToolSettings = Partial<
  Pick<
    Tool,
    | 'description'
    | 'needsApproval'
    | 'compact'
    | 'summary'
    | 'timeoutMs'
    | 'idempotent'
    | 'strict'
    | 'providerOptions'
  >
>

/** The options of `mcpTools`. */
export interface McpToolsOptions {
  /** Put before the names, with `_` between: `files` makes `files_read`. */
  readonly prefix?: string | undefined
  /** The tools to take, by their names at the server, or a function that chooses. Default: all. */
  readonly include?: readonly string[] | ((tool: McpToolInfo) => boolean) | undefined
  /**
   * Believe what the server says of its tools: one that only reads, or is idempotent, is `idempotent` here, and a destructive one
   * `needsApproval`. Off by default, because a server may say anything.
   */
  readonly trustAnnotations?: boolean | undefined
  /** Settings of a tool: its deadline, whether it is idempotent or needs approval. They win over the annotations. */
  readonly configure?: ((tool: McpToolInfo) => McpToolSettings) | undefined
  /**
   * A call whose server asks the user is cancelled, and made again with the answer, as calls of idempotent tools are. Without it such a
   * call stays open in this process.
   */
  readonly repeatOnElicitation?: boolean | undefined
  /** How long a call stays open for the user's answer (600 000). */
  readonly elicitationTimeoutMs?: number | undefined
  /** The largest result, roughly in bytes (10 MB). A larger one is a failed call. */
  readonly maxResultBytes?: number | undefined
  /** Which types of media are kept in results; others become a line of text. Default: images, audio, PDFs and texts. */
  readonly accepts?: ((mimeType: string) => boolean) | undefined
  /** Gets every tool that cannot be used; it is left out. Without it such a tool is an error. */
  readonly onRefused?: ((refused: RefusedMcpTool) => void) | undefined
  /** The clock of the deadlines. */
  readonly clock?: Clock | undefined
}

/** A tool of a server that cannot be used, and why. */
export interface RefusedMcpTool {
  readonly name: string
  readonly problem: string
}

/**
 * The tools of a connected MCP client. They run on the server. Their names are legal for every provider, and lead back to the server's.
 *
 * The list is that of now. A tool whose name or schema cannot be used is a `ValidationError` that names it, unless `onRefused` is set.
 * The arguments of a call are checked by the server.
 */
export async function mcpTools(
  client: McpClient,
  options: McpToolsOptions = {},
): Promise<readonly Tool[]> {
  assertMcpOptions(options)
  const peer = asClient(client)
  return toolsFrom(await listTools(peer), { peer: () => peer }, options)
}

/** A client as the bridge calls it. Throws if it is none. */
export function asClient(client: McpClient): Peer {
  if (typeof objectOf(client)['listTools'] === 'function') return asPeer(client)
  throw refusal('invalid_options', 'client', 'must be a connected MCP client')
}

/** Refuses unknown options, and values of the wrong kind. */
export function assertMcpOptions(options: object, more: Checks = {}): void {
  const checks = {
    prefix: someText,
    include: (value) => (typeof value === 'function' ? fine : listOf(text)(value)),
    trustAnnotations: flag,
    configure: anyFunction,
    repeatOnElicitation: flag,
    elicitationTimeoutMs: timeoutMs,
    maxResultBytes: positiveInteger,
    accepts: anyFunction,
    onRefused: anyFunction,
    clock: () => fine,
    ...more,
  } satisfies Readonly<Record<keyof McpToolsOptions, Check>>
  assertValid('invalid_options', optionsOf(checks)(options))
}

/** All tools as the server describes them. The parsers of the official packages would refuse the whole list for one bad tool. */
export async function listTools(peer: Peer): Promise<readonly McpToolInfo[]> {
  const { tools: hasTools } = peer.getServerCapabilities?.() ?? { tools: true }
  if (!hasTools) return []
  const infos: McpToolInfo[] = []
  let params: object = {}
  for (let page = 0; page < 100; page++) {
    const { tools, nextCursor } = objectOf(
      await (peer.request?.({ method: 'tools/list', params }, anyValue) ?? peer.listTools(params)),
    )
    if (!Array.isArray(tools) || infos.length > 1000) break
    infos.push(...tools.map(readInfo))
    if (typeof nextCursor !== 'string') return infos
    params = { cursor: nextCursor }
  }
  throw refusal('invalid_tool', 'tools', 'must be a list of at most 1000')
}

/** Other fields than these are checked when they are used. */
function readInfo(value: unknown): McpToolInfo {
  const { name, title = '', description = title, ...rest } = objectOf(value)
  return { ...rest, name: String(name), description: String(description) } as McpToolInfo
}

/** The tools of a list. Those that cannot be used are named in one error, or given to `onRefused`. */
export function toolsFrom(
  infos: readonly McpToolInfo[],
  link: Link,
  options: McpToolsOptions,
): readonly Tool[] {
  const { include, onRefused } = options
  const tools = new Map<string, Tool>()
  const issues: Issue[] = []
  for (const name of typeof include === 'object' ? include : []) {
    if (!infos.some((info) => info.name === name))
      issues.push({ path: 'include', problem: `has ${name}, which the MCP server lacks` })
  }
  for (const info of infos) {
    const { name } = info
    if (!(typeof include === 'function' ? include(info) : (include?.includes(name) ?? true)))
      continue
    try {
      const made = toolFrom(info, link, options)
      if (tools.has(made.name)) throw refusal('invalid_tool', 'name', 'is used twice')
      tools.set(made.name, made)
    } catch (error) {
      if (!(error instanceof ValidationError)) throw error
      const problem = issueList(error.issues)
      if (onRefused === undefined) issues.push({ path: name, problem })
      else onRefused({ name, problem })
    }
  }
  assertValid('invalid_tool', issues)
  return [...tools.values()]
}

/** Makes a tool. Throws a `ValidationError` if the server's description cannot be used. */
function toolFrom(info: McpToolInfo, link: Link, options: McpToolsOptions): Tool {
  const { name, inputSchema, outputSchema } = info
  const problem = schemaProblem(inputSchema)
  if (problem !== undefined) throw refusal('invalid_tool', 'inputSchema', problem)
  const { readOnlyHint, idempotentHint, destructiveHint } = objectOf(
    options.trustAnnotations && info.annotations,
  )
  const { description = info.description, ...settings } = {
    idempotent: readOnlyHint === true || idempotentHint === true,
    needsApproval: readOnlyHint !== true && destructiveHint === true,
    ...options.configure?.(info),
  }
  const { idempotent } = settings
  const target: CallTarget = {
    accepts: isUsualMedia,
    maxResultBytes: 10_000_000,
    elicitationTimeoutMs: 600_000,
    clock: systemClock,
    ...defined<object>(options),
    ...link,
    name,
    definition: { name, inputSchema },
    output: isUsable(outputSchema) ? outputSchema : undefined,
    idempotent,
    repeats: idempotent || options.repeatOnElicitation === true,
  }
  return {
    ...foreignTool({
      ...settings,
      name: legalName(name, options.prefix),
      description: description.slice(0, 10_000),
      schema: inputSchema,
      handler: (args, handlerOptions) => callServer(target, args, handlerOptions),
    }),
    // The server checks the arguments.
    input: anyValue,
  }
}

/**
 * A name that every provider takes: a letter or `_`, then letters, digits, `_` and `-`, at most 64 in all. A name that has to be changed
 * ends in a hash of the original, so that different names stay different, in every process alike.
 */
function legalName(name: string, prefix = ''): string {
  const full = `${prefix.replace(/[^_-]$/, '$&_')}${name}`
  const legal = full.replaceAll(/[^\w-]/g, '_').replace(/^[\d-]/, '_$&')
  if (legal === full && full.length <= 64) return full
  // FNV-1a.
  let hash = 0x81_1c_9d_c5
  for (let at = 0; at < full.length; at++) {
    hash = Math.imul(hash ^ full.charCodeAt(at), 0x01_00_01_93)
  }
  return `${legal.slice(0, 56)}_${(hash >>> 0).toString(36)}`
}
