import {
  adapterErrorReasons,
  engineErrorReasons,
  imageAdapterErrorReasons,
  sessionErrorReasons,
  streamErrorReasons,
  toolErrorReasons,
  ValidationError,
  validationErrorReasons,
} from '../../core/errors/errors.ts'
import {
  assertValid,
  positiveInteger,
  describe,
  fine,
  flag,
  isPlainObject,
  join,
  json,
  jsonObject,
  listOf,
  must,
  nearest,
  oneOf,
  refuse,
  shape,
  shapeOf,
  someText,
  text,
  within,
  type Check,
} from '../../core/schema/checks.ts'
import {
  source,
  toolCall,
  validateImage,
  validateMessage,
  warning,
} from '../../core/schema/validate.ts'
import {
  errorKinds,
  type CauseData,
  type ErrorKind,
  type Issue,
} from '../../core/types/error-data.ts'
import { finishReasons, type ModelResponse, usageFields } from '../../core/types/response.ts'
import {
  isScriptCursor,
  isTag,
  toScript,
  unknownTag,
  vocabularyOf,
  type ScriptedBlock,
  type ScriptedFailure,
  type ScriptedFinish,
  type ScriptedReasoning,
  type ScriptedStart,
  type ScriptedTextEnd,
  type ScriptedToolCallDelta,
  type ScriptEntry,
  type ScriptInput,
  type ScriptOptions,
} from './script.ts'

/**
 * Checks the scripts in the options of a fake. `fake` calls it.
 *
 * Throws a `ValidationError` `invalid_script`. It first checks, in this order, that `script` and `scripts` are not both given,
 * `script` is a list, `scripts` is a list of lists, `streamScript` is one or the other, and `scriptCursor` is a cursor. Then it
 * reports all problems of all entries at once, each with its path.
 */
export function validateScript(options: ScriptOptions): void {
  const { script, scripts, streamScript, scriptCursor }: Unchecked = options
  if (script !== undefined && scripts !== undefined) {
    refuseScript(
      '',
      'script and scripts are both given; use script for one call, or scripts for one list per call',
    )
  }
  if (script !== undefined && !Array.isArray(script) && typeof script !== 'function') {
    refuseScript('script', `must be a list of entries, not ${describe(script)}`)
  }
  if (scripts !== undefined) listOfLists('scripts', scripts)
  if (streamScript !== undefined && !isFlat(streamScript)) listOfLists('streamScript', streamScript)
  if (scriptCursor !== undefined && !isScriptCursor(scriptCursor)) {
    refuseScript(
      'scriptCursor',
      `must be made by createScriptCursor(), not ${describe(scriptCursor)}`,
    )
  }
  // A list often holds the same script many times.
  const known = new Map<readonly unknown[], readonly Issue[]>()
  let issues = fine
  for (const [path, list] of namedScripts(options)) {
    const own = known.get(list) ?? checkScript(list)
    known.set(list, own)
    issues = join(issues, at(path, own))
  }
  assertValid('invalid_script', issues)
}

/** The options before they are checked. */
type Unchecked = { readonly [K in keyof ScriptOptions]?: unknown }

/** Whether a `streamScript` is a single script: a list of entries, which begin with their tag. */
export function isFlat(list: unknown): boolean {
  return (
    Array.isArray(list) &&
    list.every((entry) => typeof entry === 'string' || (Array.isArray(entry) && isEntry(entry)))
  )
}

function isEntry(entry: readonly unknown[]): boolean {
  return typeof entry[0] === 'string'
}

function listOfLists(path: string, value: unknown): void {
  if (!Array.isArray(value)) refuseScript(path, `must be a list of lists, not ${describe(value)}`)
  for (const [index, list] of (value as readonly unknown[]).entries()) {
    const place = `${path}[${index}]`
    if (!Array.isArray(list))
      refuseScript(place, `must be a list of entries, not ${describe(list)}`)
    const [tag, ...rest] = list as readonly unknown[]
    if (isTag(tag) && rest.length > 0) {
      refuseScript(place, 'is an entry, not a list of entries; use script for a single call')
    }
  }
}

function refuseScript(path: string, problem: string): never {
  throw new ValidationError('invalid_script', [{ path, problem }])
}

function namedScripts(options: ScriptOptions): readonly (readonly [string, readonly unknown[]])[] {
  const { script, scripts = [], streamScript = [] } = options
  const calls: [string, readonly unknown[]][] = []
  const add = (path: string, list: unknown): void => {
    if (Array.isArray(list)) calls.push([path, list])
  }
  add('script', script)
  scripts.forEach((list, index) => add(`scripts[${index}]`, list))
  if (isFlat(streamScript)) add('streamScript', streamScript)
  else [...streamScript].forEach((list, index) => add(`streamScript[${index}]`, list))
  return calls
}

function at(place: string, issues: readonly Issue[]): readonly Issue[] {
  return issues.map(({ path, problem }) => ({ path: place + path, problem }))
}

/** The problems of one call's script: those of its entries, and then those of the entries together. */
export function checkScript(script: readonly unknown[]): readonly Issue[] {
  let issues = fine
  for (let index = 0; index < script.length; index++) {
    issues = join(issues, within(index, checkEntry(script[index])))
  }
  if (issues.length > 0) return issues
  if (script.length > 1 && isTag(script[0])) {
    return [{ path: '', problem: 'is an entry, not a list of entries; put it into a list' }]
  }
  // Every entry has passed its own check.
  const entries: readonly (readonly unknown[])[] = toScript(script as ScriptInput)
  const mixed = mixedVocabularies(entries)
  return mixed.length > 0 ? mixed : join(checkEnds(entries), checkCalls(entries))
}

/** The first entry that belongs to only one vocabulary decides for the whole script. */
function mixedVocabularies(entries: readonly (readonly unknown[])[]): readonly Issue[] {
  let first: readonly unknown[] | undefined
  for (const [index, entry] of entries.entries()) {
    const vocabulary = vocabularyOf(entry)
    if (vocabulary === 'shared') continue
    first ??= entry
    if (vocabulary === vocabularyOf(first)) continue
    const problem = `mixes two vocabularies: ${named(entry)} cannot be in the same script as ${named(first)}`
    return within(index, [{ path: '', problem }])
  }
  return fine
}

function named(entry: readonly unknown[]): string {
  const of = vocabularyOf(entry) === 'harness' ? 'of harness scripts' : 'of scripts'
  return `${String(entry[0])} (${of})`
}

/** `finish` and `failure` are the last entry, `preflight_error`, `headers` and `start` the first, and `ok` the only one. */
function checkEnds(entries: readonly (readonly unknown[])[]): readonly Issue[] {
  for (const [index, [tag]] of entries.entries()) {
    if ((tag === 'finish' || tag === 'failure') && index < entries.length - 1) {
      return within(index + 1, [{ path: '', problem: `comes after ${tag}, which ends the call` }])
    }
    if (tag === 'start' && entries.slice(0, index).some(([before]) => !early.has(before))) {
      const problem = 'says what the answer begins with, so it must come first'
      return within(index, [{ path: '', problem }])
    }
    if (tag === 'ok' && entries.length > 1) {
      const problem =
        'is a whole call, so it must be the only entry; use scripts for one list per call'
      return within(index, [{ path: '', problem }])
    }
    if (tag === 'headers' && index > 0) {
      const problem = 'sends the status and the headers, so it must come first'
      return within(index, [{ path: '', problem }])
    }
    if (tag === 'preflight_error' && index > 0) {
      const problem =
        'fails the call before its first event, so it must come first; use error_event for later failures'
      return within(index, [{ path: '', problem }])
    }
  }
  return fine
}

/** What may come before the start of an answer. */
const early: ReadonlySet<unknown> = new Set(['headers', 'delay', 'sleep'])

/** A tool call is completed once, and no entry adds to it afterwards. */
function checkCalls(entries: readonly (readonly unknown[])[]): readonly Issue[] {
  const completed = new Set<unknown>()
  let issues = fine
  for (const [index, [tag, call]] of entries.entries()) {
    if ((tag !== 'tool_call' && tag !== 'tool_call_delta') || !isPlainObject(call)) continue
    const { id } = call
    if (completed.has(id)) {
      const problem = `comes after the tool call ${String(id)} was completed; use another id`
      issues = join(issues, within(index, [{ path: '', problem }]))
    }
    if (tag === 'tool_call') completed.add(id)
  }
  return issues
}

/** The problems of one entry: its tag, its length, and its elements. */
function checkEntry(entry: unknown): readonly Issue[] {
  if (typeof entry === 'string') return fine
  if (!Array.isArray(entry) || typeof entry[0] !== 'string') return notAnEntry(entry)
  const tag: unknown = entry[0]
  return isTag(tag) ? checks[tag](entry) : [{ path: '', problem: unknownTag(tag) }]
}

function notAnEntry(entry: unknown): readonly Issue[] {
  if (Array.isArray(entry) && Array.isArray(entry[0])) {
    return [
      {
        path: '',
        problem: 'is a list of entries, not an entry; use scripts for one list per call',
      },
    ]
  }
  return [{ path: '', problem: 'must be an entry, such as ["text", "hello"]' }]
}

const milliseconds: Check = must(
  'a number of milliseconds, 0 or more',
  (value) => typeof value === 'number' && Number.isFinite(value) && value >= 0,
)

const scriptedToolCall: Check = shape(
  { id: someText, name: someText },
  { arguments: jsonObject, rawArguments: text, opaque: json },
)

const toolCallDelta: Check = shapeOf<ScriptedToolCallDelta>(
  { id: someText },
  { argumentsDelta: text, name: someText },
)

const blockIndex: Check = must(
  'a finite number or null',
  (value) => value === null || Number.isFinite(value),
)

const term: Check = tuple([must('a reason or any other value', (value) => value !== undefined)])

/** A usage in the field names of this library. An unknown field is refused by name, with the field that was probably meant. */
export const usageCheck: Check = (value) => {
  if (!isPlainObject(value)) return refuse('an object of token counts', value)
  let issues = fine
  for (const [key, member] of Object.entries(value)) {
    if (key === 'extra') issues = join(issues, within(key, jsonObject(member)))
    else if (isField(key)) issues = join(issues, within(key, tokens(member)))
    else issues = join(issues, unknownField(key))
  }
  return issues
}

/** A scripted response: any part of a `ModelResponse`. */
const responseCheck: Check = shapeOf<Partial<ModelResponse>>(
  {},
  {
    requestId: someText,
    id: text,
    model: text,
    provider: text,
    message: validateMessage,
    outputText: text,
    toolCalls: listOf(toolCall),
    finishReason: oneOf(finishReasons),
    rawFinishReason: text,
    usage: usageCheck,
    warnings: listOf(shape({ setting: text, problem: text })),
    error: jsonObject,
    metadata: jsonObject,
  },
)

/**
 * The details of a scripted failure. The fields of errors must have the right type; any other field is kept as metadata, unless
 * it is the field of an error in another spelling.
 */
const errorDetails: Check = (value) => {
  let issues = jsonObject(value)
  if (issues.length > 0 || !isPlainObject(value)) return issues
  for (const [key, member] of Object.entries(value)) {
    const check = isDetail(key) ? detailChecks[key] : undefined
    if (check !== undefined) issues = join(issues, within(key, check(member)))
    else if (isMisspelt(key)) issues = join(issues, [{ path: '', problem: misspelt(key) }])
  }
  return issues
}

/** The reason of a scripted provider failure. */
const adapterReason: Check = reasonCheck(adapterErrorReasons)

/** The reason of a scripted transport failure. */
const streamReason: Check = reasonCheck(streamErrorReasons)

/** The check of an entry, by its tag. */
const checks: Readonly<Record<ScriptEntry[0], Check>> = {
  start: tuple([
    shapeOf<ScriptedStart>(
      {},
      { id: text, model: text, usage: usageCheck, warnings: listOf(warning) },
    ),
  ]),
  text: tuple([text], [shapeOf<ScriptedBlock>({}, { index: blockIndex, more: flag })]),
  text_end: tuple(
    [],
    [shapeOf<ScriptedTextEnd>({}, { index: blockIndex, text, sources: listOf(source) })],
  ),
  reasoning: tuple(
    [text],
    [
      shapeOf<ScriptedReasoning>(
        {},
        { opaque: json, item: jsonObject, index: blockIndex, more: flag, text },
      ),
    ],
  ),
  image: tuple([validateImage]),
  tool_call: tuple([scriptedToolCall]),
  tool_call_delta: tuple([toolCallDelta]),
  usage: tuple([usageCheck]),
  raw_chunk: tuple([json]),
  finish: tuple(
    [oneOf(finishReasons)],
    [
      shapeOf<ScriptedFinish>(
        {},
        {
          open: flag,
          rawFinishReason: text,
          metadata: jsonObject,
          sources: listOf(source),
          message: validateMessage,
        },
      ),
    ],
  ),
  headers: tuple([]),
  delay: tuple([milliseconds]),
  sleep: tuple([milliseconds]),
  ok: tuple([responseCheck]),
  text_delta: tuple([text]),
  preflight_error: failure(adapterReason, { location: someText }),
  error_event: failure(adapterReason, { open: flag }),
  stream_error: failure(streamReason, { by: oneOf(['end', 'reset']) }),
  failure: (entry) => tuple([text, failureFields])(entry).concat(kindIssues(entry)),
  error: (entry) =>
    (Array.isArray(entry) && entry.length > 2 ? failure(adapterReason) : term)(entry),
}

/** The reason of a failure is one of its kind. */
function kindIssues(entry: unknown): readonly Issue[] {
  if (!Array.isArray(entry) || !isPlainObject(entry[2])) return fine
  const { kind = 'adapter' } = entry[2]
  const reasons = typeof kind === 'string' && isErrorKind(kind) ? reasonsOf[kind] : undefined
  return reasons === undefined ? fine : within(1, reasonCheck(reasons)(entry[1]))
}

function isErrorKind(kind: string): kind is ErrorKind {
  return Object.hasOwn(reasonsOf, kind)
}

const reasonsOf: Readonly<Record<ErrorKind, readonly string[]>> = {
  adapter: adapterErrorReasons,
  stream: streamErrorReasons,
  tool: toolErrorReasons,
  engine: engineErrorReasons,
  validation: validationErrorReasons,
  session: sessionErrorReasons,
  image_adapter: imageAdapterErrorReasons,
}

/** A failure, and the fields of its details that are about the connection. */
function failure(reason: Check, connection: Readonly<Record<string, Check>> = {}): Check {
  const details: Check = (value) => {
    let issues = errorDetails(value)
    if (!isPlainObject(value)) return issues
    for (const [field, check] of Object.entries(connection)) {
      const member = value[field]
      if (member !== undefined) issues = join(issues, within(field, check(member)))
    }
    return issues
  }
  return tuple([reason, details])
}

/** An entry whose elements after the tag pass these checks. The optional ones may be left out. */
function tuple(required: readonly Check[], optional: readonly Check[] = []): Check {
  const all = [...required, ...optional]
  const least = required.length + 1
  const most = all.length + 1
  return (value) => {
    // `checkEntry` passes lists only.
    const items = value as readonly unknown[]
    if (items.length < least || items.length > most) {
      const wanted = least === most ? `${most}` : `${least} or ${most}`
      return [{ path: '', problem: `must have ${wanted} elements, not ${items.length}` }]
    }
    let issues = fine
    for (let index = 1; index < items.length; index++) {
      issues = join(issues, within(index, all[index - 1]?.(items[index]) ?? fine))
    }
    return issues
  }
}

const retryAfter: Check = must(
  'a number of milliseconds',
  (value) => typeof value === 'number' && value >= 0,
)

const detailChecks = {
  message: text,
  status: positiveInteger,
  retryAfterMs: retryAfter,
  retryable: flag,
  provider: text,
  requestId: text,
  eventIndex: must('a number of events', (value) => typeof value === 'number' && value >= 0),
  metadata: jsonObject,
  cause: json,
} satisfies Readonly<Record<string, Check>>

const { requestId: _ownId, ...failureChecks } = detailChecks

const kindFields = {
  kind: oneOf(errorKinds),
  issues: listOf(shape({ path: text, problem: text })),
}

const failureFields: Check = shape({}, {
  ...failureChecks,
  ...kindFields,
  causes: listOf(
    shapeOf<CauseData>(
      { kind: oneOf(errorKinds), reason: text, message: text },
      { ...failureChecks, ...kindFields, requestId: text, toolName: text, toolCallId: text },
    ),
  ),
} satisfies Readonly<Record<keyof ScriptedFailure, Check>>)

function isDetail(key: string): key is keyof typeof detailChecks {
  return Object.hasOwn(detailChecks, key)
}

/** The fields that an error takes from its details; the others are its metadata. */
export const detailFields: readonly string[] = Object.keys(detailChecks)

function isMisspelt(key: string): boolean {
  const spelling = key.toLowerCase().replaceAll(/[_-]/g, '')
  return detailFields.some((field) => field.toLowerCase() === spelling)
}

function misspelt(key: string): string {
  return `has no field ${key}; did you mean ${nearest(key, detailFields) ?? 'another'}?`
}

function reasonCheck(reasons: readonly string[]): Check {
  return (value) => {
    if (reasons.some((reason) => reason === value)) return fine
    const meant = typeof value === 'string' ? nearest(value, reasons) : undefined
    const advice = meant === undefined ? '' : `; did you mean ${meant}?`
    const problem = `must be one of ${reasons.join(', ')}, not ${JSON.stringify(value)}${advice}`
    return [{ path: '', problem }]
  }
}

const tokens: Check = must(
  'a number of tokens',
  (value) => typeof value === 'number' && Number.isFinite(value) && value >= 0,
)

function isField(key: string): boolean {
  return usageFields.some((field) => field === key)
}

function unknownField(key: string): readonly Issue[] {
  const meant = providerNames.get(key) ?? nearest(key, [...usageFields, 'extra'])
  const legal = `legal are ${[...usageFields, 'extra'].join(', ')}`
  const advice = meant === undefined ? legal : `did you mean ${meant}? ${legal}`
  return [{ path: '', problem: `has no field ${key}; ${advice}` }]
}

/** The providers' names of fields, where they differ too much from ours to be guessed. */
const providerNames: ReadonlyMap<string, string> = new Map([
  ['prompt_tokens', 'inputTokens'],
  ['promptTokens', 'inputTokens'],
  ['promptTokenCount', 'inputTokens'],
  ['completion_tokens', 'outputTokens'],
  ['completionTokens', 'outputTokens'],
  ['candidatesTokenCount', 'outputTokens'],
  ['cache_read_input_tokens', 'cachedInputTokens'],
  ['cache_creation_input_tokens', 'cacheWriteInputTokens'],
  ['thoughtsTokenCount', 'reasoningTokens'],
])
