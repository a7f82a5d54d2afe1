import { ValidationError } from '../errors/errors.ts'
import {
  fine,
  isPlainObject,
  join,
  listOf,
  maxDepth,
  must,
  oneOf,
  refuse,
  shapeOf,
  someText,
  text,
  within,
  type Check,
} from '../schema/checks.ts'
import type { Issue } from '../types/error-data.ts'
import { isObject } from '../types/guards.ts'
import type { ModelRequest } from '../types/request.ts'
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
  const { version, calls } = value as Cassette
  return { version, calls: calls.map(withEntries) }
}

/** A person may have written a text for an entry. */
function withEntries(call: CassetteCall): CassetteCall {
  return { ...call, script: toScript(call.script) }
}

function parsedText(input: string): unknown {
  try {
    return JSON.parse(input)
  } catch (cause) {
    throw new ValidationError('invalid_script', [{ path: '', problem: 'is not JSON' }], { cause })
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

/** The problems of a cassette. */
export function cassetteIssues(value: unknown): readonly Issue[] {
  if (!isPlainObject(value)) return refuse('an object with version and calls', value)
  const { version } = value
  if (typeof version === 'number' && Number.isInteger(version) && version > cassetteVersion) {
    const problem = `is ${version}: the cassette was written by a newer allm-ts; this release reads versions up to ${cassetteVersion}`
    return [{ path: 'version', problem }]
  }
  return cassette(value)
}

/** What readers of a request rely on. Whether a model would take it is not asked. */
const request: Check = (value) => {
  if (!isPlainObject(value)) return refuse('a request, which is an object', value)
  if (!isJson(value, maxDepth + requestDepth))
    return refuse(`JSON of at most ${maxDepth} levels`, value)
  const { messages, tools = [] } = value
  return join(within('messages', listOf(message)(messages)), within('tools', listOf(named)(tools)))
}

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
    within('role', text(role)),
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

const script: Check = (value) =>
  Array.isArray(value) ? checkScript(value) : refuse('a list of entries', value)

const cassette: Check = shapeOf<Cassette>(
  {
    version: must(`the number ${cassetteVersion}`, (value) => value === cassetteVersion),
    calls: listOf(
      shapeOf<CassetteCall>(
        { provider: someText, request, script },
        {
          model: text,
          format: oneOf(cassetteFormats),
          cut: must('true, or absent', (value) => value === true),
        },
      ),
    ),
  },
  {},
)
