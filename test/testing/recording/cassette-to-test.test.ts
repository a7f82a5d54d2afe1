import { describe, expect, test } from 'vitest'
import {
  assistant,
  modelRequest,
  system,
  toolResult,
  user,
  ValidationError,
  type Message,
  type ToolSpec,
} from '../../../src/index.ts'
import { cassetteToTest, type Cassette, type CassetteCall } from '../../../src/middleware.ts'
import type { Script } from '../../../src/testing.ts'
import { installed } from '../../apps/cli/installed.ts'

const spec: ToolSpec = { name: 'weather', description: 'The weather.', schema: { type: 'object' } }

function recorded(messages: readonly Message[], script: Script): CassetteCall {
  const request = modelRequest(messages, { model: 'gpt-4o', tools: [spec] })
  return { provider: 'openai', model: 'gpt-4o', request, script }
}

const ghent = { id: 'c1', name: 'weather', arguments: { city: 'Ghent' } }
const asked = [system('Be brief.'), user('How warm is Ghent?')]
const called = assistant('', { toolCalls: [ghent] })
const answered = [...asked, called, toolResult('c1', '{"celsius":21}')]
const failed = [...asked, called, toolResult('c1', 'it broke', { isError: true })]
const calls: Script = [['tool_call', ghent]]
const says = (text: string): Script => [['text', text]]

const cassette = (...list: readonly CassetteCall[]): Cassette => ({ version: 1, calls: list })

/** Recordings, each of which becomes a test that passes as it is. */
const recordings: Readonly<Record<string, Cassette>> = {
  simple: cassette(recorded(asked, calls), recorded(answered, says("It's 21 degrees.\nWarm."))),
  'two turns': cassette(
    recorded(asked, calls),
    recorded(answered, says('21 degrees.')),
    recorded([...answered, assistant('21 degrees.'), user('And "Paris"?')], says('Cold.')),
  ),
  'a tool that failed': cassette(recorded(asked, calls), recorded(failed, says('Sorry.'))),
  'a call that was denied': cassette(
    recorded(asked, [
      ['tool_call', ghent],
      ['tool_call', { ...ghent, id: 'c2' }],
    ]),
    recorded(
      [
        ...asked,
        assistant('', { toolCalls: [ghent, { ...ghent, id: 'c2' }] }),
        toolResult('c1', '{"celsius":21}'),
        toolResult('c2', 'the call was denied and was not run: no', { isError: true }),
      ],
      says('Sorry.'),
    ),
  ),
  'a run that stopped in the middle': cassette(recorded(asked, calls)),
  'a retry': cassette(
    recorded(asked, [['preflight_error', 'rate_limited', { retryAfterMs: 600_000 }]]),
    recorded(asked, [['preflight_error', 'provider_unavailable', { status: 503 }]]),
    recorded(asked, says('21 degrees.')),
  ),
  'a run that gave up': cassette(
    recorded(asked, [['preflight_error', 'rate_limited', {}]]),
    recorded(asked, [['preflight_error', 'rate_limited', {}]]),
  ),
  'a refusal': cassette(recorded(asked, [['preflight_error', 'invalid_request', { status: 400 }]])),
  'a cut': cassette(
    recorded(asked, [
      ['text_delta', 'It is'],
      ['stream_error', 'truncated', {}],
    ]),
  ),
  'an answer that is too long': cassette(
    recorded(asked, [
      ['text', 'It is'],
      ['finish', 'length'],
    ]),
  ),
  'a filtered answer': cassette(
    recorded(asked, [
      ['text', 'It'],
      ['finish', 'content_filter'],
    ]),
  ),
  'two conversations': cassette(
    recorded(asked, calls),
    recorded([user('Tell a joke.')], says('No.')),
    recorded(answered, says('21 degrees.')),
    recorded([user('Tell a joke.')], says('Never.')),
  ),
  'a long run': longRun(12),
  'hostile words': cassette(
    recorded(
      [user("'); process.exit(0) //\n*/ `${1}` \u2028 \\")],
      [
        [
          'tool_call',
          { id: 'c', name: 'weather', arguments: JSON.parse('{"constructor":{"x":1},"q":"\'"}') },
        ],
      ],
    ),
  ),
}

function longRun(length: number): Cassette {
  const messages: Message[] = [...asked]
  const list: CassetteCall[] = []
  for (let n = 1; n <= length; n++) {
    const call = { id: `c${n}`, name: 'weather', arguments: { n } }
    list.push(recorded([...messages], [['tool_call', call]]))
    messages.push(assistant('', { toolCalls: [call] }), toolResult(call.id, 'ok'))
  }
  return cassette(...list, recorded(messages, says('Done.')))
}

const tools = `import { tool } from 'allm-ts'
export const all = [
  tool({ name: 'weather', description: 'The weather.', schema: { type: 'object' }, needsApproval: true, handler: () => ({ celsius: 21 }) }),
]
`
const agent = `import { createEngine } from 'allm-ts'
import { openai } from 'allm-ts/openai'
import { all } from './tools.mjs'
export const mine = createEngine({ adapter: openai(), model: 'gpt-4o', tools: all, instructions: 'Be kind.' })
`

test('an engine sends its own instructions, and not the recorded ones too', () => {
  const recording: Cassette = { version: 1, calls: [recorded(asked, says('21.'))] }
  const text = cassetteToTest(recording, { engine: './agent.mjs' })
  expect(text).toContain(".messages.filter(({ role }) => role !== 'system') ?? []")
  expect(cassetteToTest(recording, {})).not.toContain('.filter(({ role })')
})

test('what it writes passes, for every recording: with the recorded answers, with the own tools, and with the own engine', async () => {
  const place = await installed()
  place.write('tools.mjs', tools)
  place.write('agent.mjs', agent)
  const files: string[] = []
  for (const [name, recording] of Object.entries(recordings)) {
    const base = name.replaceAll(' ', '-')
    place.write(`${base}.json`, JSON.stringify(recording))
    const write = (ending: string, options: Parameters<typeof cassetteToTest>[1]): void => {
      files.push(place.write(`${base}.${ending}.test.mjs`, cassetteToTest(recording, options)))
    }
    write('embedded', {})
    write('file', { file: `./${base}.json` })
    write('tools', { file: `./${base}.json`, tools: './tools.mjs' })
    write('engine', { engine: './agent.mjs#mine' })
  }
  const all = place.write(
    'all.test.mjs',
    files.map((file) => `await import(${JSON.stringify(file)})\n`).join(''),
  )
  const { stdout, code } = await place.node(['--test', '--test-reporter=tap', all])
  const failures = stdout.split('\n').filter((line) => /^\s*not ok/.test(line))
  expect(failures, stdout).toEqual([])
  expect(code).toBe(0)
  // Two recordings of the list have two conversations, or three.
  expect(Number(/^# pass (\d+)$/m.exec(stdout)?.[1])).toBeGreaterThanOrEqual(files.length)
})

describe('what it writes', () => {
  const simple = recordings['simple'] as Cassette

  test('reads like a test that a person wrote', () => {
    expect(cassetteToTest(simple, { file: './cassette.json', tools: './tools.ts' }))
      .toBe(`// Made from ./cassette.json by allm-ts test. It is yours now: change what it expects.
// It runs the tools of ./tools.ts for real: what they pay, send or delete is paid, sent or deleted again by every run of
// this test. Import a module with harmless ones, or make it without --tools and --engine: then recordedTools answers what was recorded.
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { chat, createEngine } from 'allm-ts'
import { parseCassette, replay } from 'allm-ts/middleware'
import { expectTrajectory, toolsOf, virtualClock } from 'allm-ts/testing'
import * as tools from './tools.ts'

const cassette = parseCassette(readFileSync(new URL('./cassette.json', import.meta.url), 'utf8'))

test('How warm is Ghent?', async () => {
  // The model answers what was recorded, whatever it is asked.
  const adapter = replay(cassette, { match: () => true })
  const engine = createEngine({ adapter, clock: virtualClock(), tools: toolsOf(tools) })

  const result = await chat(engine, cassette.calls[0]?.request.messages ?? [], { approve: ({ id }) => (["c1"].includes(id) ? 'run' : 'ask') })
  expectTrajectory(result)
    .toCall('weather', {"city":"Ghent"}, { failed: false })
    .toSay("It's 21 degrees.\\nWarm.")
    .toEndAs('completed')

  adapter.assertDone()
})
`)
  })

  test('names the runner, and says of a call that it failed in the recording', () => {
    const text = cassetteToTest(recordings['a tool that failed'] as Cassette, {
      runner: 'vitest',
      tools: './tools.ts',
    })
    expect(text).toContain("import { test } from 'vitest'\n")
    expect(text).toContain(`    // In the recording it failed: {"error":"it broke"}
    .toCall('weather', {"city":"Ghent"}, { failed: false })
`)
  })

  test('runs no call that was denied, and none whose answer was not recorded', () => {
    const written = (name: string): string =>
      cassetteToTest(recordings[name] as Cassette, { tools: './tools.ts' })
    expect(written('a call that was denied')).toContain(
      `{ approve: ({ id }) => (["c2"].includes(id) ? { deny: 'as in the recording' } : ["c1"].includes(id) ? 'run' : 'ask') }`,
    )
    expect(written('a call that was denied')).toContain(`    // In the recording it was denied.
    .toCall('weather', {"city":"Ghent"}, { failed: true })
`)
    const stopped = written('a run that stopped in the middle')
    expect(stopped).toContain("{ approve: () => 'ask' }")
    expect(stopped).toContain(".toEndAs('approval')")
  })

  test('says nothing of tools that run for real when the recorded ones answer', () => {
    const text = cassetteToTest(simple)
    expect(text).not.toContain('for real')
    expect(text).not.toContain('approve')
  })

  test('a cassette may be given as text', () => {
    expect(cassetteToTest(JSON.stringify(simple))).toBe(cassetteToTest(simple))
  })

  test.each([
    [{ runner: 'mocha' }, 'runner must be one of node, vitest'],
    [{ tool: './x' }, 'did you mean tools?'],
    [{ tools: './x', engine: './y' }, 'engine has its own tools'],
    [{ engine: './y#a b' }, 'engine must be a module'],
  ])('%j is refused', (options, words) => {
    expect(() => cassetteToTest(simple, options as object)).toThrow(ValidationError)
    expect(() => cassetteToTest(simple, options as object)).toThrow(words)
  })
})
