import { expect, test } from 'vitest'
import {
  askUser,
  createEngine,
  fail,
  imageFromBase64,
  Session,
  tool,
  toView,
  toViewEvent,
  type ViewInclude,
} from '../../../src/index.ts'
import { createRuns, type RunView } from '../../../src/runs.ts'
import { memoryStore } from '../../../src/stores.ts'
import { fake, type Script } from '../../../src/testing.ts'

/** Words that are planted where a browser must not look. */
const canaries = {
  system: 'CANARY-system',
  instructions: 'CANARY-instructions',
  argument: 'CANARY-argument',
  result: 'CANARY-result',
  failure: 'CANARY-failure',
  thrown: 'CANARY-thrown',
  policy: 'CANARY-policy',
  reasoning: 'CANARY-reasoning',
  opaque: 'CANARY-opaque',
  metadata: 'CANARY-metadata',
  context: 'CANARY-context',
  message: 'CANARY-message-metadata',
  image: 'CANARY-image-metadata',
  error: 'CANARY-error',
  late: 'CANARY-late',
  cause: 'CANARY-cause',
  raw: 'CANARY-raw',
  item: 'CANARY-item',
  by: 'CANARY-by',
} as const

const schema = { type: 'object' } as const

const call = (id: string, name: string): Script[number] => [
  'tool_call',
  { id, name, arguments: { secret: canaries.argument } },
]

const scripts: readonly Script[] = [
  [
    ['reasoning', canaries.reasoning, { opaque: canaries.opaque }],
    ['text', 'One.'],
    ['raw_chunk', { chunk: canaries.raw }],
    call('c1', 'look'),
    call('c2', 'fails'),
    call('c3', 'throws'),
    call('c4', 'ask'),
    call('c5', 'hand'),
    call('c6', 'judge'),
  ],
  [['text', 'Two.'], call('c7', 'look')],
  [['text', 'Three.']],
  [['text', 'Four.']],
  [
    ['text', 'Half'],
    ['error', canaries.error],
  ],
]

const tools = [
  tool({
    name: 'look',
    description: 'Looks.',
    schema,
    handler: () => ({ found: canaries.result }),
  }),
  tool({ name: 'fails', description: 'Fails.', schema, handler: () => fail(canaries.failure) }),
  tool({
    name: 'throws',
    description: 'Throws.',
    schema,
    handler: () => {
      throw new Error(canaries.thrown, { cause: canaries.cause })
    },
  }),
  tool({ name: 'ask', description: 'Asks.', schema, handler: () => askUser('Which?') }),
  tool({ name: 'hand', description: 'By hand.', schema, manual: true }),
  tool({
    name: 'judge',
    description: 'Waits for a decision.',
    schema,
    needsApproval: () => {
      throw new Error(canaries.policy)
    },
    handler: () => canaries.result,
  }),
]

/** Everything that the routes answer in the course of a conversation that has all of it. */
async function everything(include: readonly ViewInclude[] = []): Promise<string> {
  const store = memoryStore()
  const image = { ...imageFromBase64('aGk=', 'image/png'), metadata: { by: canaries.image } }
  const session = Session.create({
    id: 'ada',
    messages: [
      { role: 'system', content: canaries.system },
      { role: 'user', content: 'Before', metadata: { from: canaries.message } },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Seen.' },
          { type: 'image', image },
          { type: 'reasoning', text: canaries.reasoning },
          { type: 'provider_item', provider: 'openai', item: { query: canaries.item } },
        ],
        sources: [{ type: 'url', url: 'https://a.b', providerMetadata: { x: canaries.metadata } }],
      },
    ],
    context: { key: canaries.context },
    metadata: { tenant: canaries.metadata },
  })
  await store.save(session)
  let calls = 0
  await using runs = createRuns({
    engine: createEngine({
      adapter: fake({ script: () => scripts[calls++] ?? [['text', 'More.']] }),
      instructions: canaries.instructions,
      includeRawChunks: true,
      retry: false,
      tools,
    }),
    store,
  })
  const handle = runs.handler({
    include,
    authorize: () => ({
      context: { token: canaries.context },
      metadata: { account: canaries.metadata },
      by: canaries.by,
    }),
  })
  let all = ''
  const ask = async (path: string, body?: object): Promise<string> => {
    const response = await handle(
      new Request(
        `http://a/ada${path}`,
        body === undefined
          ? {}
          : {
              method: 'POST',
              headers: { 'content-type': 'application/json' },
              body: JSON.stringify(body),
            },
      ),
    )
    const text = await response.text()
    all += `${JSON.stringify([...response.headers])}\n${text}\n`
    return text
  }
  const shown = async (): Promise<RunView> => JSON.parse(await ask('')) as RunView
  const turn = async (path: string, body: object): Promise<void> => {
    await ask(path, body)
    await ask('/events')
    await ask('')
  }
  await turn('/messages', { text: 'go' })
  await turn('/messages', { text: 'that one', answers: (await shown()).pendingQuestion?.ticket })
  await turn('/messages', { text: 'and meanwhile?' })
  await turn('/tools/c5', { result: canaries.late })
  const ticket = (await shown()).pendingApprovals.find(({ id }) => id === 'c6')?.ticket
  await turn('/approvals/c6', { approve: false, reason: 'no', ticket })
  await turn('/messages', { text: 'and now?' })
  await turn('/approvals/c6', { approve: true, ticket })
  await turn('/tools/c5', { result: 'again' })
  await ask('/events?after=0')
  const { session: last } = await runs.wait('ada')
  expect(last.status).toBe('error')
  all += JSON.stringify(toView(last, { include }))
  for await (const { event } of runs.follow('ada')) {
    all += JSON.stringify(toViewEvent(event, { include }))
  }
  return all
}

test('nothing that was planted reaches a browser, except the arguments of calls that await approval', async () => {
  const all = await everything()
  for (const text of [
    'One.',
    'Two.',
    'Seen.',
    'Half',
    'that one',
    'Which?',

    'https://a.b',
  ]) {
    expect(all).toContain(text)
  }
  const approvals = `{"id":"c6","name":"judge","arguments":{"secret":"${canaries.argument}"}`
  const rest = all.replaceAll(approvals, '')
  expect(rest).not.toBe(all)
  expect(Object.values(canaries).filter((word) => rest.includes(word))).toEqual([])
})

test.each([
  ['system', 'system'],
  ['reasoning', 'reasoning'],
  ['tool_arguments', 'argument'],
  ['tool_results', 'result'],
  ['raw_chunks', 'raw'],
  ['metadata', 'metadata'],
  ['metadata', 'message'],
  ['metadata', 'image'],
  ['errors', 'error'],
  ['late_results', 'late'],
  ['by', 'by'],
] as const)('%s adds %s, and neither items, keys nor instructions', async (include, name) => {
  const all = await everything([include])
  expect(all).toContain(canaries[name])
  for (const never of ['opaque', 'context', 'item', 'instructions'] as const) {
    expect(all).not.toContain(canaries[never])
  }
})
