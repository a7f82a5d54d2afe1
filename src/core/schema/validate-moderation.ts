import type { Issue } from '../types/error-data.ts'
import { isObject } from '../types/guards.ts'
import type { ModerationRequest, ModerationResult } from '../types/models.ts'
import {
  fine,
  flag,
  join,
  listOf,
  must,
  recordOf,
  refuse,
  shapeOf,
  someText,
  text,
  within,
  type Check,
} from './checks.ts'
import { part, requestFields } from './validate.ts'

/** The problems of a moderation request: of its fields, and of an input that is neither texts nor parts. */
export function validateModerationRequest(value: unknown): readonly Issue[] {
  return moderationRequest(value)
}

const inputPart: Check = (value) => {
  if (!isObject(value)) return refuse('a text or an image part, as its neighbours are', value)
  const { type } = value
  return type === 'text' || type === 'image'
    ? part(value)
    : within('type', refuse('text or image: nothing else can be judged', type))
}

const input: Check = (value) => {
  const wording = 'a text, texts, text and image parts, or a message'
  if (!Array.isArray(value) || value.length === 0) return refuse(wording, value)
  return listOf(typeof value[0] === 'string' ? text : inputPart)(value)
}

const moderationRequest = shapeOf<ModerationRequest>(
  {
    input,
    providerOptions: requestFields.providerOptions,
    metadata: requestFields.metadata,
  },
  { model: someText },
)

const score: Check = must(
  'a number from 0 to 1',
  (value) => typeof value === 'number' && value >= 0 && value <= 1,
)

/** The verdict about one input. */
export const moderationResult: Check = shapeOf<ModerationResult>(
  { flagged: flag, categories: recordOf(flag), scores: recordOf(score) },
  {},
)

const results = listOf(moderationResult)

/** The problems of the answer of an adapter to a request. A verdict with anything wrong in it does not count. */
export function moderationAnswerIssues(
  answer: unknown,
  { input: asked }: ModerationRequest,
): readonly Issue[] {
  if (!isObject(answer)) return refuse('a response', answer)
  const { flagged, results: given } = answer
  const issues = join(within('flagged', flag(flagged)), within('results', results(given)))
  if (issues.length > 0 || !Array.isArray(given)) return issues
  const count = typeof asked[0] === 'string' ? asked.length : 1
  if (given.length !== count) {
    return [{ path: 'results', problem: `must be ${count}, not ${given.length}` }]
  }
  const any = given.some((result: ModerationResult) => result.flagged)
  return any === flagged ? fine : [{ path: 'flagged', problem: `must be ${any}, as results are` }]
}
