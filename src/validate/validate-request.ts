import type { Issue } from '../data/error-data.ts'
import { fine, join, refuse, remembered, within } from './check.ts'
import { isPlainObject } from './is-plain-object.ts'
import { requestFields, responseFormat } from './request-fields.ts'
import { listOf, shape } from './shape.ts'
import { transcriptIssues } from './transcript.ts'
import { validateMessage } from './validate-message.ts'
import { repeatedNames, toolChoiceWords, toolSpec } from './validate-tool.ts'

const messages = listOf(remembered(validateMessage))
const tools = listOf(toolSpec)

const { providerOptions, metadata, ...optionalFields } = requestFields

const request = shape(
  {
    messages: (value) =>
      Array.isArray(value) && value.length === 0
        ? refuse('a list of at least one message', value)
        : messages(value),
    tools: (value) => join(tools(value), repeatedNames(value)),
    providerOptions,
    metadata,
  },
  { ...optionalFields, responseFormat },
)

/**
 * The problems of a request: of each field, each message and tool, and of calls and answers that do not match.
 *
 * A message that was legal once is not looked into again, so the cost of a growing history stays small.
 */
export function validateRequest(value: unknown): readonly Issue[] {
  const issues = request(value)
  if (!isPlainObject(value)) return issues
  const conversation = Array.isArray(value['messages']) ? transcriptIssues(value['messages']) : fine
  return join(join(issues, conversation), choiceIssues(value))
}

function choiceIssues(value: Readonly<Record<string, unknown>>): readonly Issue[] {
  const { toolChoice, tools: offered } = value
  if (typeof toolChoice !== 'string' || !Array.isArray(offered)) return fine
  if (toolChoice === 'required' && offered.length === 0) {
    return [{ path: 'toolChoice', problem: 'is required, but the request has no tools' }]
  }
  const known = offered.some((tool: unknown) => isPlainObject(tool) && tool['name'] === toolChoice)
  if (known || toolChoice === '' || toolChoiceWords.includes(toolChoice)) return fine
  const words = toolChoiceWords.join(', ')
  return within('toolChoice', refuse(`${words} or the name of a tool of the request`, toolChoice))
}
