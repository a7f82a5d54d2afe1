import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { ImageRequest } from '../../../src/core/types/media.ts'
import { openaiImages } from '../../../src/openai.ts'
import {
  inline,
  json,
  parseMultipart,
  request,
  sentJson,
  shared,
  stubFetch,
  textFields,
  type SentCall,
} from '../../models/support.ts'
import { makePng } from '../vision/make-png.ts'

interface Meta {
  readonly status: number
  readonly model: string | null
  readonly request: { readonly headers: Record<string, string> }
  readonly response: { readonly headers: Record<string, string> }
}

interface Facts {
  readonly images: readonly {
    readonly kind: 'url' | 'b64'
    readonly b64Length: number | null
    readonly revisedPrompt: string | null
  }[]
  readonly usage: Readonly<Record<string, number>> | null
}

const folder = shared('fixtures/open/openai')
const present = existsSync(folder)
const ids = present ? readdirSync(folder).filter((id) => id.startsWith('openai-image-')) : []

function read(id: string, file: string): unknown {
  return JSON.parse(readFileSync(`${folder}/${id}/${file}`, 'utf8'))
}

describe.skipIf(!present)('recorded answers of the images API (../shared/fixtures)', () => {
  test.each(ids)('%s', async (id) => {
    const meta = read(id, 'meta.json') as Meta
    const facts = read(id, 'expect.json') as Facts
    const body = readFileSync(`${folder}/${id}/response.json`, 'utf8')
    const { fetch } = stubFetch(
      () => new Response(body, { status: meta.status, headers: meta.response.headers }),
    )
    const model = meta.model ?? 'dall-e-2'
    const response = await openaiImages({ apiKey: 'k', fetch }).generate(request({ model }))
    const seen = response.images.map((image) => ({
      kind: image.type === 'url' ? 'url' : 'b64',
      b64Length: image.type === 'base64' ? image.base64.length : null,
      revisedPrompt: image.revisedPrompt ?? null,
    }))
    expect(seen).toEqual(facts.images)
    const { inputTokens, outputTokens, totalTokens, images } = response.usage
    expect(images).toBe(facts.images.length)
    expect([inputTokens, outputTokens, totalTokens]).toEqual([
      facts.usage?.['input_tokens'],
      facts.usage?.['output_tokens'],
      facts.usage?.['total_tokens'],
    ])
    const sent = meta.response.headers['x-request-id']
    expect(response.metadata).toEqual(sent === undefined ? {} : { providerRequestId: sent })
  })

  test('openai-err-400-other-02, a refusal', async () => {
    const body = readFileSync(`${folder}/openai-err-400-other-02/response.json`, 'utf8')
    const { fetch } = stubFetch(() => new Response(body, { status: 400 }))
    await expect(
      openaiImages({ apiKey: 'k', fetch }).generate(request({ model: 'dall-e-2' })),
    ).rejects.toMatchObject({
      kind: 'image_adapter',
      reason: 'invalid_request',
      status: 400,
      message: expect.stringContaining("Unknown parameter: 'quality'.") as string,
      metadata: { code: 'unknown_parameter', param: 'quality' },
    })
  })

  test('a recorded PNG has its dimensions', async () => {
    const body = readFileSync(`${folder}/openai-image-edit-b64-01/response.json`, 'utf8')
    const { fetch } = stubFetch(() => new Response(body))
    const { images, usage } = await openaiImages({ apiKey: 'k', fetch }).generate(request())
    expect(images[0]).toMatchObject({ mimeType: 'image/png', width: 1024, height: 1024 })
    expect(usage).toMatchObject({ size: '1024x1024', quality: 'low' })
  })

  test('a recorded form has the fields that ours has', async () => {
    const id = 'openai-image-edit-02'
    const { headers } = (read(id, 'meta.json') as Meta).request
    const recorded = parseMultipart(
      readFileSync(`${folder}/${id}/request.bin`),
      headers['content-type'] ?? null,
    )
    const image = recorded.find(({ name }) => name === 'image')
    const fields = textFields(recorded)
    const [call] = await edit({
      model: 'dall-e-2',
      prompt: fields['prompt'] ?? '',
      size: '256x256',
      responseFormat: 'url',
      inputImages: [inline(image?.bytes ?? new Uint8Array())],
    })
    const ours = parseMultipart(
      call?.bytes ?? new Uint8Array(),
      call?.headers.get('content-type') ?? null,
    )
    expect(textFields(ours)).toEqual({ ...fields, model: 'dall-e-2' })
    const sent = ours.find(({ name }) => name === 'image')
    expect(sent?.contentType).toBe(image?.contentType)
    expect(sent?.bytes.equals(image?.bytes ?? Buffer.alloc(0))).toBe(true)
  })
})

const oracle = shared('oracles/validate.mjs')

type Validate = (kind: string, body: unknown, options: object) => { ok: boolean; errors?: string[] }

describe.skipIf(!existsSync(oracle))(
  "OpenAI's own description of its API (../shared/oracles)",
  () => {
    const full = {
      n: 2,
      size: '1024x1536',
      quality: 'high',
      background: 'transparent',
    } as const

    test.each<[string, Partial<ImageRequest>]>([
      ['the least', { model: 'gpt-image-1' }],
      ['everything', { model: 'gpt-image-1.5', ...full }],
      ['words of another family', { model: 'gpt-image-1', quality: 'standard', style: 'natural' }],
      ['dall-e-2', { model: 'dall-e-2', ...full, style: 'vivid' }],
      ['dall-e-3', { model: 'dall-e-3', ...full, style: 'vivid', responseFormat: 'url' }],
      [
        'provider options',
        {
          model: 'gpt-image-2',
          providerOptions: {
            openai: { output_format: 'webp', output_compression: 50, moderation: 'low', user: 'u' },
          },
        },
      ],
    ])('takes a generation with %s', async (_name, fields) => {
      const { fetch, calls } = stubFetch(answered)
      await openaiImages({ apiKey: 'k', fetch }).generate(request(fields))
      await expectValid('openai.images.request', sentJson(calls[0]))
    })

    test.each<[string, Partial<ImageRequest>]>([
      ['one image', {}],
      ['everything', { ...full, providerOptions: { openai: { input_fidelity: 'low' } } }],
    ])('takes an edit with %s', async (_name, fields) => {
      const [call] = await edit({ model: 'gpt-image-1', inputImages: [inline(png)], ...fields })
      const parts = parseMultipart(
        call?.bytes ?? new Uint8Array(),
        call?.headers.get('content-type') ?? null,
      )
      const { n, ...texts } = textFields(parts)
      // The form's fields are those of the JSON variant, except that the images are files.
      const images = [{ image_url: 'https://example.com/' }]
      await expectValid('openai.images.edit.request', { ...texts, n: Number(n), images })
    })
  },
)

async function expectValid(kind: string, body: unknown): Promise<void> {
  const { validate } = (await import(oracle)) as { validate: Validate }
  expect(validate(kind, body, { strict: true })).toEqual({ ok: true })
}

const png = makePng({ width: 1, height: 1 })
const answered = (): Response => json({ data: [{ b64_json: 'iVBORw0KGgo=' }] })

async function edit(fields: Partial<ImageRequest>): Promise<readonly SentCall[]> {
  const { fetch, calls } = stubFetch(answered)
  await openaiImages({ apiKey: 'k', fetch }).generate(request({ operation: 'edit', ...fields }))
  return calls
}
