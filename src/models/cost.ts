import type { ValidationError } from '../core/errors/errors.ts'
import {
  assertValid,
  between,
  fine,
  optionsOf,
  recordOf,
  refusal,
  refuse,
  shape,
  within,
  type Check,
} from '../core/schema/checks.ts'
import type { Issue } from '../core/types/error-data.ts'
import { defined, isObject } from '../core/types/guards.ts'
import {
  addUsage,
  answersOf,
  brokenOff,
  usageFields,
  type AnswerUsage,
  type ModelResponse,
  type Usage,
} from '../core/types/response.ts'
import type { ChatOutcome, RunUsage, StepResult } from '../core/types/results.ts'

/** What a model costs, for each million tokens, in whatever currency. Prices are your data: the library knows none. */
export interface Price {
  /** Of input tokens that have no price of their own. */
  readonly input: number
  /** Of output tokens that have no price of their own. A model that has no output tokens, such as one of embeddings, needs none. */
  readonly output?: number
  /** Of input tokens that were read from a cache. Without it they cost as much as others. */
  readonly cachedInput?: number
  /** Of input tokens that were written to a cache. Without it they cost as much as others. */
  readonly cacheWriteInput?: number
  /** Of output tokens that were spent on reasoning. Without it they cost as much as others. */
  readonly reasoning?: number
}

/**
 * Prices by the names of models: `gpt-5`, or `openai/gpt-5` for the answers of one provider. The name of a model is also that of
 * its dated versions: `gpt-5` is found for `gpt-5-2025-08-07`. Plain data, which can be loaded from anywhere.
 */
export type PriceTable = Readonly<Record<string, Price>>

/**
 * What a run cost: its usage at a price for each million tokens.
 *
 * Returns `undefined` without a price, and when the provider did not report input or output tokens: what is not known is not free.
 * With a price that has no `output`, or 0, output tokens may be missing; others than 0 need one.
 */
export function cost(usage: Usage, price: Price | undefined): number | undefined {
  const { inputTokens, outputTokens = price?.output ? undefined : 0 } = usage
  if (price === undefined || inputTokens === undefined || outputTokens === undefined) {
    return undefined
  }
  if (price.output === undefined && outputTokens > 0) return undefined
  const { cachedInputTokens = 0, cacheWriteInputTokens = 0, reasoningTokens = 0 } = usage
  const {
    input,
    output = 0,
    cachedInput = input,
    cacheWriteInput = input,
    reasoning = output,
  } = price
  const plainInput = Math.max(0, inputTokens - cachedInputTokens - cacheWriteInputTokens)
  const plainOutput = Math.max(0, outputTokens - reasoningTokens)
  const sum =
    plainInput * input +
    cachedInputTokens * cachedInput +
    cacheWriteInputTokens * cacheWriteInput +
    plainOutput * output +
    reasoningTokens * reasoning
  return sum / 1_000_000
}

/**
 * The price of a model: that of its name with its provider, then that of its name alone, then that of the longest name of which it
 * is a dated version.
 */
export function priceOf(
  prices: PriceTable,
  { provider, model }: Pick<AnswerUsage, 'provider' | 'model'>,
): Price | undefined {
  if (model === undefined) return undefined
  const names = provider === undefined ? [model] : [`${provider}/${model}`, model]
  const exact = names.find((name) => Object.hasOwn(prices, name))
  if (exact !== undefined) return prices[exact]
  const [nearest] = Object.keys(prices)
    .filter((known) => names.some((name) => isVersion(name, known)))
    .toSorted((left, right) => right.length - left.length)
  return nearest === undefined ? undefined : prices[nearest]
}

/** Whether a name is another one with a date or a number of three digits or more behind it. `claude-sonnet-4-5` is not a version of `claude-sonnet-4`. */
export function isVersion(name: string, known: string): boolean {
  return name.startsWith(known) && /^[-@:](\d{3,}[\d-]*|latest)$/.test(name.slice(known.length))
}

/** What can be priced: an answer, a step, a run, what a call of a session returns, or a list of those. */
export type Priced =
  | AnswerUsage
  | Pick<StepResult, 'response'>
  | Pick<ChatOutcome, 'steps' | 'usage' | 'innerAnswers' | 'finalResponse'>
  | { readonly result: Priced; readonly pruned?: true }
  | readonly Priced[]

/** What something cost, as far as that is known. */
export interface Cost {
  /** The sum of all that has a price. */
  readonly total: number
  /**
   * What is not in the sum, by model: no price was given for it, or its tokens are not known, as of an answer that broke off. What a run
   * used before it was cut has no model.
   * Without such answers the list is empty, and the sum is the whole cost.
   */
  readonly unknown: readonly AnswerUsage[]
}

/**
 * What answers cost, each at the price of the model that gave it: of a call, of a run with its agents and handoffs, of a session (the list of its
 * results) or of a tenant (a list of those). A price table that is not legal throws a `ValidationError`.
 */
export function costOf(what: Priced, prices: PriceTable): Cost {
  checkTable(prices)
  assertValid('invalid_options', within('what', pricedIssues(what)))
  let total = 0
  const unknown = new Map<string, AnswerUsage>()
  for (const answer of answersIn(what)) {
    const { provider, model, usage } = answer
    const own = cost(usage, priceOf(prices, answer))
    total += own ?? 0
    if (own !== undefined) continue
    const name = nameOf(answer)
    const sum = addUsage(unknown.get(name)?.usage ?? {}, usage)
    unknown.set(name, defined<AnswerUsage>({ provider, model, usage: sum }))
  }
  return { total, unknown: [...unknown.values()] }
}

/** The problem of a value that is nothing that can be priced. What is inside of it is read as it is. */
const pricedIssues: Check = (value) => {
  if (Array.isArray(value)) return value.flatMap((item, index) => within(index, pricedIssues(item)))
  if (isObject(value) && isObject(value['result']))
    return within('result', pricedIssues(value['result']))
  if (isObject(value) && isObject(value['response'])) {
    return within('response', pricedIssues(value['response']))
  }
  const isPriced = isObject(value) && isObject(value['usage'])
  return isPriced ? fine : refuse('a response, a result or a list of them', value)
}

/** Checks a table when it is first seen. */
function checkTable(prices: PriceTable): void {
  if (checkedTables.has(prices)) return
  assertValid('invalid_options', within('prices', pricesCheck(prices)))
  checkedTables.add(prices)
}

const checkedTables = /* @__PURE__ */ new WeakSet<PriceTable>()

/** The answers, each once. */
function answersIn(what: Priced): readonly AnswerUsage[] {
  if (isList(what)) return what.flatMap(answersIn)
  // Of a run whose log is not kept any more nothing is known.
  if ('result' in what) return what.pruned === true ? [{ usage: {} }] : answersIn(what.result)
  if ('response' in what) return answersIn(what.response)
  if (!('steps' in what)) {
    const all = answersOf(what)
    return all[0] !== what || hasBegun(what) ? all : []
  }
  const { steps, innerAnswers = [], usage } = what
  // A run that goes on with an answer does not count it again.
  const own = steps.filter(({ continues, response }) => !continues || hasUsage(response))
  const answers = [...own.map(({ response }) => response), ...unfinished(what), ...innerAnswers]
  const rest = remainder(usage, answers)
  const all = answers.flatMap(answersOf)
  return rest === undefined ? all : [...all, { usage: rest }]
}

/**
 * The answer of a step that did not end, because the answer broke off or something failed after it.
 *
 * A whole one without usage may be the first of a run that goes on with it: then it was counted before.
 */
function unfinished({
  steps,
  finalResponse,
}: Pick<ChatOutcome, 'steps' | 'finalResponse'>): readonly AnswerUsage[] {
  const last = steps.at(-1)?.response
  if (finalResponse === undefined || finalResponse === last) return []
  // Results that were saved have no object twice.
  if (JSON.stringify(finalResponse) === JSON.stringify(last)) return []
  const { content, toolCalls = [], metadata } = finalResponse.message
  const isNew = last !== undefined || metadata?.['partial'] === true
  const isBilled = isNew && content.length + toolCalls.length > 0
  return isBilled || hasUsage(finalResponse) ? [finalResponse] : []
}

/** Whether a call has an answer to be paid for. One that failed before its answer began has no content and no usage. */
function hasBegun(
  answer: AnswerUsage & Partial<Pick<ModelResponse, 'message' | 'error'>>,
): boolean {
  const { message, error } = answer
  if (message === undefined || error === undefined || hasUsage(answer)) return true
  return message.content.length + (message.toolCalls?.length ?? 0) > 0
}

function isList(what: Priced): what is readonly Priced[] {
  return Array.isArray(what)
}

function isEmpty(usage: Usage): boolean {
  return usageFields.every((field) => usage[field] === undefined)
}

function hasUsage({ usage }: AnswerUsage): boolean {
  return !isEmpty(usage)
}

/** What was used beside these answers: that of answers that were cut. */
function remainder(usage: Usage, answers: readonly AnswerUsage[]): Usage | undefined {
  const sum = answers.reduce<Usage>((left, answer) => addUsage(left, answer.usage), {})
  const rest: { -readonly [Key in keyof Usage]: Usage[Key] } = {}
  for (const field of usageFields) {
    const left = (usage[field] ?? 0) - (sum[field] ?? 0)
    if (left > 0) rest[field] = left
  }
  return isEmpty(rest) ? undefined : { inputTokens: 0, outputTokens: 0, ...rest }
}

/** The limit of a budget: tokens, or a cost at prices. */
export type BudgetOptions = (
  | { readonly maxTokens: number; readonly maxCost?: undefined; readonly prices?: undefined }
  | { readonly maxCost: number; readonly prices: PriceTable; readonly maxTokens?: undefined }
) & {
  /** What a session or a tenant has spent before, in tokens or in money. A function is asked after each step. */
  readonly spent?: number | (() => number | Promise<number>) | undefined
}

/**
 * A limit for the option `haltWhen`: the loop ends with `halt_when` once the run has used up its budget. It looks after each step that
 * another model call would follow, so the last call may go beyond the limit.
 *
 * It counts the whole run: the answers of all engines that it was handed to, of agents inside its calls, and what was used
 * before a cut, and before a wait for an approval, a result or an answer. As with `maxTurns`, a new message of the user begins anew,
 * and so does a run that a limit ended. One budget serves any number of runs, each of which is counted by itself.
 *
 * What cannot be counted fails the run: an answer without tokens, and with `maxCost` a model without a price. The error is a
 * `StreamError`, as of any hook that throws; its `cause` is a `ValidationError` that names what is missing.
 */
export function budget(
  options: BudgetOptions,
): (step: StepResult, run: RunUsage) => Promise<boolean> {
  assertValid('invalid_options', budgetIssues(options))
  const { maxTokens, maxCost = Infinity, prices, spent = 0 } = options
  return async (step, run) => {
    const before = typeof spent === 'function' ? checkedAmount(await spent()) : spent
    const used = prices === undefined ? tokensSoFar(run) : costSoFar(step, run, prices)
    return before + used >= (maxTokens ?? maxCost)
  }
}

/** What `spent` returned. What is not a number would be below every limit. */
function checkedAmount(value: unknown): number {
  const [issue] = amount(value)
  if (issue === undefined) return value as number // Just checked.
  throw refusal('invalid_options', 'spent', `${issue.problem}: that is what the function returned`)
}

/** A run that has not asked a model yet has used nothing. */
function tokensSoFar({ usage, answers }: RunUsage): number {
  const silent = answers.find(({ usage: own }) => tokensOf(own) === undefined)
  if (silent !== undefined) throw uncounted(silent, 'maxTokens')
  const rest = remainder(usage, answers)
  const all = [...answers, ...answers.flatMap(brokenOff)]
  const counted = rest === undefined ? all : [...all, { usage: rest }]
  return counted.reduce((sum, { usage: own }) => sum + (tokensOf(own) ?? 0), 0)
}

/** All tokens of an answer, if it has reported any. */
function tokensOf({ inputTokens, outputTokens, totalTokens }: Usage): number | undefined {
  if ((totalTokens ?? inputTokens ?? outputTokens) === undefined) return undefined
  return Math.max(totalTokens ?? 0, (inputTokens ?? 0) + (outputTokens ?? 0))
}

/** What was used before a cut or a wait costs as much as the answer that followed. */
function costSoFar({ response }: StepResult, run: RunUsage, prices: PriceTable): number {
  const { provider, model } = response
  const rest = remainder(run.usage, run.answers)
  const before = rest === undefined ? [] : [{ provider, model, usage: rest }]
  const { total, unknown } = costOf([...run.answers.flatMap(countable), ...before], prices)
  const [missing] = unknown
  if (missing === undefined) return total
  if (priceOf(prices, missing) !== undefined) throw uncounted(missing, 'maxCost')
  throw refusal(
    'invalid_options',
    `prices[${JSON.stringify(nameOf(missing))}]`,
    'is needed for maxCost: the model has answered, and what it cost is not known. Add its price, or use maxTokens',
  )
}

/** An answer, with what is known of those that broke off before it. They count as answers that were cut do, and do not fail the run. */
function countable(answer: AnswerUsage): readonly AnswerUsage[] {
  const { provider, model, usage } = answer
  const broken = brokenOff(answer).filter(hasUsage)
  const known = { inputTokens: 0, outputTokens: 0 }
  const counted = broken.map(({ provider: by, model: name, usage: own }) => ({
    provider: by,
    model: name,
    usage: { ...known, ...own },
  }))
  return [...counted, { provider, model, usage }]
}

/** A budget cannot count an answer whose tokens it does not know. */
function uncounted(answer: AnswerUsage, limit: string): ValidationError {
  const problem = `was not reported by ${JSON.stringify(nameOf(answer))}, and is needed for ${limit}: what is not known is not free`
  return refusal('invalid_options', 'usage', problem)
}

function nameOf({ provider, model }: AnswerUsage): string {
  return `${provider}/${model}`
}

/** A price table. */
export const pricesCheck: Check = (value) => recordOf(shape(required, optional))(value)

const amount: Check = (value) => between(0, Number.MAX_VALUE)(value)

const required = { input: amount }

const optional = {
  output: amount,
  cachedInput: amount,
  cacheWriteInput: amount,
  reasoning: amount,
} satisfies Record<Exclude<keyof Price, keyof typeof required>, Check>

function budgetIssues(options: BudgetOptions): readonly Issue[] {
  const issues = optionsOf({
    maxTokens: amount,
    maxCost: amount,
    prices: pricesCheck,
    spent: (value) => (typeof value === 'function' ? fine : amount(value)),
  } satisfies Record<keyof BudgetOptions, Check>)(options)
  if (issues.length > 0) return issues
  const { maxTokens, maxCost, prices } = options
  if ((maxTokens === undefined) === (maxCost === undefined)) {
    return [{ path: '', problem: 'a budget has either maxTokens or maxCost' }]
  }
  return (maxCost === undefined) === (prices === undefined)
    ? fine
    : [{ path: 'prices', problem: 'must be given with maxCost, and with nothing else' }]
}
