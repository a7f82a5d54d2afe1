import { geminiTurnsProblem } from './check-gemini-turns.ts'
import { schemaProblem } from './gemini-schema-problem.ts'
import { geminiNames, unknownName, wrongKind } from './gemini-words.ts'
import { objectOf, objectsOf } from './json-kind.ts'
import { paramProblem } from './param-problem.ts'
import { firstProblem, type RequestProblem } from './request-problem.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'

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

/** What generateContent refuses: unknown names, wrong kinds, bad function names and schemas, and turns that do not fit. */
export function checkGemini(body: JsonObject): RequestProblem | undefined {
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
    geminiTurnsProblem(listOf(body['contents'])) ??
    firstProblem(tools, toolProblem) ??
    duplicateProblem(tools) ??
    schemaProblem(
      either(config, 'responseSchema', 'response_schema'),
      'generation_config.response_schema',
    ) ??
    rangeProblem(config)
  )
}

/** Google's reader takes a single value where a list is meant. */
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

function rangeProblem(config: JsonObject): RequestProblem | undefined {
  const { temperature } = config
  if (typeof temperature !== 'number' || (temperature >= 0 && temperature <= 2)) return undefined
  const message = `* GenerateContentRequest.generation_config.temperature: temperature must be in the range [0.0, 2.0].\n`
  return { message }
}
