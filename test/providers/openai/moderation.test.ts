import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { ModerationRequest } from '../../../src/index.ts'
import { openaiModeration } from '../../../src/openai.ts'
import { moderationResult } from '../../../src/testing.ts'
import { inline, json, sentJson, shared, stubFetch } from '../../models/support.ts'
import { hasShared, recordedCases } from '../../support/recordings.ts'
import { makePng } from '../vision/make-png.ts'

function asking(fields: Partial<ModerationRequest> = {}): ModerationRequest {
  return { input: ['a text'], providerOptions: {}, metadata: {}, ...fields }
}

const text = { type: 'text', text: 'a text' } as const
const png = inline(makePng({ width: 1, height: 1 }))
const remote = { type: 'url', url: 'https://example.com/a.png' } as const

/** A result as the API has it. */
function wireResult(fields: object = {}): object {
  const { flagged, categories, scores } = moderationResult()
  return { flagged, categories, category_scores: scores, ...fields }
}

const answered = (): Response => json({ id: 'modr-1', model: 'omni', results: [wireResult()] })

async function sent(fields: Partial<ModerationRequest>) {
  const { fetch, calls } = stubFetch(answered)
  const response = await openaiModeration({ apiKey: 'k', fetch }).moderate(asking(fields))
  return { call: calls[0], body: sentJson(calls[0]), response }
}

describe('what is sent', () => {
  test('is one text, and no model that nobody named', async () => {
    const { call, body } = await sent({})
    expect(call?.url).toBe('https://api.openai.com/v1/moderations')
    expect(call?.headers.get('authorization')).toBe('Bearer k')
    expect(body).toEqual({ input: 'a text' })
  })

  test('is a list of texts, the model, and the options of the provider', async () => {
    const { fetch, calls } = stubFetch(() => json({ results: [wireResult(), wireResult()] }))
    const adapter = openaiModeration({ apiKey: 'k', fetch, model: 'own' })
    const request = asking({ input: ['a', 'b'], providerOptions: { openai: { user: 'u' } } })
    const response = await adapter.moderate(request)
    await adapter.moderate({ ...request, model: 'asked' })
    expect(calls.map(sentJson)).toEqual([
      { input: ['a', 'b'], model: 'own', user: 'u' },
      { input: ['a', 'b'], model: 'asked', user: 'u' },
    ])
    expect(response).toMatchObject({ model: 'own', provider: 'openai', flagged: false })
  })

  test('is an image by its address, or its bytes as a data URI', async () => {
    const { body, response } = await sent({
      input: [text, { type: 'image', image: remote, detail: 'high' }],
    })
    expect(body['input']).toEqual([
      { type: 'text', text: 'a text' },
      { type: 'image_url', image_url: { url: remote.url } },
    ])
    expect(response.warnings).toEqual([
      { setting: 'detail', problem: expect.stringContaining('no parameter') as string },
    ])
    const base64 = png.type === 'base64' ? png.base64 : ''
    const bytes = await sent({ input: [{ type: 'image', image: png }] })
    expect(bytes.body['input']).toEqual([
      { type: 'image_url', image_url: { url: `data:image/png;base64,${base64}` } },
    ])
  })

  test('goes to a compatible server without a key', async () => {
    const { fetch, calls } = stubFetch(answered)
    const adapter = openaiModeration({
      baseUrl: 'http://localhost:1/v1',
      provider: 'local',
      fetch,
    })
    expect(adapter).toMatchObject({ provider: 'local', key: { required: false } })
    expect(adapter).not.toHaveProperty('needsModel')
    await adapter.moderate(asking())
    expect(calls[0]?.url).toBe('http://localhost:1/v1/moderations')
  })
})

describe('refused before anything is sent, and before a key is looked up', () => {
  const image = (of: object) => ({ type: 'image', image: of }) as never
  const large = { type: 'base64', mimeType: 'image/png', base64: 'A'.repeat(28_000_000) }

  test.each<[string, ModerationRequest['input'], string]>([
    ['too many texts', Array.from({ length: 1001 }, () => 'a'), 'input has 1001 texts'],
    ['two images', [image(remote), image(remote)], 'input has 2 images'],
    ['an image of another type', [image({ ...png, mimeType: 'image/tiff' })], 'input[0]'],
    ['an image that is too large', [image(large)], 'input[0]'],
    ['an image that is no base64', [image({ ...png, base64: '%%%%' })], 'input[0]'],
    [
      'an image at a local address',
      [image({ type: 'url', url: 'file:///etc/passwd' })],
      'input[0] has a URL',
    ],
    ['an image of a local path', [image({ type: 'file', path: '/etc/passwd' })], 'input[0]'],
  ])('%s', async (_name, input, message) => {
    const { fetch, calls } = stubFetch(answered)
    await expect(openaiModeration({ fetch }).moderate(asking({ input }))).rejects.toMatchObject({
      kind: 'adapter',
      reason: 'invalid_request',
      message: expect.stringContaining(message) as string,
    })
    expect(calls).toEqual([])
  })

  test('a stored image, as what cannot be judged', async () => {
    const { fetch, calls } = stubFetch(answered)
    const input = [text, image({ type: 'id', id: 'f', provider: 'openai' })]
    await expect(openaiModeration({ fetch }).moderate(asking({ input }))).rejects.toMatchObject({
      kind: 'adapter',
      reason: 'unsupported_feature',
      message: expect.stringContaining('input[1] is named by an id') as string,
    })
    expect(calls).toEqual([])
  })
})

describe('what cannot be read is malformed_response, never clean', () => {
  const { flagged: _flag, ...unflagged } = wireResult() as { flagged: boolean }

  test.each<[string, unknown]>([
    ['null', null],
    ['a list', []],
    ['a text', 'ok'],
    ['no results', { id: 'a' }],
    ['results that are an object', { results: { 0: wireResult() } }],
    ['no result', { results: [] }],
    ['two results', { results: [wireResult(), wireResult()] }],
    ['a result of null', { results: [null] }],
    ['no flag', { results: [unflagged] }],
    ['a flag of null', { results: [wireResult({ flagged: null })] }],
    ['a flag of text', { results: [wireResult({ flagged: 'false' })] }],
    ['a flag of 0', { results: [wireResult({ flagged: 0 })] }],
    ['no categories', { results: [wireResult({ categories: undefined })] }],
    ['a category of text', { results: [wireResult({ categories: { hate: 'no' } })] }],
    ['scores that are a list', { results: [wireResult({ category_scores: [1] })] }],
    ['a score of text', { results: [wireResult({ category_scores: { hate: '0.9' } })] }],
    ['a score of 90', { results: [wireResult({ category_scores: { hate: 90 } })] }],
    ['a score below 0', { results: [wireResult({ category_scores: { hate: -0.5 } })] }],
    ['a refusal with the status 200', { error: { message: 'down' } }],
  ])('%s', async (_name, body) => {
    const { fetch } = stubFetch(() => json(body))
    await expect(openaiModeration({ apiKey: 'k', fetch }).moderate(asking())).rejects.toMatchObject(
      { kind: 'adapter', reason: 'malformed_response', provider: 'openai', status: 200 },
    )
  })

  test('a score that is too large for a number', async () => {
    const body = JSON.stringify({ results: [wireResult({ category_scores: { hate: 7 } })] })
    const { fetch } = stubFetch(() => new Response(body.replace('7', '1e999')))
    await expect(openaiModeration({ apiKey: 'k', fetch }).moderate(asking())).rejects.toMatchObject(
      { reason: 'malformed_response' },
    )
  })
})

test('a category that does not apply is left out', async () => {
  const { fetch } = stubFetch(() =>
    json({
      results: [
        wireResult({
          categories: { hate: true, illicit: null },
          category_scores: { hate: 0.9, illicit: null },
          flagged: true,
        }),
      ],
    }),
  )
  const { results, flagged } = await openaiModeration({ apiKey: 'k', fetch }).moderate(asking())
  expect(flagged).toBe(true)
  expect(results).toEqual([{ flagged: true, categories: { hate: true }, scores: { hate: 0.9 } }])
})

test('a category may have any name', async () => {
  const body = '{"results":[{"flagged":true,"categories":{"__proto__":true},"category_scores":{}}]}'
  const { fetch } = stubFetch(() => new Response(body))
  const { results } = await openaiModeration({ apiKey: 'k', fetch }).moderate(asking())
  expect(Object.keys(results[0]?.categories ?? {})).toEqual(['__proto__'])
})

interface Facts {
  readonly model: string
  readonly results: readonly { readonly flagged: boolean; readonly true: readonly string[] }[]
}

const recordings = recordedCases().filter(({ endpoint }) => endpoint === 'moderations')

describe.skipIf(!hasShared)('recorded answers (../shared/fixtures)', () => {
  test.each(recordings.map(({ id, folder, status }) => ({ id, folder, status })))(
    '$id',
    async ({ folder, status }) => {
      const read = (file: string): unknown =>
        JSON.parse(readFileSync(`${folder}/${file}`, 'utf8')) as unknown
      const { input } = read('request.json') as { readonly input: unknown }
      const asked =
        typeof input === 'string' ? [input] : [{ type: 'image', image: remote } as const]
      const { fetch } = stubFetch(() => json(read('response.json'), status))
      const adapter = openaiModeration({ apiKey: 'k', fetch })
      const { model, results } = await adapter.moderate(asking({ input: asked as never }))
      const facts = read('expect.json') as Facts
      expect(model).toBe(facts.model)
      expect(
        results.map(({ flagged, categories }) => ({
          flagged,
          true: Object.keys(categories)
            .filter((name) => categories[name] === true)
            .toSorted(),
        })),
      ).toEqual(facts.results)
    },
  )
})

const oracle = shared('oracles/validate.mjs')

type Validate = (kind: string, body: unknown, options: object) => { ok: boolean }

describe.skipIf(!existsSync(oracle))('by the published description (../shared/oracles)', () => {
  test.each<[string, Partial<ModerationRequest>]>([
    ['a text', {}],
    ['a model', { model: 'omni-moderation-latest' }],
    ['parts', { input: [text, { type: 'image', image: png }] }],
  ])('%s is legal', async (_name, fields) => {
    const { validate } = (await import(oracle)) as { validate: Validate }
    const { body } = await sent(fields)
    expect(validate('openai.moderations.request', body, { strict: true })).toEqual({ ok: true })
  })
})
