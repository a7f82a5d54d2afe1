import type { AdapterOptions } from '../../core/contracts/adapter.ts'
import { sameJson } from '../../core/schema/json-schema.ts'
import { isObject } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { Message, Part, ToolCall } from '../../core/types/message.ts'
import type { ModelRequest, ToolSpec } from '../../core/types/request.ts'
import type { Warning } from '../../core/types/warning.ts'
import { demand, show, type Finding } from './demands.ts'
import {
  eventsOfType,
  hello,
  play,
  read,
  readEvents,
  requestOf,
  weatherRequest,
  weatherTool,
  type ChatCase,
  type ChatFixture,
  type ChatHarness,
} from './harness.ts'
import {
  changesOf,
  differenceOf,
  isBefore,
  nodesOf,
  placesOf,
  readSent,
  surroundings,
  type Change,
  type Leaf,
  type Place,
  type Sent,
} from './sent.ts'

/** The messages of a request, as they are sent. */
export const messageCases: readonly ChatCase[] = [
  sending('one call sends one request', conversation, (sent, fixture) =>
    demandOneSent(fixture.requests().length, sent),
  ),
  sending('every message is sent, in its order', conversation, (sent) => {
    demandOnce(sent, [systemText, ...talk])
    demandOrder(sent, talk)
  }),
  sending('messages are sent in the role of their author', conversation, demandRoles),
  sending('texts are sent as they were written', writtenRequest, (sent) => {
    demandOnce(sent, [...written, ...writtenRules])
    demandOrder(sent, written)
    demandOrder(sent, writtenRules)
  }),
  sending('the model is sent', requestOf, (sent, { model, adapter }) => {
    if (adapter.needsModel === false) return
    const found = sent.leaves.some(
      ({ value }) => typeof value === 'string' && value.includes(model),
    )
    demand(found, {
      problem: 'the model was not sent',
      expected: `${show(model)} in the URL or the body of the request`,
      received: sent.tree,
      contract: 'conversation',
      hint: 'an adapter for one model, which no request has to name, has needsModel: false',
    })
  }),
  {
    name: 'a call sends nothing of the call before it',
    capability: 'requests',
    async run(harness) {
      if (harness.capabilities?.includes('several_calls') !== true) return
      await play(
        harness,
        hello,
        async (fixture) => {
          await readEvents(fixture, { request: conversation(fixture) })
          const request = requestOf(fixture, [{ role: 'user', content: 'a later question' }])
          await readEvents(fixture, { request })
          const sent = readSent(fixture.requests().slice(1))
          const kept = [systemText, ...talk].find((text) => placesOf(sent, text).length > 0)
          demand(kept === undefined, {
            problem: `${show(kept)} of the first call was sent with the second`,
            expected: 'the messages of the second call alone',
            received: sent.tree,
            contract: 'private',
            hint: 'the messages of a call belong to the call, not to the adapter',
          })
          demandOnce(sent, ['a later question'])
        },
        { more: [hello] },
      )
    },
  },
]

const systemText = 'The house rule is brevity.'

/** What user and assistant say in turn. */
const talk = [
  'first question',
  'first answer',
  'second question',
  'second answer',
  'third question',
]

function conversation(fixture: { readonly model: string }): ModelRequest {
  return requestOf(fixture, [
    { role: 'system', content: systemText },
    ...talk.map((content, at): Message => ({ role: at % 2 === 0 ? 'user' : 'assistant', content })),
  ])
}

function parts(...texts: readonly string[]): readonly Part[] {
  return texts.map((text) => ({ type: 'text', text }))
}

/** Texts that are changed easily: trimmed, joined, escaped twice, or lost when a message has parts. */
function writtenRequest(fixture: { readonly model: string }): ModelRequest {
  return requestOf(fixture, [
    { role: 'system', content: parts('rule one', 'rule two') },
    { role: 'system', content: 'rule three' },
    { role: 'user', content: '  led by spaces' },
    { role: 'assistant', content: 'ends in a line\n' },
    { role: 'user', content: 'tab\tand "quotes" \\ 漢字 🦜' },
    { role: 'assistant', content: parts('I see', ' and nod') },
    { role: 'user', content: parts('part one', ' part two') },
  ])
}

const written = [
  '  led by spaces',
  'ends in a line\n',
  'tab\tand "quotes" \\ 漢字 🦜',
  'I see',
  ' and nod',
  'part one',
  ' part two',
]

const writtenRules = ['rule one', 'rule two', 'rule three']

/** A case about what is sent for a request. */
function sending(
  name: string,
  requestFor: (fixture: ChatFixture) => ModelRequest,
  look: (sent: Sent, fixture: ChatFixture, request: ModelRequest) => void,
  capability: ChatCase['capability'] = 'requests',
): ChatCase {
  return {
    name,
    capability,
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const request = requestFor(fixture)
        await readEvents(fixture, { request })
        look(readSent(fixture.requests()), fixture, request)
      }),
  }
}

function demandOneSent(count: number, sent: Sent): void {
  demand(count === 1, {
    problem: `${count} requests were sent for one call`,
    expected: 'one request',
    received: sent.tree,
    contract: 'sentOnce',
  })
}

/** Demands that each text was sent, and once. */
function demandOnce(sent: Sent, texts: readonly string[]): void {
  for (const text of texts) {
    const count = placesOf(sent, text).length
    demand(count === 1, {
      problem:
        count === 0
          ? `${JSON.stringify(text)} was not sent${changedForm(sent, text)}`
          : `${JSON.stringify(text)} was sent ${count} times`,
      expected: `${JSON.stringify(text)} once in the request`,
      received: sent.tree,
      contract: count === 0 ? 'messages' : 'sentOnce',
    })
  }
}

/** How a text was sent instead, if something like it was. */
function changedForm({ leaves }: Sent, text: string): string {
  const core = text.trim()
  const near = leaves.find(({ value }) => typeof value === 'string' && value.includes(core))
  if (near !== undefined) return `: it was sent as ${show(JSON.stringify(near.value))}`
  const half = core.slice(0, Math.ceil(core.length / 2))
  const part = leaves.find(({ value }) => typeof value === 'string' && value.includes(half))
  return part === undefined ? '' : `: it was sent as ${show(JSON.stringify(part.value))}`
}

/** Demands that texts, each of which was sent once, are in their order. */
function demandOrder(sent: Sent, texts: readonly string[]): void {
  const places = texts.map((text) => placesOf(sent, text)[0])
  for (const [at, place] of places.entries()) {
    const before = places[at - 1]
    if (before === undefined || place === undefined) continue
    demand(isBefore(before, place), {
      problem: `${JSON.stringify(texts[at])} was sent before ${JSON.stringify(texts[at - 1])}`,
      expected: `the order ${show(texts)}`,
      received: sent.tree,
      contract: 'messages',
    })
  }
}

/** The words for an author that formats have. */
const roleWords = {
  user: /^(?:user|human|customer)$/i,
  assistant: /^(?:assistant|model|ai|bot|agent)$/i,
  system: /^(?:system|developer|instructions?)$/i,
} as const

/** The members that name the author of a message. */
const roleKey = /role|author|type|from|speaker|sender|kind|who|by$/i

/** Demands that system, user and assistant can be told apart, and that a word for an author is the right one. */
function demandRoles(sent: Sent): void {
  const texts = [systemText, ...talk]
  demandOnce(sent, texts)
  const places = texts.flatMap((text) => placesOf(sent, text).slice(0, 1))
  const manners = places.map((place) =>
    mannerOf(
      sent,
      place,
      places.filter((other) => other !== place),
      texts,
    ),
  )
  const [system, ...spoken] = manners
  const users = spoken.filter((_, at) => at % 2 === 0)
  const assistants = spoken.filter((_, at) => at % 2 === 1)
  const fault = (problem: string): void =>
    demand(false, {
      problem,
      expected: 'messages that say who their author is',
      received: { system, user: users[0], assistant: assistants[0] },
      contract: 'messages',
    })
  for (const [manner, name, wanted] of [
    ...users.map((one) => [one, 'user', roleWords.user] as const),
    ...assistants.map((one) => [one, 'assistant', roleWords.assistant] as const),
  ]) {
    const words = manner.roles
    const other = Object.entries(roleWords).find(
      ([role, pattern]) => role !== name && words.some((word) => pattern.test(word)),
    )
    if (other !== undefined && !words.some((word) => wanted.test(word)))
      fault(
        `the ${name}'s message was sent as ${words.find((word) => other[1].test(word)) ?? other[0]}`,
      )
  }
  const [user] = users
  for (const assistant of assistants)
    if (users.some(({ form }) => form === assistant.form))
      fault("the assistant's message was sent like the user's")
  if (system !== undefined && users.some(({ form }) => form === system.form))
    fault('the system text was sent as a message of the user')
  if (system !== undefined && assistants.some(({ form }) => form === system.form))
    fault('the system text was sent as a message of the assistant')
  if (system?.merged === true && user?.merged === true && users.some(({ merged }) => !merged))
    fault('the system text was sent inside of a message of the user')
  for (const [group, name] of [
    [users, 'user'],
    [assistants, 'assistant'],
  ] as const) {
    const odd = group.find(({ roles }) => !sameJson(roles, group[0]?.roles))
    if (odd !== undefined)
      fault(
        `the ${name}'s messages were sent in different roles: ${show(group.map(({ roles }) => roles))}`,
      )
  }
}

/** How a message was sent, apart from its text. */
interface Manner {
  /** Everything around the text that is the message's own. */
  readonly form: string
  /** The values of the members that may name its author. */
  readonly roles: readonly string[]
  /** The text shares its leaf with another message. */
  readonly merged: boolean
}

function mannerOf(
  sent: Sent,
  place: Place,
  others: readonly Place[],
  texts: readonly string[],
): Manner {
  const own = surroundings(sent, place, others)
  if (own === undefined) return { form: labelOf(sent, place, texts), roles: [], merged: true }
  const masked = own.map(({ path, value }) => [path.join('.'), maskedText(value, texts)])
  return {
    form: JSON.stringify(masked),
    roles: own.flatMap(({ path, value }) =>
      typeof value === 'string' && roleKey.test(path.at(-1) ?? '') ? [value] : [],
    ),
    merged: false,
  }
}

function maskedText(value: unknown, texts: readonly string[]): unknown {
  if (typeof value !== 'string') return value
  return texts.reduce((rest, text) => rest.replace(text, '#'), value)
}

/** In one text for all messages: what stands before the message, such as `User: `. */
function labelOf({ leaves }: Sent, { leaf, offset }: Place, texts: readonly string[]): string {
  const value = leaves[leaf]?.value
  if (typeof value !== 'string') return ''
  const before = value.slice(0, offset)
  const ends = texts.map((text) => {
    const at = before.lastIndexOf(text)
    return at === -1 ? 0 : at + text.length
  })
  return before.slice(Math.max(...ends))
}

/** Tools, their calls and their results, as they are sent. */
export const toolRequestCases: readonly ChatCase[] = [
  sending('the tools are described to the model', toolsRequest, demandTools, 'tools'),
  sending(
    'the calls of tools are sent back as they were made',
    calledRequest,
    demandCallsSent,
    'tools',
  ),
  sending('the result of a tool is sent back', calledRequest, demandResults, 'tools'),
]

const clockTool: ToolSpec = {
  name: 'world_clock',
  description: 'Tells the time.\n  Give a zone and a style.',
  schema: {
    type: 'object',
    properties: {
      zone: {
        type: 'string',
        description: 'A zone, such as Europe/Paris.',
        enum: ['utc', 'local'],
      },
      style: {
        type: 'object',
        properties: {
          digits: { type: 'integer', description: 'How many digits.' },
          words: { type: 'array', items: { type: 'string' }, description: 'More words.' },
        },
        required: ['digits', 'words'],
        additionalProperties: false,
      },
    },
    required: ['zone', 'style'],
    additionalProperties: false,
  },
}

function toolsRequest(fixture: { readonly model: string }): ModelRequest {
  const messages: readonly Message[] = [{ role: 'user', content: 'What time is it there?' }]
  return requestOf(fixture, messages, [weatherTool, clockTool])
}

function demandTools(sent: Sent): void {
  const tools = [weatherTool, clockTool]
  demandOnce(
    sent,
    tools.map(({ description }) => description),
  )
  const places = tools.flatMap(({ description }) => placesOf(sent, description))
  for (const [at, { name, description, schema }] of tools.entries()) {
    const [own, ...others] = [places[at], ...places.filter((_, other) => other !== at)]
    const around = own === undefined ? [] : (surroundings(sent, own, present(others)) ?? [])
    const finding = {
      received: around.map(({ path, value }) => [path.join('.'), value]),
      contract: 'toolsSent',
    } as const
    demand(
      around.some(({ value }) => value === description),
      {
        ...finding,
        problem: `the description of the tool ${name} was changed`,
        expected: `the description ${JSON.stringify(description)} as it is`,
      },
    )
    demand(
      around.some(({ path, value }) => value === name || path.includes(name)),
      {
        ...finding,
        problem: `the tool ${name} was sent without its name`,
        expected: `${show(name)} beside its description`,
      },
    )
    const problem = schemaProblem(sent, schema)
    demand(problem === undefined, {
      ...finding,
      problem: `the schema of the tool ${name} was not sent whole: ${problem ?? ''}`,
      expected: `the schema ${JSON.stringify(schema)}`,
    })
  }
  const names = tools.map(({ name }) => name)
  const found = sent.leaves.flatMap(({ value }) => names.filter((name) => value === name))
  if (found.length >= names.length)
    demand(sameJson(found.slice(0, names.length), names), {
      problem: `the tools were sent in the order ${found.join(', ')}`,
      expected: `the order ${names.join(', ')}`,
      received: found,
      contract: 'toolsSent',
    })
}

/** What is wrong with the schema that was sent; the best of all candidates. `undefined` when one is right. */
function schemaProblem({ tree }: Sent, schema: JsonObject): string | undefined {
  const wanted = Object.keys(isObject(schema['properties']) ? schema['properties'] : {})
  const candidates = nodesOf(tree).filter((node) => {
    const properties = isObject(node) ? node['properties'] : undefined
    return isObject(properties) && wanted.some((key) => key in properties)
  })
  const problems = candidates.map((node) => schemaDifference(schema, node, ''))
  if (problems.some((problem) => problem === undefined)) return undefined
  return problems[0] ?? `no schema with the properties ${wanted.join(', ')} was sent`
}

/** Members that a format may add to a schema, or leave out. */
const freeMembers = new Set([
  'additionalProperties',
  'propertyOrdering',
  'nullable',
  '$schema',
  'title',
])

function schemaDifference(wanted: unknown, given: unknown, path: string): string | undefined {
  if (!isObject(wanted) || !isObject(given)) {
    const same =
      path.endsWith('.type') && typeof wanted === 'string' && typeof given === 'string'
        ? wanted.toLowerCase() === given.toLowerCase()
        : sameJson(wanted, given)
    return same
      ? undefined
      : `${path} is ${show(JSON.stringify(given))}, not ${show(JSON.stringify(wanted))}`
  }
  const keys = [...new Set([...Object.keys(wanted), ...Object.keys(given)])]
  for (const key of keys.filter((name) => !freeMembers.has(name))) {
    if (!(key in given)) return `${path}.${key} is missing`
    if (!(key in wanted)) return `${path}.${key} was added`
    const difference = schemaDifference(wanted[key], given[key], `${path}.${key}`)
    if (difference !== undefined) return difference
  }
  return undefined
}

function present<T>(values: readonly (T | undefined)[]): readonly T[] {
  return values.filter((value): value is T => value !== undefined)
}

/** Two calls of one tool, so that only their ids and arguments tell them apart. */
const sentCalls: readonly ToolCall[] = [
  {
    id: 'call_lisbon',
    name: 'weather',
    arguments: { city: 'Lisbon', days: 3, exact: false, note: null },
  },
  { id: 'call_oslo', name: 'weather', arguments: { city: 'Oslo', days: 7, exact: true } },
]

/** The second result has two parts. */
const results = ['sunny and 23 degrees', '  snow,\r\n minus four \n']
const resultPart = 'and the fjord is frozen'

function calledRequest(fixture: { readonly model: string }): ModelRequest {
  const [first, second] = sentCalls
  return requestOf(
    fixture,
    [
      { role: 'user', content: 'How is the weather there?' },
      { role: 'assistant', content: 'I will look.', toolCalls: sentCalls },
      { role: 'tool', content: results[0] ?? '', toolCallId: first?.id ?? '' },
      {
        role: 'tool',
        content: [
          { type: 'text', text: results[1] ?? '' },
          { type: 'text', text: resultPart },
        ],
        toolCallId: second?.id ?? '',
      },
      { role: 'assistant', content: 'Warm and cold.' },
      { role: 'user', content: 'And tomorrow?' },
    ],
    [weatherTool],
  )
}

function demandCallsSent(sent: Sent): void {
  const cities = ['Lisbon', 'Oslo']
  demandOnce(sent, ['How is the weather there?', 'I will look.', 'Warm and cold.', 'And tomorrow?'])
  demandOrder(sent, [
    'How is the weather there?',
    ...cities,
    ...results,
    'Warm and cold.',
    'And tomorrow?',
  ])
  for (const [at, { id, name, arguments: args }] of sentCalls.entries()) {
    const nodes = nodesOf(sent.tree).filter((node) => sameJson(node, args))
    demand(nodes.length === 1, {
      problem:
        nodes.length === 0
          ? `the arguments of ${id} were not sent as they are`
          : `the arguments of ${id} were sent ${nodes.length} times`,
      expected: `the arguments ${JSON.stringify(args)} once`,
      received: sent.tree,
      contract: 'callsSent',
    })
    const around = surroundingsOf(sent, cities, cities[at] ?? '')
    demand(
      around.some(({ path, value }) => value === name || path.includes(name)),
      {
        problem: `the call ${id} was sent without the name of its tool`,
        expected: `${show(name)} beside the arguments of the call`,
        received: around.map(({ path, value }) => [path.join('.'), value]),
        contract: 'callsSent',
      },
    )
  }
}

/** What stands around one of several texts, each of which was sent once, and around no other of them. */
function surroundingsOf(sent: Sent, texts: readonly string[], text: string): readonly Leaf[] {
  const [own] = placesOf(sent, text)
  const others = texts.filter((other) => other !== text).flatMap((other) => placesOf(sent, other))
  return own === undefined ? [] : (surroundings(sent, own, others) ?? [])
}

/** Demands that each result is sent once, in order, and that what links a call and its result links no other two. */
function demandResults(sent: Sent): void {
  demandOnce(sent, [...results, resultPart])
  demandOrder(sent, [...results, resultPart])
  const texts = ['Lisbon', 'Oslo', ...results, 'I will look.', 'Warm and cold.']
  const words = (text: string): ReadonlySet<unknown> =>
    new Set(surroundingsOf(sent, texts, text).map(({ value }) => value))
  const calls = ['Lisbon', 'Oslo'].map(words)
  const answers = results.map(words)
  const links = calls.map((call) => {
    const other = calls.find((one) => one !== call)
    return [...call].filter((value) => typeof value === 'string' && other?.has(value) === false)
  })
  for (const [at, { id }] of sentCalls.entries()) {
    const answer = answers[at] ?? new Set()
    const strange = links.findIndex(
      (link, of) => of !== at && link.some((value) => answer.has(value)),
    )
    demand(strange === -1, {
      problem: `the result of ${id} was sent as that of ${sentCalls[strange]?.id ?? ''}`,
      expected: `the result ${JSON.stringify(results[at])} with the id of its call`,
      received: [...answer],
      contract: 'callsSent',
    })
    const isLinked = links[at]?.some((value) => answer.has(value)) === true
    // A format without ids matches results by their order.
    const hasIds = sent.leaves.some(
      ({ value }) => typeof value === 'string' && sentCalls.some((call) => value === call.id),
    )
    demand(isLinked || !hasIds, {
      problem: `the result of ${id} was sent without the id of its call`,
      expected: `the result ${JSON.stringify(results[at])} with ${id}`,
      received: [...answer],
      contract: 'callsSent',
    })
  }
}

/** One setting that is given, and what came of it. */
interface Trial {
  readonly setting: keyof ModelRequest
  readonly value: unknown
  /** What changed in the request, compared with one without the setting. */
  readonly changes: readonly Change[]
  readonly sent: Sent
  readonly warnings: readonly Warning[]
  /** The call was refused before anything was sent. */
  readonly refused: boolean
}

type Given = Partial<ModelRequest>

/** Settings with one value. 0 is a value too. */
const scalars: readonly Given[] = [
  { temperature: 0.123 },
  { temperature: 0 },
  { topP: 0.987 },
  { topK: 37 },
  { maxTokens: 4321 },
  { seed: 123_456_789 },
  { seed: 0 },
  { presencePenalty: -1.25 },
  { frequencyPenalty: 0.875 },
]

/** Settings whose form is the provider's own. */
const shaped: readonly Given[] = [
  { stopSequences: [' END\n', 'STOP  HERE'] },
  { toolChoice: 'auto' },
  { toolChoice: 'none' },
  { toolChoice: 'required' },
  { toolChoice: 'weather' },
  { parallelToolCalls: false },
  { responseFormat: { type: 'text' } },
  { responseFormat: { type: 'json_object' } },
  { responseFormat: { type: 'json_schema', name: 'report', schema: reportSchema(), strict: true } },
  { reasoning: { effort: 'low' } },
  { reasoning: { effort: 'high' } },
  { promptCache: { key: 'conformance-cache', retention: 'long' } },
]

function reportSchema(): JsonObject {
  return {
    type: 'object',
    properties: {
      verdict: { type: 'string', description: 'What was found.', enum: ['good', 'bad'] },
      score: { type: 'number' },
    },
    required: ['verdict', 'score'],
    additionalProperties: false,
  }
}

/** The trials of a harness. Several cases judge them, so they are made once. */
const knownTrials = new WeakMap<ChatHarness, Promise<readonly Trial[]>>()

function trialsOf(harness: ChatHarness): Promise<readonly Trial[]> {
  const known = knownTrials.get(harness) ?? makeTrials(harness)
  knownTrials.set(harness, known)
  return known
}

async function makeTrials(harness: ChatHarness): Promise<readonly Trial[]> {
  const isUsingTools = harness.capabilities?.includes('tools') === true
  const plain = await tryOut(harness, {}, false)
  const again = await tryOut(harness, {}, false)
  const withTools = isUsingTools ? await tryOut(harness, {}, true) : plain
  const volatile = new Set(changesOf(plain.sent, again.sent).map(({ path }) => path))
  const trials: Trial[] = []
  for (const given of [...scalars, ...shaped]) {
    const [setting] = Object.keys(given) as (keyof ModelRequest)[] // Each names one setting.
    if (setting === undefined) continue
    const needsTools = setting === 'toolChoice' || setting === 'parallelToolCalls'
    if (needsTools && !isUsingTools) continue
    const tried = await tryOut(harness, given, needsTools)
    const base = needsTools ? withTools : plain
    const changes = changesOf(base.sent, tried.sent).filter(({ path }) => !volatile.has(path))
    trials.push({ setting, value: given[setting], changes: tried.refused ? [] : changes, ...tried })
  }
  return trials
}

function tryOut(
  harness: ChatHarness,
  given: Given,
  withTool: boolean,
): Promise<Pick<Trial, 'sent' | 'warnings' | 'refused'>> {
  return play(harness, hello, async (fixture) => {
    const request = withTool ? twoTools(fixture) : requestOf(fixture)
    const { events, failure } = await read(fixture, {
      request: { ...request, ...structuredClone(given) },
    })
    const [started] = eventsOfType(events, 'message_started')
    const sent = readSent(fixture.requests()[0])
    // What the provider refuses was sent.
    const refused = failure !== undefined && fixture.requests().length === 0
    return { sent, warnings: started?.warnings ?? [], refused }
  })
}

/** A request with a second tool: the one that must be called may also be named by leaving out the other. */
function twoTools(fixture: ChatFixture): ModelRequest {
  const request = weatherRequest(fixture)
  return { ...request, tools: [...request.tools, clockTool] }
}

/** The settings of a request, as they are sent. */
export const settingCases: readonly ChatCase[] = [
  {
    name: 'a setting is sent as it is given',
    capability: 'requests',
    async run(harness) {
      for (const trial of await trialsOf(harness)) {
        if (trial.changes.length === 0) continue
        if (scalars.some((given) => trial.setting in given)) demandScalar(trial)
        else demandShaped(trial)
      }
      demandChoices(await trialsOf(harness))
      demandOwnPlaces(await trialsOf(harness))
    },
  },
  {
    name: 'a setting that the request does not have is not sent',
    capability: 'requests',
    async run(harness) {
      for (const { setting, changes } of await trialsOf(harness)) {
        // Some providers need a limit.
        if (setting === 'maxTokens' || !scalars.some((given) => setting in given)) continue
        const unasked = changes.find(
          ({ before, after }) => before !== undefined && after !== undefined,
        )
        demand(unasked === undefined, {
          problem: `${setting} was sent though the request has none: ${unasked?.path ?? ''} is ${show(unasked?.before)}`,
          expected: `no ${setting} in the request of a call without it`,
          received: unasked,
          contract: 'settings',
        })
      }
    },
  },
  {
    name: 'a setting that is not sent is named in warnings',
    capability: 'settings',
    async run(harness) {
      for (const { setting, value, changes, warnings, refused } of await trialsOf(harness)) {
        if (refused || changes.length > 0 || isDefault(value)) continue
        const named = warnings.some(
          (one) => one.setting === setting || one.setting.startsWith(`${setting}.`),
        )
        demand(named, {
          problem: `${setting} ${show(value)} was dropped without a word`,
          expected: `${setting} in the request, or in warnings of message_started`,
          received: warnings,
          contract: 'settings',
        })
      }
    },
  },
  {
    name: 'the options of the provider are sent, and those of others are not',
    capability: 'settings',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const { provider } = fixture.adapter
        const { ownOption = (text) => ({ conformance_option: text }) } = harness
        const foreign = ['openai', 'anthropic', 'gemini'].filter((name) => name !== provider)
        const request = {
          ...requestOf(fixture),
          providerOptions: Object.fromEntries<JsonObject>([
            [provider, ownOption('an option of its own')],
            ...foreign.map((name): [string, JsonObject] => [
              name,
              { [`${name}_option`]: `an option of ${name}` },
            ]),
          ]),
        }
        // What the provider refuses was sent.
        const { events } = await read(fixture, { request })
        const [started] = eventsOfType(events, 'message_started')
        const sent = readSent(fixture.requests())
        const warned =
          started?.warnings?.some(({ setting }) => setting.startsWith('providerOptions')) === true
        if (!warned)
          demand(placesOf(sent, 'an option of its own').length === 1, {
            problem: 'the options of the provider were not sent once',
            expected: `providerOptions[${JSON.stringify(provider)}] once in the request`,
            received: sent.tree,
            contract: 'ownOptions',
          })
        // An adapter may speak the format of a provider of this package, and takes its options too.
        const leaked = foreign.filter((name) => placesOf(sent, `an option of ${name}`).length > 0)
        demand(leaked.length < 2 || isCallRecord(fixture), {
          problem: `the options of ${leaked.join(' and ')} were sent to ${provider}`,
          expected: 'only the options of the provider',
          received: sent.tree,
          contract: 'private',
        })
      }),
  },
  {
    name: 'what is not for the provider is not sent',
    capability: 'requests',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        if (isCallRecord(fixture)) return
        await readEvents(fixture, { request: privateRequest(fixture) })
        const sent = readSent(fixture.requests())
        for (const [field, text] of Object.entries(privateTexts)) {
          const leaf = sent.leaves.find(
            ({ path, value }) =>
              path.some((key) => key.includes(text)) || String(value).includes(text),
          )
          demand(leaf === undefined, {
            problem: `${field} was sent`,
            expected: `no ${field} in the request`,
            received: leaf,
            contract: 'private',
          })
        }
      }),
  },
]

/** A fake sends nothing: what its harness shows is the call itself, with all that the call has. */
export function isCallRecord({ adapter }: ChatFixture): boolean {
  return adapter.provider === 'fake'
}

/** Whether a value asks for what a provider does anyway. */
function isDefault(value: unknown): boolean {
  return value === 'auto' || (isObject(value) && value['type'] === 'text')
}

const privateTexts = {
  'metadata of the request': 'private-request',
  'metadata of a message': 'private-message',
  'sources of a message': 'private-source',
  'the name of the engine of an answer': 'private-agent',
  'why an answer ended': 'content_filter',
}

function privateRequest(fixture: { readonly model: string }): ModelRequest {
  const request = requestOf(fixture, [
    { role: 'user', content: 'Who wrote it?', metadata: { note: 'private-message' } },
    {
      role: 'assistant',
      content: 'A poet.',
      metadata: { 'private-message': true },
      agent: 'private-agent',
      finishReason: 'content_filter',
      sources: [
        { type: 'url', url: 'https://example.com/private-source', title: 'private-source' },
      ],
    },
    { role: 'user', content: 'Which one?' },
  ])
  return { ...request, metadata: { tenant: 'private-request', 'private-request': [1] } }
}

/** Demands that a setting of one value changed one value, and to exactly that. */
function demandScalar({ setting, value, changes }: Trial): void {
  const fault = (problem: string): Finding => ({
    problem,
    expected: `${setting} ${show(value)} at one place, and nothing else changed`,
    received: changes,
    contract: 'settings',
  })
  const right = changes.filter(({ after }) => after === value)
  const other = changes.find(({ after }) => after !== value)
  const [only] = right
  demand(
    only !== undefined,
    fault(`${setting} ${JSON.stringify(value)} was sent as ${show(JSON.stringify(other?.after))}`),
  )
  demand(right.length === 1, fault(`${setting} was sent ${right.length} times`))
  demand(
    other === undefined,
    fault(
      `${setting} changed ${other?.path ?? ''} from ${show(other?.before)} to ${show(other?.after)} as well`,
    ),
  )
}

/** Demands that what a setting has as texts is in what was sent for it. */
function demandShaped({ setting, value, changes, sent }: Trial): void {
  if (setting === 'stopSequences') {
    const lists = nodesOf(sent.tree).filter((node) => sameJson(node, value))
    demand(lists.length === 1, {
      problem: `stopSequences were sent ${lists.length === 0 ? 'in another form' : `${lists.length} times`}`,
      expected: `the list ${show(value)} once`,
      received: changes,
      contract: 'settings',
    })
  }
  if (setting === 'responseFormat' && isObject(value) && isObject(value['schema'])) {
    // It was made here.
    const problem = schemaProblem(sent, value['schema'] as JsonObject)
    demand(problem === undefined, {
      problem: `the schema of the answer was not sent whole: ${problem ?? ''}`,
      expected: `the schema ${JSON.stringify(value['schema'])}`,
      received: changes,
      contract: 'settings',
    })
  }
  if (setting === 'toolChoice' && value === 'weather') {
    demand(
      changes.some(({ after }) => after === value) ||
        sent.leaves.every(({ value: leaf }) => leaf !== clockTool.name),
      {
        problem: 'the tool that must be called was not named',
        expected: `${show(value)} in the choice of tools`,
        received: changes,
        contract: 'settings',
      },
    )
  }
}

/** Demands that no two settings have the same place. */
function demandOwnPlaces(trials: readonly Trial[]): void {
  const owners = new Map<string, string>()
  for (const { setting, changes } of trials) {
    const [change] = changes
    if (change === undefined || !scalars.some((given) => setting in given)) continue
    const owner = owners.get(change.path) ?? setting
    demand(owner === setting, {
      problem: `${setting} was sent in the place of ${owner}: ${change.path}`,
      expected: 'a place of its own for each setting',
      received: changes,
      contract: 'settings',
    })
    owners.set(change.path, setting)
  }
}

/** Demands that different values of a setting are sent differently, where they are sent at all. */
function demandChoices(trials: readonly Trial[]): void {
  for (const setting of ['toolChoice', 'responseFormat', 'reasoning'] as const) {
    const tried = trials.filter((trial) => trial.setting === setting && trial.changes.length > 0)
    for (const [at, trial] of tried.entries()) {
      const alike = tried.slice(0, at).find((other) => sameJson(other.changes, trial.changes))
      demand(alike === undefined || alike.warnings.length > 0 || trial.warnings.length > 0, {
        problem: `${setting} ${show(trial.value)} was sent like ${show(alike?.value)}`,
        expected: 'different values to be sent differently',
        received: trial.changes,
        contract: 'settings',
      })
    }
  }
}

/** Some bytes, as base64, by what they are part of. */
const bytes = {
  image:
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  file: 'JVBERi0xLjQKJSBhIHNtYWxsIGZpbGUgZm9yIHRoZSBraXQK',
}

/** Images and files in messages, and the key of a call. */
export const mediaCases: readonly ChatCase[] = [
  media('images of a message are sent', 'image_input', {
    type: 'image',
    image: { type: 'base64', base64: bytes.image, mimeType: 'image/png' },
  }),
  media('files of a message are sent', 'file_input', {
    type: 'file',
    file: { type: 'base64', base64: bytes.file, mimeType: 'application/pdf', name: 'kit.pdf' },
  }),
  {
    name: 'the headers of a call are sent',
    capability: 'call_headers',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const headers = { 'X-Conformance-Trace': 'a header of the call' }
        await readEvents(fixture, { options: { headers } })
        const sent = fixture.sentHeaders().map((one) => one['x-conformance-trace'])
        demand(sameJson(sent, ['a header of the call']), {
          problem: 'the headers of the call were not sent',
          expected: 'x-conformance-trace with the value of the call',
          received: fixture.sentHeaders().map((one) => Object.keys(one)),
          contract: 'callHeaders',
        })
      }),
  },
  {
    name: 'the key of a call is sent before the key of the adapter',
    capability: 'keys',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const options: AdapterOptions = { apiKey: 'the-key-of-the-call' }
        await readEvents(fixture, { options })
        const keys = fixture.sentKeys()
        demand(keys.length === 1 && keys[0] === options.apiKey, {
          problem: 'the call was made with another key than its own',
          expected: 'the key of the call',
          received: keys.map((key) =>
            key === options.apiKey ? 'the key of the call' : 'another key',
          ),
          contract: 'callKey',
        })
      }),
  },
]

function media(
  name: string,
  capability: NonNullable<ChatCase['capability']>,
  part: Part,
): ChatCase {
  const [base64, mimeType] =
    part.type === 'image' ? [bytes.image, 'image/png'] : [bytes.file, 'application/pdf']
  const requestFor = (fixture: ChatFixture): ModelRequest =>
    requestOf(fixture, [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look at this.' },
          part,
          { type: 'text', text: 'What is it?' },
        ],
      },
    ])
  return sending(
    name,
    requestFor,
    (sent) => {
      demandOnce(sent, ['Look at this.', base64, 'What is it?'])
      demandOrder(sent, ['Look at this.', base64, 'What is it?'])
      const [place] = placesOf(sent, base64)
      const others = ['Look at this.', 'What is it?'].flatMap((text) => placesOf(sent, text))
      const around = place === undefined ? [] : (surroundings(sent, place, others) ?? [])
      demand(
        around.some(({ value }) => String(value).includes(mimeType)),
        {
          problem: `the ${part.type} was sent without its type`,
          expected: `${mimeType} beside the bytes`,
          received: around.map(({ path, value }) => [path.join('.'), show(value)]),
          contract: 'mediaSent',
        },
      )
    },
    capability,
  )
}

/** The requests of `generate` are those of `stream`. */
export function demandSameRequest(streamed: unknown, generated: unknown): void {
  const difference = changesOf(readSent(streamed), readSent(generated)).find(
    ({ path, before, after }) =>
      !/stream|url|path|^number$/i.test(path) && typeof (before ?? after) !== 'undefined',
  )
  demand(difference === undefined, {
    problem: `generate sends another request than stream: ${difference?.path ?? ''} is ${show(difference?.after)}, not ${show(difference?.before)}`,
    expected: 'the same request, apart from how it is answered',
    received: differenceOf(streamed, generated),
    contract: 'conversation',
  })
}

/** A request with a bit of everything, to compare what is sent for it. */
export function fullRequest(fixture: Pick<ChatFixture, 'model' | 'declares'>): ModelRequest {
  const said = fixture.declares('tools') ? calledRequest(fixture) : conversation(fixture)
  return { ...said, temperature: 0.123, maxTokens: 4321 }
}
