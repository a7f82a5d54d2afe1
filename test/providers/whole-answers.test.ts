import { expect, test } from 'vitest'
import { anthropic } from '../../src/anthropic.ts'
import { gemini } from '../../src/gemini.ts'
import { modelRequest, user } from '../../src/index.ts'
import { openai } from '../../src/openai.ts'

const adapters = { openai, anthropic, gemini }
const notAnswers = ['null', '{}', '[]', 'nonsense']

/** How the adapter's own `generate` fails when a successful response has this body. */
async function failureOf(make: (typeof adapters)[keyof typeof adapters], body: string) {
  const headers = { 'content-type': 'application/json' }
  const adapter = make({ apiKey: 'k', fetch: async () => new Response(body, { headers }) })
  const call = adapter.generate?.(modelRequest([user('hi')], { model: 'm' }))
  return call?.then(
    () => 'it resolved',
    (error: unknown) => error,
  )
}

test.each(
  Object.entries(adapters).flatMap(([name, make]) =>
    notAnswers.map((body) => [name, body, make] as const),
  ),
)('generate of %s rejects the body %s as malformed', async (provider, body, make) => {
  const expected = { kind: 'adapter', reason: 'malformed_response', provider }
  expect(await failureOf(make, body)).toMatchObject(expected)
})

test.each([
  ['openai', 'truncated'],
  ['anthropic', 'truncated'],
  // Gemini has no end marker, so an empty body is not a stream that was cut.
  ['gemini', 'malformed_response'],
] as const)('generate of %s rejects an empty body as %s', async (name, reason) => {
  expect(await failureOf(adapters[name], '')).toMatchObject({ reason })
})
