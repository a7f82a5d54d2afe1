import type { ModerationAdapter } from '../contracts/adapter.ts'
import { AdapterError } from '../errors/errors.ts'
import { moderationAnswerIssues } from '../schema/validate-moderation.ts'
import { defined, isObject } from '../types/guards.ts'
import type { ModerationRequest, ModerationResponse, ModerationResult } from '../types/models.ts'
import { addUsage } from '../types/response.ts'

/**
 * Judges a request in as many calls of an adapter as its limits need, one after the other, and returns one answer.
 *
 * A longer list of texts is split, and the results are in the order of the texts. More images than one call takes are judged in
 * several calls, each with all of the text, and the result is that of all together: flagged if any is, with the highest scores.
 * Adapters are also written by others, so each answer is checked: what is no verdict is `malformed_response`. Empty texts are not sent:
 * there is nothing to judge, so they are clean.
 */
export async function judgeRequest(
  adapter: Pick<ModerationAdapter, 'provider' | 'maxTexts' | 'maxImages'>,
  request: ModerationRequest,
  send: (request: ModerationRequest) => Promise<ModerationResponse>,
  requestId: string | undefined,
): Promise<ModerationResponse> {
  const asked = { ...request, input: withoutEmpty(request.input) }
  const answers: ModerationResponse[] = []
  for (const input of splitInput(asked, adapter)) {
    const one = { ...request, input }
    answers.push(conforming(await send(one), one, adapter.provider, requestId))
  }
  const [first = cleanAnswer(request, adapter.provider, requestId), ...more] = answers
  return inPlace(request, more.length === 0 ? first : joined(asked, first, more))
}

type Input = ModerationRequest['input']

/** What there is to judge. */
function withoutEmpty(input: Input): Input {
  return isTexts(input)
    ? input.filter((text) => text !== '')
    : input.filter((part) => part.type !== 'text' || part.text !== '')
}

/** The verdict about nothing. */
const clean: ModerationResult = { flagged: false, categories: {}, scores: {} }

/** The answer to a request that has nothing to judge. */
function cleanAnswer(
  { input, model, metadata }: ModerationRequest,
  provider: string,
  requestId: string = '',
): ModerationResponse {
  const results = isTexts(input) ? [] : [clean]
  const facts = { provider, model, usage: {}, warnings: [], metadata }
  return defined<ModerationResponse>({ requestId, flagged: false, results, ...facts })
}

/** The answer with the results of empty texts in their places. */
function inPlace({ input }: ModerationRequest, answer: ModerationResponse): ModerationResponse {
  if (!isTexts(input) || answer.results.length === input.length) return answer
  const given = answer.results.values()
  const results = input.map((text) => (text === '' ? clean : (given.next().value ?? clean)))
  return { ...answer, results }
}

/** The inputs of the calls that a request takes. */
function splitInput(
  { input }: ModerationRequest,
  { maxTexts, maxImages = Infinity }: Pick<ModerationAdapter, 'maxTexts' | 'maxImages'>,
): readonly Input[] {
  if (input.length === 0) return []
  if (isTexts(input)) return chunks(input, maxTexts)
  const images = [...input.keys()].filter((at) => input[at]?.type === 'image')
  if (images.length <= maxImages) return [input]
  return chunks(images, maxImages).map((some) =>
    input.filter((part, at) => part.type === 'text' || some.includes(at)),
  )
}

/** Whether the input is texts that are judged one by one, and not the parts of one message. */
export function isTexts(input: Input): input is readonly string[] {
  return typeof input[0] === 'string'
}

function chunks<Item>(items: readonly Item[], size: number): readonly (readonly Item[])[] {
  const all: (readonly Item[])[] = []
  for (let at = 0; at < items.length; at += size) all.push(items.slice(at, at + size))
  return all
}

/** The answer, if it is one. */
function conforming(
  answer: ModerationResponse,
  request: ModerationRequest,
  provider: string,
  requestId: string | undefined,
): ModerationResponse {
  const [issue] = moderationAnswerIssues(answer, request)
  if (issue === undefined) return answer
  const message = `${provider} returned no verdict: ${issue.path} ${issue.problem}`
  throw new AdapterError('malformed_response', message, { provider, requestId })
}

/** Several answers as one. It has no id of the provider: each of them has its own. */
function joined(
  { input }: ModerationRequest,
  first: ModerationResponse,
  more: readonly ModerationResponse[],
): ModerationResponse {
  const all = [first, ...more]
  const results = all.flatMap((answer) => answer.results)
  return defined<ModerationResponse>({
    ...first,
    id: undefined,
    flagged: all.some(({ flagged }) => flagged),
    results: isTexts(input) ? results : [united(results)],
    usage: all.reduce((sum, { usage }) => (isObject(usage) ? addUsage(sum, usage) : sum), {}),
    warnings: first.warnings,
  })
}

/** The result of several that are about one message. */
function united(results: readonly ModerationResult[]): ModerationResult {
  const categories = new Map<string, boolean>()
  const scores = new Map<string, number>()
  for (const result of results) {
    for (const [name, value] of Object.entries(result.categories)) {
      categories.set(name, value || categories.get(name) === true)
    }
    for (const [name, value] of Object.entries(result.scores)) {
      scores.set(name, Math.max(value, scores.get(name) ?? value))
    }
  }
  return {
    flagged: results.some(({ flagged }) => flagged),
    categories: Object.fromEntries(categories),
    scores: Object.fromEntries(scores),
  }
}
