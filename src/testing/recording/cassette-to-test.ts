import { deniedContent, deniedReason, isErrorResult } from '../../core/messages/tool-messages.ts'
import {
  assertValid,
  must,
  oneOf,
  optionsOf,
  someText,
  type Check,
} from '../../core/schema/checks.ts'
import { messageText, type Message } from '../../core/types/message.ts'
import { parseCassette, type Cassette } from '../fakes/cassette.ts'
import {
  recordedRuns,
  type RecordedAnswer,
  type RecordedRun,
  type RecordedTurn,
} from '../fakes/recorded-runs.ts'

/** Options of `cassetteToTest`. */
export interface CassetteTestOptions {
  /** The test runner: `node` (the default) or `vitest`. */
  readonly runner?: 'node' | 'vitest' | undefined
  /** The file of the cassette, as the test finds it: `./cassette.json`. Without it, the cassette is a part of the test. */
  readonly file?: string | undefined
  /** The module that exports your tools, as the test imports it: `./tools.ts`. Without it, tools answer what was recorded. */
  readonly tools?: string | undefined
  /** A module that exports your engine as `engine`, or under the name after a `#`. Its adapter is replaced; its tools and options stay. */
  readonly engine?: string | undefined
}

/**
 * The text of a test that plays a recording: the model answers what it answered then, your tools run, and the test asserts the tool calls, how
 * each run ended, and the last text. There is one test for each conversation.
 *
 * With your tools no call may fail, also one that failed in the recording: that is how an incident becomes a test. They run for real, so
 * their calls are approved by id: those that were answered in the recording. Calls that were denied stay denied, and calls of which the
 * recording has no answer wait for approval, whatever tool they are of. A run that stopped in the middle is played up to there.
 */
export function cassetteToTest(
  cassette: Cassette | string,
  options: CassetteTestOptions = {},
): string {
  assertValid('invalid_options', checkOptions(options))
  return testOfCassette(parseCassette(cassette), options)
}

/** The calls of the last answer of a recording that somebody has to settle, by what they wait for. A cassette does not say. */
export interface WaitingCalls {
  readonly approvals: readonly string[]
  readonly manual: readonly string[]
  /** The questions, by the ids of the calls that ask them. */
  readonly questions: Readonly<Record<string, string>>
}

/** The text of a test, as `cassetteToTest` writes it. A run whose last calls wait ends as what they wait for. */
export function testOfCassette(
  recording: Cassette,
  options: CassetteTestOptions,
  waiting?: WaitingCalls,
): string {
  const runs = recordedRuns(recording)
  const last = recording.calls.length - 1
  const isSingle = runs.length <= 1
  const names = testNames(runs)
  const tests = runs.map((run, index) =>
    testText(run, {
      ...options,
      name: names[index] ?? 'a run',
      isSingle,
      waiting: isLastOf(run, last) ? waiting : undefined,
    }).join('\n'),
  )
  const head = headLines(recording, options, isSingle).join('\n')
  return `${[head, ...tests].join('\n\n')}\n`
}

const checkOptions: Check = (value) => {
  const issues = optionsOf({
    runner: oneOf(['node', 'vitest']),
    file: someText,
    tools: someText,
    engine: must('a module, such as ./agent.ts or ./agent.ts#engine', isModule),
  } satisfies Readonly<Record<keyof CassetteTestOptions, Check>>)(value)
  const { tools, engine } = (value ?? {}) as CassetteTestOptions // Checked above.
  return issues.length > 0 || tools === undefined || engine === undefined
    ? issues
    : [{ path: 'engine', problem: 'has its own tools: leave out tools' }]
}

function isModule(value: unknown): boolean {
  return typeof value === 'string' && /^[^#]+(?:#[A-Za-z_$][\w$]*)?$/.test(value)
}

/** Whether the last call of a cassette is one of a run. */
function isLastOf({ turns }: RecordedRun, last: number): boolean {
  return turns.at(-1)?.calls.at(-1)?.index === last
}

/** A test under way. */
interface TestFacts extends CassetteTestOptions {
  readonly name: string
  /** The cassette has only this run. */
  readonly isSingle: boolean
  /** What the last calls of the run wait for. */
  readonly waiting: WaitingCalls | undefined
}

function headLines(
  cassette: Cassette,
  options: CassetteTestOptions,
  isSingle: boolean,
): readonly string[] {
  const { runner = 'node', file, tools, engine } = options
  const [module, exported = 'engine'] = engine?.split('#') ?? []
  const own = tools !== undefined || engine !== undefined
  const allm = ['chat', engine === undefined ? 'createEngine' : 'extendEngine']
  const testing = [
    'expectTrajectory',
    ...(own ? [] : ['recordedTools']),
    ...(tools === undefined ? [] : ['toolsOf']),
    'virtualClock',
  ]
  return [
    `// Made from ${file === undefined ? 'a recording' : commentText(file)} by allm-ts test. It is yours now: change what it expects.`,
    ...(own ? warning(tools ?? module ?? '') : []),
    ...(file === undefined ? [] : ["import { readFileSync } from 'node:fs'"]),
    `import { test } from '${runner === 'node' ? 'node:test' : 'vitest'}'`,
    `import { ${allm.join(', ')} } from 'allm-ts'`,
    "import { parseCassette, replay } from 'allm-ts/middleware'",
    `import { ${testing.join(', ')} } from 'allm-ts/testing'`,
    ...(tools === undefined ? [] : [`import * as tools from ${quoted(tools)}`]),
    ...(module === undefined
      ? []
      : [
          `import { ${exported === 'own' ? exported : `${exported} as own`} } from ${quoted(module)}`,
        ]),
    '',
    file === undefined
      ? `const cassette = parseCassette(${literal(cassette, 2)})`
      : `const cassette = parseCassette(readFileSync(new URL(${quoted(file)}, import.meta.url), 'utf8'))`,
    ...(isSingle
      ? []
      : [
          '',
          '/** The calls of one conversation. */',
          'const part = (numbers = [0]) => ({ ...cassette, calls: cassette.calls.filter((_, at) => numbers.includes(at)) })',
        ]),
  ]
}

/** What a person has to know before running a test with tools of their own. */
function warning(module: string): readonly string[] {
  return [
    `// It runs the tools of ${commentText(module)} for real: what they pay, send or delete is paid, sent or deleted again by every run of`,
    '// this test. Import a module with harmless ones, or make it without --tools and --engine: then recordedTools answers what was recorded.',
  ]
}

function testText(run: RecordedRun, facts: TestFacts): readonly string[] {
  const { name, isSingle, tools, engine, waiting } = facts
  const calls = run.turns.flatMap((turn) => turn.calls)
  const recording = isSingle ? 'cassette' : 'recording'
  const played = [recording, ...waitingText(waiting)].join(', ')
  const ownTools = tools === undefined ? `recordedTools(${played})` : 'toolsOf(tools)'
  const options = 'adapter, clock: virtualClock()'
  const body = [
    ...(isSingle
      ? []
      : [`const recording = part([${calls.map(({ index }) => index).join(', ')}])`]),
    '// The model answers what was recorded, whatever it is asked.',
    `const adapter = replay(${recording}, { match: () => true })`,
    engine === undefined
      ? `const engine = createEngine({ ${options}, tools: ${ownTools} })`
      : `const engine = extendEngine(own, { ${options} })`,
    ...run.turns.flatMap((turn, index) => {
      const isLast = index === run.turns.length - 1
      return turnText(turn, index, {
        ...facts,
        recording,
        waiting: isLast ? waiting : undefined,
      })
    }),
    '',
    'adapter.assertDone()',
  ]
  return [`test(${quoted(name)}, async () => {`, ...body.map(indented), '})']
}

/** The calls that recorded tools leave to the caller, and the questions that they ask. */
function waitingText(waiting: WaitingCalls | undefined): readonly string[] {
  const { manual = [], questions = {} } = waiting ?? {}
  const parts = [
    ...(manual.length === 0 ? [] : [`manual: ${literal(manual)}`]),
    ...(Object.keys(questions).length === 0 ? [] : [`questions: ${literal(questions)}`]),
  ]
  return parts.length === 0 ? [] : [`{ ${parts.join(', ')} }`]
}

/** How a run ends whose calls wait: as the loop says it. */
function waitingEnd(
  answer: RecordedAnswer,
  { approvals, manual, questions }: WaitingCalls,
): string | undefined {
  const ids = idsOf(answer)
  const asks = ids.find((id) => Object.hasOwn(questions, id))
  const needs = ids.find((id) => approvals.includes(id))
  if (asks !== undefined) return 'ask_user'
  if (needs !== undefined) return 'approval'
  return ids.some((id) => manual.includes(id)) ? 'manual_tool_calls' : undefined
}

function idsOf({ message }: RecordedAnswer): readonly string[] {
  return (message?.toolCalls ?? []).map(({ id }) => id)
}

function turnText(
  turn: RecordedTurn,
  index: number,
  facts: TestFacts & { readonly recording: string },
): readonly string[] {
  const { recording, tools, engine, waiting } = facts
  const own = tools !== undefined || engine !== undefined
  const answers = turn.calls.filter(({ isRefused }) => !isRefused)
  const last = turn.calls.at(-1)
  const open = (last?.message?.toolCalls ?? []).length > 0 && last?.failure === undefined
  const failed = last?.failure !== undefined
  const isStopped = last?.failure === 'cancelled'
  // Whether the last calls have run, the recording does not say.
  const isUnanswered = own && open && last?.results.size === 0
  const rests =
    (last && waiting && open ? waitingEnd(last, waiting) : undefined) ??
    (isUnanswered ? 'approval' : undefined)
  const result = index === 0 ? 'result' : `result${index + 1}`
  const before = index === 1 ? 'result' : `result${index}`
  const isInstructed = turn.messages.some(({ role }) => role === 'system')
  // An engine sends its own.
  const ownInstructions =
    engine !== undefined && isInstructed ? ".filter(({ role }) => role !== 'system')" : ''
  const input =
    index === 0
      ? `${recording}.calls[0]?.request.messages${ownInstructions} ?? []`
      : `[...${before}.thread.messages, ${turn.messages.map(userText).join(', ')}]`
  const options = [
    ...approveText(turn, own, waiting),
    ...((open && rests === undefined) || answers.length > 8 ? [`maxTurns: ${answers.length}`] : []),
    ...retryText(turn),
  ]
  const call = `await chat(engine, ${input}${options.length === 0 ? '' : `, { ${options.join(', ')} }`})`
  const expected = [
    ...turn.calls.flatMap((answer) => callsText(answer, own)),
    ...textLines(answers),
    `.toEndAs('${isStopped ? 'cancelled' : failed ? 'error' : (rests ?? (open ? 'max_turns' : 'completed'))}')`,
  ]
  return [
    '',
    ...(isStopped ? ['// The run was stopped here.'] : []),
    ...(failed && !isStopped ? [`// The run failed: ${commentText(last.failure ?? '')}.`] : []),
    failed
      ? `const ${result} = ${call}.catch((error) => error.partial)`
      : `const ${result} = ${call}`,
    `expectTrajectory(${result})`,
    ...expected.map(indented),
  ]
}

/** Of the calls of own tools, those run that were answered in the recording. Recorded tools do no harm: they run unless they waited. */
function approveText(
  { calls }: RecordedTurn,
  own: boolean,
  waiting: WaitingCalls | undefined,
): readonly string[] {
  const { approvals = [] } = waiting ?? {}
  if (!own) {
    return approvals.length === 0
      ? []
      : [`approve: ({ id }) => (${literal(approvals)}.includes(id) ? 'ask' : 'run')`]
  }
  const results = calls.flatMap((answer) => [...answer.results])
  const denied = results.filter(([, result]) => isDenied(result)).map(([id]) => id)
  const ran = results.map(([id]) => id).filter((id) => !denied.includes(id))
  const last = calls.at(-1)
  // Beside a call that waits, all others have run.
  const beside = last && waiting && waitingEnd(last, waiting) ? idsOf(last) : []
  const runs = [...ran, ...beside.filter((id) => !approvals.includes(id))]
  if (calls.every((answer) => idsOf(answer).length === 0)) return []
  const rest = runs.length === 0 ? "'ask'" : `${literal(runs)}.includes(id) ? 'run' : 'ask'`
  const policy =
    denied.length === 0
      ? rest
      : `${literal(denied)}.includes(id) ? { deny: 'as in the recording' } : ${rest}`
  return [policy === "'ask'" ? "approve: () => 'ask'" : `approve: ({ id }) => (${policy})`]
}

/** Whether a call was denied. A recording of a proxy has no more of it than what the model read. */
function isDenied(result: Message): boolean {
  const isMarked = result.metadata?.['denied'] === true || deniedReason(result) !== undefined
  return isMarked || messageText(result) === deniedContent('')
}

/** Words of the user, as the test writes them. */
function userText(message: Message): string {
  return `{ role: 'user', content: ${literal(message.content)} }`
}

/** The retries that the recording has, so that the engine makes as many. */
function retryText({ calls }: RecordedTurn): readonly string[] {
  let attempts = 1
  let most = 1
  for (const { isRefused } of calls) {
    most = Math.max(most, attempts)
    attempts = isRefused ? attempts + 1 : 1
  }
  if (!calls.some(({ isRefused }) => isRefused)) return []
  return [`retry: { maxAttempts: ${most}, respectRetryAfter: false }`]
}

function callsText({ message, results }: RecordedAnswer, own: boolean): readonly string[] {
  return (message?.toolCalls ?? []).flatMap(({ id, name, arguments: args }) => {
    const result = results.get(id)
    const hasFailed = result !== undefined && isErrorResult(result)
    const denied = own && result !== undefined && isDenied(result)
    const isRun = own && !denied
    const failed = denied || (!own && hasFailed)
    const expectation = isRun ? ', { failed: false }' : failed ? ', { failed: true }' : ''
    const call = `.toCall(${quoted(name)}, ${literal(args)}${expectation})`
    if (denied) return ['// In the recording it was denied.', call]
    if (!own || !hasFailed) return [call]
    return [`// In the recording it failed: ${commentText(messageText(result))}`, call]
  })
}

function textLines(answers: readonly RecordedAnswer[]): readonly string[] {
  const texts = answers.flatMap(({ message }) =>
    message === undefined ? [] : [messageText(message)],
  )
  const last = texts.findLast((text) => text !== '')
  return last === undefined ? [] : [`.toSay(${quoted(last)})`]
}

/** The user's first words of each run, each name once. */
function testNames(runs: readonly RecordedRun[]): readonly string[] {
  const seen = new Map<string, number>()
  return runs.map(({ turns }) => {
    const words = turns[0]?.messages.findLast(({ role }) => role === 'user')
    const text = words === undefined ? '' : messageText(words).replaceAll(/\s+/g, ' ').trim()
    const name = text === '' ? 'a recorded run' : text.length > 72 ? `${text.slice(0, 72)}…` : text
    const times = (seen.get(name) ?? 0) + 1
    seen.set(name, times)
    return times === 1 ? name : `${name} (${times})`
  })
}

function indented(line: string): string {
  return line === '' ? '' : `  ${line}`
}

/** A text as a literal. JSON has an escape for everything that would end a line. */
function quoted(text: string): string {
  const json = JSON.stringify(text).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
  return json.includes("'") || json.includes('\\') ? json : `'${json.slice(1, -1)}'`
}

/** A value as a literal. A member `__proto__` of a literal would not be a member. */
function literal(value: unknown, indent?: number): string {
  const json = JSON.stringify(value, undefined, indent)
  return json.includes('"__proto__"') ? `JSON.parse(${JSON.stringify(json)})` : json
}

/** A text in a comment of one line. */
function commentText(text: string): string {
  const line = text.replaceAll(/[\s\p{C}\u2028\u2029]+/gu, ' ').trim()
  return line.length > 200 ? `${line.slice(0, 200)}…` : line
}
