import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import {
  firstProblem,
  objectOf,
  objectsOf,
  paramProblem,
  shown,
  type ParamTable,
  type RequestProblem,
} from './check-params.ts'

const requestNames = geminiNames({
  model: ['string'],
  contents: ['array', 'object'],
  systemInstruction: ['object', 'string'],
  tools: ['array', 'object'],
  toolConfig: ['object'],
  safetySettings: ['array'],
  generationConfig: ['object'],
  cachedContent: ['string'],
  labels: ['object'],
  serviceTier: ['string'],
  store: ['boolean'],
})

const configNames = geminiNames({
  candidateCount: ['integer'],
  stopSequences: ['array', 'string'],
  maxOutputTokens: ['integer'],
  temperature: ['number'],
  topP: ['number'],
  topK: ['number'],
  seed: ['integer'],
  responseMimeType: ['string'],
  responseSchema: ['object'],
  responseJsonSchema: [],
  responseJsonSchemaOrdered: [],
  presencePenalty: ['number'],
  frequencyPenalty: ['number'],
  responseLogprobs: ['boolean'],
  logprobs: ['integer'],
  enableEnhancedCivicAnswers: ['boolean'],
  responseModalities: ['array', 'string'],
  speechConfig: ['object'],
  thinkingConfig: ['object'],
  imageConfig: ['object'],
  mediaResolution: ['string'],
  audioTimestamp: ['boolean'],
})

/**
 * Checks a generateContent request: unknown names, wrong kinds, invalid functions and schemas, the order of turns, and what the
 * model does not take.
 */
export function checkGemini(
  body: JsonObject,
  model = '',
  onVertex = false,
): RequestProblem | undefined {
  const config = objectOf(either(body, 'generationConfig', 'generation_config'))
  const tools = listOf(body['tools'])
  return (
    paramProblem(body, requestNames, {
      nullable: true,
      unknown: (name) => unknownName(name),
      wrongKind: (name, _, actual) => wrongKind(name, actual),
    }) ??
    paramProblem(config, configNames, {
      nullable: true,
      unknown: (name) => unknownName(name, 'generation_config'),
      wrongKind: (name, _, actual) => wrongKind(`generation_config.${name}`, actual),
    }) ??
    (onVertex ? vertexProblem(body) : undefined) ??
    geminiTurnsProblem(listOf(body['contents'])) ??
    firstProblem(tools, toolProblem) ??
    duplicateProblem(tools) ??
    formatProblem(tools, config, model) ??
    schemaProblem(
      either(config, 'responseSchema', 'response_schema'),
      'generation_config.response_schema',
    ) ??
    rangeProblem(config)
  )
}

/** What Vertex AI does not have, or demands: names of the Gemini API alone, and the role of each turn. */
function vertexProblem(body: JsonObject): RequestProblem | undefined {
  const toolConfig = objectOf(either(body, 'toolConfig', 'tool_config'))
  const invocations = 'includeServerSideToolInvocations'
  const foreign = ['model', 'serviceTier', 'service_tier', 'store'].find((name) => name in body)
  if (foreign !== undefined) return unknownName(foreign)
  if (invocations in toolConfig) return unknownName(invocations, 'tool_config')
  return firstProblem(listOf(body['contents']), ({ role }) =>
    typeof role === 'string' ? undefined : { message: 'Please use a valid role: user, model.' },
  )
}

/** Google accepts a single value in place of a list. */
function listOf(value: JsonValue | undefined): readonly JsonObject[] {
  return objectsOf(
    Array.isArray(value) || value === undefined || value === null ? (value ?? []) : [value],
  )
}

function either(value: JsonObject, camel: string, snake: string): JsonValue | undefined {
  return value[camel] ?? value[snake]
}

function declarations(tool: JsonObject): readonly JsonObject[] {
  return listOf(either(tool, 'functionDeclarations', 'function_declarations'))
}

const functionName = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/

function toolProblem(tool: JsonObject, toolIndex: number): RequestProblem | undefined {
  return firstProblem(declarations(tool), ({ name, parameters }, index) => {
    const at = `tools[${toolIndex}].function_declarations[${index}]`
    if (typeof name !== 'string' || !functionName.test(name)) {
      const rule =
        'Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.'
      return { message: `* GenerateContentRequest.${at}.name: ${rule}\n` }
    }
    return schemaProblem(parameters, `${at}.parameters`)
  })
}

function duplicateProblem(tools: readonly JsonObject[]): RequestProblem | undefined {
  const seen = new Set<string>()
  return firstProblem(tools.flatMap(declarations), ({ name }) => {
    if (typeof name !== 'string') return undefined
    if (seen.has(name)) return { message: `Duplicate function declaration found: ${name}` }
    seen.add(name)
    return undefined
  })
}

/** Models before Gemini 3 do not take functions and JSON as the type of the answer in one request. */
function formatProblem(
  tools: readonly JsonObject[],
  config: JsonObject,
  model: string,
): RequestProblem | undefined {
  const type = either(config, 'responseMimeType', 'response_mime_type')
  const isOlder = /gemini-[12](?:[.-]|$)/.test(model)
  if (!isOlder || type !== 'application/json' || tools.length === 0) return undefined
  const what = tools.some((tool) => declarations(tool).length > 0) ? 'Function calling' : 'Tool use'
  return { message: `${what} with a response mime type: 'application/json' is unsupported` }
}

function rangeProblem(config: JsonObject): RequestProblem | undefined {
  const { temperature } = config
  if (typeof temperature !== 'number' || (temperature >= 0 && temperature <= 2)) return undefined
  const message = `* GenerateContentRequest.generation_config.temperature: temperature must be in the range [0.0, 2.0].\n`
  return { message }
}

const partData = new Map([
  ['functionCall', 'function_call'],
  ['functionResponse', 'function_response'],
  ['inlineData', 'inline_data'],
  ['fileData', 'file_data'],
  ['executableCode', 'executable_code'],
  ['codeExecutionResult', 'code_execution_result'],
  ['toolCall', 'tool_call'],
  ['toolResponse', 'tool_response'],
])

const partFacts = new Set([
  'text',
  'thought',
  'thoughtSignature',
  'thought_signature',
  'videoMetadata',
  'video_metadata',
  'partMetadata',
  'part_metadata',
  'mediaResolution',
  'media_resolution',
])

/** Checks each content, then their order. */
function geminiTurnsProblem(contents: readonly JsonObject[]): RequestProblem | undefined {
  if (contents.length === 0)
    return { message: '* GenerateContentRequest.contents: contents is not specified\n' }
  return firstProblem(contents, contentProblem) ?? orderProblem(contents)
}

function contentProblem(content: JsonObject, index: number): RequestProblem | undefined {
  const at = `contents[${index}]`
  const extra = Object.keys(content).find((name) => name !== 'role' && name !== 'parts')
  if (extra !== undefined) return unknownName(extra, at)
  const { role } = content
  if (role !== undefined && role !== null && !['user', 'model', 'function'].includes(shown(role)))
    return { message: 'Please use a valid role: user, model.' }
  const parts = partsOf(content)
  if (parts.length === 0)
    return { message: `* GenerateContentRequest.${at}.parts: contents.parts must not be empty.\n` }
  return firstProblem(parts, (part, i) => partProblem(part, `${at}.parts[${i}]`))
}

function partsOf(content: JsonObject): readonly JsonObject[] {
  const { parts } = content
  return objectsOf(Array.isArray(parts) ? parts : parts === undefined ? [] : [parts])
}

function partProblem(part: JsonObject, at: string): RequestProblem | undefined {
  const names = [...partData].flat()
  const extra = Object.keys(part).find((name) => !names.includes(name) && !partFacts.has(name))
  if (extra !== undefined) return unknownName(extra, at)
  const data = ['text', ...names].filter((name) => part[name] !== undefined)
  if (data.length !== 1) {
    const rule = "required oneof field 'data' must have one initialized field"
    return { message: `* GenerateContentRequest.${at}.data: ${rule}\n` }
  }
  const media = mediaProblem(part, at)
  if (media !== undefined) return media
  const call = functionPart(part, 'functionCall')
  const response = functionPart(part, 'functionResponse')
  const [kind, named] =
    response === undefined ? ['function_call', call] : ['function_response', response]
  if (named === undefined || (typeof named['name'] === 'string' && named['name'] !== ''))
    return undefined
  return { message: `* GenerateContentRequest.${at}.${kind}.name: Name cannot be empty.\n` }
}

/** Inline data has a type that the models read; a file has an address. */
function mediaProblem(part: JsonObject, at: string): RequestProblem | undefined {
  const inline = functionPart(part, 'inlineData')
  const file = functionPart(part, 'fileData')
  if (file !== undefined && (file['fileUri'] ?? file['file_uri']) === undefined) {
    return {
      message: `* GenerateContentRequest.${at}.file_data.file_uri: file_uri must not be empty.\n`,
    }
  }
  if (inline === undefined) return undefined
  const mimeType = shown(inline['mimeType'] ?? inline['mime_type'])
  if (
    /^(?:(?:image|audio|video|text)\/|application\/(?:pdf|x-javascript|x-python|rtf)$)/.test(
      mimeType,
    )
  )
    return undefined
  return { message: `Unsupported MIME type: ${mimeType}` }
}

function functionPart(part: JsonObject, name: string): JsonObject | undefined {
  const value = part[name] ?? part[partData.get(name) ?? '']
  return value === undefined ? undefined : objectOf(value)
}

function countParts(content: JsonObject | undefined, name: string): number {
  if (content === undefined) return 0
  return partsOf(content).filter((part) => functionPart(part, name) !== undefined).length
}

/** Calls must follow a user turn or responses, and each needs its response in the next turn. */
function orderProblem(contents: readonly JsonObject[]): RequestProblem | undefined {
  return firstProblem(contents, (content, index) => {
    const before = contents[index - 1]
    const calls = countParts(content, 'functionCall')
    const responses = countParts(content, 'functionResponse')
    const asked = countParts(before, 'functionCall')
    if (calls > 0 && (before === undefined || before['role'] === 'model'))
      return {
        message:
          'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
      }
    if (responses > 0 && asked === 0)
      return {
        message:
          'Please ensure that function response turn comes immediately after a function call turn.',
      }
    const open = calls > 0 && index === contents.length - 1
    if (responses === asked && !open) return undefined
    return {
      message:
        'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
    }
  })
}

function unknownName(name: string, at?: string): RequestProblem {
  const place = at === undefined ? '' : ` at '${at}'`
  return {
    message: `Invalid JSON payload received. Unknown name "${name}"${place}: Cannot find field.`,
  }
}

function wrongKind(place: string, actual: string): RequestProblem {
  return { message: `Invalid value at '${snake(place)}' (${actual})` }
}

/** A table with both spellings: Google accepts names in camel case and in snake case. */
function geminiNames(table: ParamTable): ParamTable {
  return Object.fromEntries(
    Object.entries(table).flatMap(([name, kinds]) => [
      [name, kinds],
      [snake(name), kinds],
    ]),
  )
}

function snake(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** The keywords of a Gemini schema, a subset of those of OpenAPI. */
const keywords = new Set(
  [
    'type format title description nullable enum items maxItems minItems properties required',
    'minProperties maxProperties minimum maximum minLength maxLength pattern example anyOf',
    'propertyOrdering default max_items min_items min_properties max_properties min_length',
    'max_length any_of property_ordering',
  ].flatMap((line) => line.split(' ')),
)

/** The problem of the first unknown keyword in a schema, nested schemas included. */
function schemaProblem(schema: JsonValue | undefined, at: string): RequestProblem | undefined {
  const members = objectOf(schema)
  const unknown = Object.keys(members).find((name) => !keywords.has(name))
  if (unknown !== undefined) return unknownName(unknown, at)
  const { items, properties, anyOf, any_of } = members
  return (
    (items === undefined ? undefined : schemaProblem(items, `${at}.items`)) ??
    firstProblem(Object.values(objectOf(properties)), (property, index) =>
      schemaProblem(property, `${at}.properties[${index}].value`),
    ) ??
    firstProblem(objectsOf(anyOf ?? any_of), (option, index) =>
      schemaProblem(option, `${at}.any_of[${index}]`),
    )
  )
}
