import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createFakeServer } from '../../../src/server.ts'
import type { Script } from '../../../src/testing.ts'
import { installed } from './installed.ts'

/** A tool that is broken: it takes the price of an article that is not in stock for a number. */
const broken = `import { tool } from 'allm-ts'

const stock = { lamp: { price: 40 }, desk: undefined }

export const price = tool({
  name: 'price',
  description: 'The price of an article.',
  schema: { type: 'object', properties: { article: { type: 'string' } }, required: ['article'] },
  handler: ({ article }) => ({ euros: stock[article].price }),
})
`

const mended = broken.replace(
  '({ euros: stock[article].price })',
  '({ euros: stock[article]?.price ?? null })',
)

/** An agent that fails when one of its tools does. */
const agent = `import { chat, createEngine } from 'allm-ts'
import { openai } from 'allm-ts/openai'
import { trajectory } from 'allm-ts/testing'
import * as tools from './tools.mjs'

const engine = createEngine({ adapter: openai({ api: 'chat' }), model: 'gpt-4o', tools: Object.values(tools) })
const result = await chat(engine, 'What do the lamp and the desk cost?')
console.log(result.outputText)
if (trajectory(result).some(({ failed }) => failed === true)) process.exit(3)
`

const scripts: readonly Script[] = [
  [
    ['tool_call', { id: 'call_1', name: 'price', arguments: { article: 'lamp' } }],
    ['tool_call', { id: 'call_2', name: 'price', arguments: { article: 'desk' } }],
  ],
  [
    ['text', 'The lamp costs 40 euros. '],
    ['text', 'I could not find the desk.'],
  ],
]

test('from an incident to a test: a run fails, it is recorded, the recording becomes a test that fails, the tool is mended, the test passes', async () => {
  const place = await installed()
  place.write('tools.mjs', broken)
  place.write('agent.mjs', agent)
  await using server = await createFakeServer({ scripts: [...scripts, ...scripts] })
  const key = { OPENAI_API_KEY: 'sk-the-key-of-the-incident' }

  // A run fails.
  const failed = await place.node(['agent.mjs'], { ...key, OPENAI_BASE_URL: server.openaiBaseUrl })
  expect(failed).toMatchObject({ code: 3, stderr: '' })

  // It is recorded. The program is run as before, and its output and its exit code are its own.
  const recorded = await place.allm(
    [
      'record',
      '--provider',
      'openai',
      '--base-url',
      server.openaiBaseUrl,
      '--',
      process.execPath,
      'agent.mjs',
    ],
    key,
  )
  expect(recorded).toEqual({
    code: 3,
    stdout: failed.stdout,
    stderr: 'allm-ts: 2 calls in cassette.json\n',
  })
  const cassette = readFileSync(join(place.folder, 'cassette.json'), 'utf8')
  expect(cassette).toContain('I could not find the desk.')
  expect(cassette).not.toContain('sk-the-key')
  server.assertDone()

  // The recording becomes a test.
  const made = await place.allm([
    'test',
    'cassette.json',
    '--tools',
    'tools.mjs',
    '--out',
    'test/incident.test.mjs',
  ])
  expect(made).toMatchObject({ code: 1, stderr: expect.stringContaining('cannot write') })
  place.write('test/readme.txt', '')
  expect(
    await place.allm([
      'test',
      'cassette.json',
      '--tools',
      'tools.mjs',
      '--out',
      'test/incident.test.mjs',
    ]),
  ).toEqual({
    code: 0,
    stdout: 'test/incident.test.mjs: run it with node --test test/incident.test.mjs\n',
    stderr: '',
  })

  // It fails, and says why.
  const run = ['--test', '--test-reporter=tap', 'test/incident.test.mjs']
  const red = await place.node(run)
  expect(red.code).toBe(1)
  expect(red.stdout).toContain('+ call price {"article":"desk"}')
  expect(red.stdout).toContain('it failed')

  // The tool is mended, and it passes.
  place.write('tools.mjs', mended)
  const green = await place.node(run)
  expect(green.stdout).toMatch(/^# pass 1$/m)
  expect(green.code).toBe(0)

  // The recording also plays without the provider and without a key: the agent with the mended tool asks something else, and is refused.
  const refused = await place.allm(
    ['replay', 'cassette.json', '--', process.execPath, 'agent.mjs'],
    key,
  )
  expect(refused.code).not.toBe(0)
  expect(refused.stderr).toContain('the request was not recorded')
  place.write('tools.mjs', broken)
  const replayed = await place.allm(
    ['replay', 'cassette.json', '--', process.execPath, 'agent.mjs'],
    key,
  )
  expect(replayed).toEqual({
    code: 3,
    stdout: failed.stdout,
    stderr: 'allm-ts: all 2 calls were played\n',
  })
})
