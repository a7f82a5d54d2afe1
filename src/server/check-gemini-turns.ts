import { unknownName } from './gemini-words.ts'
import { objectOf, objectsOf, shown } from './json-kind.ts'
import { firstProblem, type RequestProblem } from './request-problem.ts'
import type { JsonObject } from '../types/json.ts'

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

/** What is wrong with the contents, each by itself and one after the other. */
export function geminiTurnsProblem(contents: readonly JsonObject[]): RequestProblem | undefined {
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
  const call = functionPart(part, 'functionCall')
  const response = functionPart(part, 'functionResponse')
  const [kind, named] =
    response === undefined ? ['function_call', call] : ['function_response', response]
  if (named === undefined || (typeof named['name'] === 'string' && named['name'] !== ''))
    return undefined
  return { message: `* GenerateContentRequest.${at}.${kind}.name: Name cannot be empty.\n` }
}

function functionPart(part: JsonObject, name: string): JsonObject | undefined {
  const value = part[name] ?? part[partData.get(name) ?? '']
  return value === undefined ? undefined : objectOf(value)
}

function countParts(content: JsonObject | undefined, name: string): number {
  if (content === undefined) return 0
  return partsOf(content).filter((part) => functionPart(part, name) !== undefined).length
}

/** Calls come after a user's turn or after responses; each is answered in the very next turn. */
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
