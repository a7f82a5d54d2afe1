import { ValidationError } from '../../core/errors/errors.ts'
import {
  describe,
  fine,
  flag,
  isPlainObject,
  join,
  listOf,
  maxDepth,
  must,
  nonNegativeInteger,
  oneOf,
  refuse,
  shapeOf,
  someText,
  text,
  within,
  type Check,
} from '../../core/schema/checks.ts'
import type { Issue } from '../../core/types/error-data.ts'
import { isObject } from '../../core/types/guards.ts'
import { roles } from '../../core/types/message.ts'
import type { ModelRequest } from '../../core/types/request.ts'
import { checkScript } from './check-script.ts'
import { toScript, type Script } from './script.ts'

/** The version of the cassettes that this release writes. Every version ever written stays readable. */
export const cassetteVersion = 1

/** Every format in which a call may have been recorded. They are those that `allm-ts/server` speaks. */
export const cassetteFormats = ['openai_chat', 'openai_responses', 'anthropic', 'gemini'] as const

/** The format in which a call was recorded. */
export type CassetteFormat = (typeof cassetteFormats)[number]

/**
 * Recorded calls of a model, in the order in which they began. It is JSON that a person can read and edit, and holds no key.
 *
 * `record` writes cassettes, `replay` plays them, `parseCassette` reads them from text.
 */
export interface Cassette {
  readonly version: typeof cassetteVersion
  readonly calls: readonly CassetteCall[]
}

/** One call of a model: what it was asked, and what it answered. */
export interface CassetteCall {
  /** The provider that answered, or that refused to. */
  readonly provider: string
  /** The model that was asked for. */
  readonly model?: string
  /** The format that was spoken, if it is known. */
  readonly format?: CassetteFormat
  /**
   * The request, without secrets. `[redacted]` in a text stands for any text. The bytes of images and files are not kept, only
   * their length and a digest.
   */
  readonly request: ModelRequest
  /** The answer, in the language that fakes play. */
  readonly script: Script
  /** The answer was not read to its end. The script has what came, and fails there. */
  readonly cut?: true
}

/**
 * Reads a cassette, of this version or any older one, from its text or from the value that `JSON.parse` made of it.
 *
 * It is not trusted: reading is linear in its length, and a problem throws a `ValidationError` with at most 50 problems and their
 * places. A cassette of a newer version is refused.
 */
export function parseCassette(input: unknown): Cassette {
  const value = typeof input === 'string' ? parsedText(input) : input
  const issues = cassetteIssues(value)
  if (issues.length > 0) throw invalidCassette(issues)
  // Just checked.
  const { version, calls: saved } = value as { version: Cassette['version']; calls: SavedCall[] }
  const calls: CassetteCall[] = []
  let count = 0
  for (const call of saved) {
    const request = wholeRequest(call.request, calls)
    count += request.messages.length
    if (count > maxMessages) throw invalidCassette([tooManyMessages])
    calls.push({ ...call, request, script: toScript(call.script) })
  }
  return { version, calls }
}

/** A call as it is written: of its request only what is new since an earlier call. */
interface SavedCall extends Omit<CassetteCall, 'request'> {
  readonly request: Partial<ModelRequest> & Pick<ModelRequest, 'messages'> & SavedPlace
}

interface SavedPlace {
  /** The place of the earlier call: its request comes first, and what is given here is added to its messages, or replaces its fields. */
  readonly after?: number
}

/** The fields of a request that may be left out when they are empty. */
export const requestDefaults: Pick<ModelRequest, 'tools' | 'providerOptions' | 'metadata'> = {
  tools: [],
  providerOptions: {},
  metadata: {},
}

function wholeRequest(
  { after, ...request }: SavedCall['request'],
  earlier: readonly CassetteCall[],
): ModelRequest {
  const base = after === undefined ? undefined : earlier[after]?.request
  if (base === undefined) return { ...requestDefaults, ...request }
  return { ...base, ...request, messages: [...base.messages, ...request.messages] }
}

/** How many messages the requests of a cassette may have together: a short text could name a great many. */
const maxMessages = 1_000_000

const tooManyMessages: Issue = {
  path: 'calls',
  problem: `must have at most ${maxMessages} messages in their requests`,
}

function parsedText(input: string): unknown {
  try {
    return JSON.parse(input)
  } catch (cause) {
    const isPath = /^[^\s{}[\]"]+\.\w+$/.test(input)
    const problem = isPath
      ? `is not JSON but the path ${describe(input)}: read the file, and pass its text`
      : 'is not JSON'
    throw new ValidationError('invalid_script', [{ path: '', problem }], { cause })
  }
}

/** The error of a cassette that is not legal. */
function invalidCassette(issues: readonly Issue[]): ValidationError {
  return new ValidationError(
    'invalid_script',
    issues.map(({ path, problem }) => ({
      path: path === '' ? 'the cassette' : path,
      problem,
    })),
  )
}

/** The problems of a cassette. `from` is the place of its first call, if it is a part of another one. */
export function cassetteIssues(value: unknown, from = 0): readonly Issue[] {
  if (!isPlainObject(value)) return refuse('an object with version and calls', value)
  const { version } = value
  if (typeof version === 'number' && Number.isInteger(version) && version > cassetteVersion) {
    const problem = `is ${version}: the cassette was written by a newer allm-ts; this release reads versions up to ${cassetteVersion}`
    return [{ path: 'version', problem }]
  }
  const issues = cassette(value)
  return issues.length > 0 ? atPlace(issues, from) : placeIssues(value['calls'])
}

function atPlace(issues: readonly Issue[], from: number): readonly Issue[] {
  if (from === 0) return issues
  return issues.map(({ path, problem }) => ({
    path: path.replace(/^calls\[(\d+)\]/, (_, at: string) => `calls[${Number(at) + from}]`),
    problem,
  }))
}

/** A request goes on from a call before its own. */
function placeIssues(calls: unknown): readonly Issue[] {
  // They were checked.
  const at = (calls as readonly SavedCall[]).findIndex(
    (call, index) => (call.request.after ?? -1) >= index,
  )
  const problem = 'must be the place of an earlier call'
  return at === -1 ? fine : [{ path: `calls[${at}].request.after`, problem }]
}

/** What readers of a request rely on. Whether a model would take it is not asked. */
const request: Check = (value) => {
  if (!isPlainObject(value)) return refuse('a request, which is an object', value)
  if (!isJson(value, maxDepth + requestDepth))
    return refuse(`JSON of at most ${maxDepth} levels`, value)
  return savedRequest(value)
}

/** A setting may have been left out of a recording, whatever its type is. */
function orRedacted(check: Check): Check {
  return (value) => (value === '[redacted]' ? fine : check(value))
}

const number: Check = orRedacted(must('a number', (value) => typeof value === 'number'))

const object: Check = orRedacted(must('an object', isPlainObject))

/** How deep the values of a request are in it: the arguments of a call of a message, or a part of its content. */
const requestDepth = 8

function isJson(value: unknown, depth: number): boolean {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (!Array.isArray(value) && !isPlainObject(value)) return false
  return depth > 0 && Object.values(value).every((member) => isJson(member, depth - 1))
}

const message: Check = (value) => {
  if (!isPlainObject(value)) return refuse('a message, which is an object', value)
  const { role, content, toolCalls = [] } = value
  const parts = typeof content === 'string' ? fine : listOf(typed)(content)
  const calls = listOf(named)(toolCalls)
  return join(
    within('role', oneOf(roles)(role)),
    join(within('content', parts), within('toolCalls', calls)),
  )
}

const typed: Check = must(
  'an object with a type',
  (value) => isObject(value) && typeof value['type'] === 'string',
)

const named: Check = must(
  'an object with a name',
  (value) => isObject(value) && typeof value['name'] === 'string',
)

/** The types of the fields. What a model takes is for its sender to know. */
const savedRequest: Check = shapeOf<SavedCall['request']>(
  { messages: listOf(message) },
  {
    after: nonNegativeInteger,
    tools: listOf(named),
    model: text,
    toolChoice: text,
    parallelToolCalls: orRedacted(flag),
    temperature: number,
    topP: number,
    topK: number,
    maxTokens: number,
    stopSequences: listOf(text),
    seed: number,
    presencePenalty: number,
    frequencyPenalty: number,
    reasoning: object,
    promptCache: orRedacted(
      must('true or an object', (value) => value === true || isPlainObject(value)),
    ),
    responseFormat: typed,
    providerOptions: object,
    metadata: object,
  },
)

const script: Check = (value) =>
  Array.isArray(value) ? checkScript(value) : refuse('a list of entries', value)

const wellFormedCall: Check = shapeOf<CassetteCall>(
  { provider: someText, request, script },
  {
    model: text,
    format: oneOf(cassetteFormats),
    cut: must('true, or absent', (value) => value === true),
  },
)

/** An answer that was cut has no end. */
const call: Check = (value) => {
  const issues = wellFormedCall(value)
  if (issues.length > 0 || !isObject(value) || value['cut'] !== true) return issues
  const entries: unknown = value['script']
  const at = Array.isArray(entries)
    ? entries.findIndex((entry: unknown) => Array.isArray(entry) && entry[0] === 'finish')
    : -1
  const problem = 'must not be in a call that was cut: leave out cut, or this entry'
  return at === -1 ? fine : [{ path: `script[${at}]`, problem }]
}

const cassette: Check = shapeOf<Cassette>(
  {
    version: must(`the number ${cassetteVersion}`, (value) => value === cassetteVersion),
    calls: listOf(call),
  },
  {},
)
