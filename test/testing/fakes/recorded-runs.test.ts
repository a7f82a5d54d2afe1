import { describe, expect, test } from 'vitest'
import {
  assistant,
  chat,
  createEngine,
  modelRequest,
  toolResult,
  user,
  type Message,
  type ToolSpec,
} from '../../../src/index.ts'
import type { Cassette, CassetteCall } from '../../../src/middleware.ts'
import {
  expectTrajectory,
  fake,
  recordedTools,
  trajectory,
  type Script,
} from '../../../src/testing.ts'
import { recordedRuns } from '../../../src/testing/fakes/recorded-runs.ts'

const spec: ToolSpec = { name: 'weather', description: 'The weather.', schema: { type: 'object' } }
const weather = (id: string, city: string) => ({ id, name: 'weather', arguments: { city } })

function recorded(messages: readonly Message[], script: Script): CassetteCall {
  return { provider: 'openai', request: modelRequest(messages, { tools: [spec] }), script }
}

const asked = [user('How warm is Ghent?')]
const called = assistant('', { toolCalls: [weather('c1', 'Ghent')] })
const answered = [...asked, called, toolResult('c1', '{"celsius":21}')]

const simple: Cassette = {
  version: 1,
  calls: [
    recorded(asked, [['tool_call', weather('c1', 'Ghent')]]),
    recorded(answered, [
      ['text', '21 degrees.'],
      ['finish', 'stop'],
    ]),
  ],
}

/** The numbers of the calls, by run and turn. */
function numbers(cassette: Cassette): unknown {
  return recordedRuns(cassette).map(({ turns }) =>
    turns.map(({ calls }) => calls.map(({ index }) => index)),
  )
}

describe('conversations of a cassette', () => {
  test('a call that has the messages of another, its answer and results, goes on with it', () => {
    expect(numbers(simple)).toEqual([[[0, 1]]])
  })

  test('words of the user begin a turn', () => {
    const more = [...answered, assistant('21 degrees.'), user('And Paris?')]
    const cassette = { ...simple, calls: [...simple.calls, recorded(more, [['text', 'Cold.']])] }
    expect(numbers(cassette)).toEqual([[[0, 1], [2]]])
    expect(recordedRuns(cassette)[0]?.turns[1]?.messages).toEqual([user('And Paris?')])
  })

  test('a call that was refused and made again is one turn', () => {
    const refused = recorded(asked, [['preflight_error', 'rate_limited', {}]])
    expect(numbers({ ...simple, calls: [refused, ...simple.calls] })).toEqual([[[0, 1, 2]]])
  })

  test('calls of conversations at the same time are told apart', () => {
    const [first, second] = simple.calls as [CassetteCall, CassetteCall]
    const other = recorded([user('Tell a joke.')], [['text', 'No.']])
    expect(numbers({ ...simple, calls: [first, other, second] })).toEqual([[[0, 2]], [[1]]])
    expect(numbers({ ...simple, calls: [first, first, second, second] })).toEqual([
      [[0, 3]],
      [[1, 2]],
    ])
  })
})

describe('the trajectory of a cassette', () => {
  test('has the calls with the answers that the next request brought', () => {
    expect(trajectory(simple)).toEqual([
      {
        type: 'call',
        id: 'c1',
        name: 'weather',
        arguments: { city: 'Ghent' },
        answer: { celsius: 21 },
      },
      { type: 'text', text: '21 degrees.' },
      { type: 'end', status: 'completed', reason: 'stop' },
    ])
    expectTrajectory(simple).toCall('weather', { city: 'Ghent' }).toSay('21').toEndAs('completed')
  })

  test('ends as its last answer does', () => {
    const end = (script: Script): unknown =>
      trajectory({ version: 1, calls: [recorded(asked, script)] }).at(-1)
    expect(end([['tool_call', weather('c1', 'Ghent')]])).toEqual({
      type: 'end',
      status: 'tool_calls',
    })
    expect(
      end([
        ['text', 'x'],
        ['finish', 'length'],
      ]),
    ).toEqual({ type: 'end', status: 'length' })
    const error = { type: 'end', status: 'error', reason: 'rate_limited' }
    expect(end([['preflight_error', 'rate_limited', {}]])).toEqual(error)
    expect(
      end([
        ['text_delta', 'x'],
        ['stream_error', 'truncated', {}],
      ]),
    ).toMatchObject({ reason: 'truncated' })
    expect(trajectory({ version: 1, calls: [] })).toEqual([{ type: 'end', status: 'completed' }])
  })
})

describe('recorded tools', () => {
  test('have the schemas of the recording, whatever they mean', () => {
    const odd = { ...spec, schema: { city: 'string' } }
    const request = modelRequest(asked, { tools: [odd] })
    const calls = [{ provider: 'openai', request, script: ['Hi.'] }] as const
    expect(recordedTools({ version: 1, calls } as unknown as Cassette)).toMatchObject([odd])
  })

  const run = (cassette: Cassette, ...scripts: Script[]) =>
    chat(createEngine({ adapter: fake({ scripts }), tools: recordedTools(cassette) }), asked)

  test('answer what was recorded, by id or by arguments, once', async () => {
    const result = await run(
      simple,
      [['tool_call', weather('other', 'Ghent')]],
      [['tool_call', weather('c1', 'Ghent')]],
      [['text', 'Done.']],
    )
    expectTrajectory(result)
      .toCall('weather', {}, { answer: { celsius: 21 }, failed: false })
      .toCall('weather', {}, { failed: true, answer: { error: /no answer of weather/ } })
      .toEndAs('completed')
  })

  test('a recorded failure is one', async () => {
    const failed = [
      ...asked,
      called,
      { ...toolResult('c1', '{"error":"down"}'), metadata: { isError: true } },
    ]
    const [first] = simple.calls as [CassetteCall]
    const cassette: Cassette = {
      version: 1,
      calls: [first, recorded(failed, [['text', 'Sorry.']])],
    }
    const result = await run(cassette, first.script, [['text', 'Sorry.']])
    expectTrajectory(result).toCall('weather', {}, { failed: true, answer: { error: 'down' } })
    expectTrajectory(cassette).toCall('weather', {}, { failed: true, answer: { error: 'down' } })
  })
})
