import { describe, expect, test } from 'vitest'
import { createFakeServer, type ServedRequest } from '../../../src/server.ts'
import type { Script } from '../../../src/testing.ts'
import { wireFormats } from '../../../src/testing/server/wire-format.ts'
import { call } from './client.ts'

const says = (text: string): Script => [['text', text]]

test('all formats play the same scripts, one after the other', async () => {
  await using server = await createFakeServer({ scripts: ['a', 'b', 'c', 'd'].map(says) })
  const texts = []
  for (const format of wireFormats) texts.push(await (await call(server, format)).text())

  expect(texts.map((text, index) => text.includes(`"${'abcd'[index]}"`))).toEqual([
    true,
    true,
    true,
    true,
  ])
  server.assertDone()
})

test.each(wireFormats)(
  '%s: a call beyond the last script says so in its own shape',
  async (format) => {
    await using server = await createFakeServer({ script: says('a') })
    await call(server, format)
    const response = await call(server, format)
    const text = await response.text()

    expect(response.status).toBe(501)
    expect(response.headers.get('x-should-retry')).toBe('false')
    expect(JSON.parse(text)).toHaveProperty('error.message')
    expect(text).toContain('no_scripted_response')
    expect(text).toContain('1 script')
  },
)

test('scripts that repeat never end', async () => {
  await using server = await createFakeServer({ scripts: [says('a'), says('b')], repeat: true })
  let seen = ''
  for (let i = 0; i < 5; i++) {
    const { choices } = (await (await call(server, 'openai_chat')).json()) as {
      choices: [{ message: { content: string } }]
    }
    seen += choices[0].message.content
  }

  expect(seen).toBe('ababa')
})

describe('a place for each key', () => {
  test('parallel callers do not disturb each other', async () => {
    const scripts = [says('one'), says('two')]
    await using server = await createFakeServer({ scripts, cursor: 'per_key' })
    const both = await Promise.all(
      ['k1', 'k2'].map(async (key) => [
        await (await call(server, 'anthropic', { key })).text(),
        await (await call(server, 'gemini', { key })).text(),
      ]),
    )

    for (const [first, second] of both) {
      expect(first).toContain('"one"')
      expect(second).toContain('"two"')
    }
    server.assertDone()
  })

  test('a shared place is taken in turn, whatever the key', async () => {
    await using server = await createFakeServer({ scripts: [says('one'), says('two')] })
    await call(server, 'openai_chat', { key: 'k1' })
    const second = await call(server, 'openai_chat', { key: 'k2' })

    expect(await second.text()).toContain('"two"')
  })
})

test('scripts that are left are named', async () => {
  await using server = await createFakeServer({ scripts: [says('a'), says('b')] })
  await call(server, 'gemini')

  expect(() => server.assertDone()).toThrow('1 script was not played')
})

test('the same script gives the same bytes to every client', async () => {
  await using server = await createFakeServer({ script: says('a'), repeat: true })
  const texts = await Promise.all(
    [1, 2, 3].map(async () => (await call(server, 'openai_responses', { stream: true })).text()),
  )

  expect(new Set(texts).size).toBe(1)
})

test('Gemini streams an array when events are not asked for', async () => {
  await using server = await createFakeServer({
    script: [
      ['text', 'a'],
      ['text', 'b'],
    ],
  })
  const response = await fetch(
    `${server.geminiBaseUrl}/models/gemini-x:streamGenerateContent?key=k`,
    {
      method: 'POST',
      body: JSON.stringify({ contents: [{ parts: [{ text: 'hi' }] }] }),
    },
  )

  expect(response.headers.get('content-type')).toContain('application/json')
  expect(await response.json()).toHaveLength(3)
})

describe('scripts are written as those of a fake', () => {
  test('with texts, and as lists without `as const`', async () => {
    const entries = [
      ['text', 'b'],
      ['finish', 'stop'],
    ]
    await using server = await createFakeServer({ scripts: [['a'], entries] })
    expect(await (await call(server, 'anthropic')).text()).toContain('"a"')
    expect(await (await call(server, 'gemini')).text()).toContain('"b"')
    server.assertDone()
  })

  test('as a function of the request, so that concurrent calls get their own answers', async () => {
    const seen: ServedRequest[] = []
    await using server = await createFakeServer({
      script: (request, { call }) => {
        seen.push(request)
        return [`${JSON.stringify(request.body['messages'])} was call ${call}`]
      },
      cursor: 'per_key',
    })
    const ask = async (content: string): Promise<string> => {
      const body = { messages: [{ role: 'user', content }] }
      return (await call(server, 'openai_chat', { body, key: content })).text()
    }
    const words = ['one', 'two', 'three']
    const answers = await Promise.all(words.map(ask))
    for (const [index, word] of words.entries()) expect(answers[index]).toContain(word)
    expect(new Set(answers.map((text) => /was call \d/.exec(text)?.[0])).size).toBe(3)
    expect(seen[0]).toMatchObject({ method: 'POST', format: 'openai_chat' })
    expect(seen[0]).not.toHaveProperty('status')
    expect(JSON.stringify(seen[0]?.headers)).not.toContain('Bearer')
    server.assertDone()
  })

  test('a function that returns no script is told so in the answer', async () => {
    await using server = await createFakeServer({ script: () => [['txt', 'a']] })
    const response = await call(server, 'openai_chat')
    expect(response.status).toBe(500)
    expect(await response.text()).toContain('unknown tag')
  })
})
