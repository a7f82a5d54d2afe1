import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { ImageRequest } from '../../../src/core/types/media.ts'
import { geminiImages } from '../../../src/gemini.ts'
import { inline, request, sentJson, shared, stubFetch } from '../../models/support.ts'
import { makePng } from '../vision/make-png.ts'

const recording = shared('fixtures/open/gemini/gemini-image-output-01')
const blocked = shared('fixtures/open/vertex/gemini-imagen-prompt-blocked-01')
const model = 'gemini-2.5-flash-image'

describe.skipIf(!existsSync(recording))('recorded answers of Gemini (../shared/fixtures)', () => {
  const body = (folder: string): string => readFileSync(`${folder}/response.json`, 'utf8')

  test('an image is read with its dimensions and usage', async () => {
    const { fetch, calls } = stubFetch(() => new Response(body(recording)))
    const { contents } = JSON.parse(readFileSync(`${recording}/request.json`, 'utf8')) as {
      contents: { parts: { text: string }[] }[]
    }
    const prompt = contents[0]?.parts[0]?.text ?? ''
    const asked = request({ model, prompt, size: '1024x1024' })
    const response = await geminiImages({ apiKey: 'k', fetch }).generate(asked)
    expect(sentJson(calls[0])).toMatchObject({
      contents,
      generationConfig: { imageConfig: { aspectRatio: '1:1' } },
    })
    expect(response).toMatchObject({
      id: 'id_REDACTED_1',
      model,
      images: [{ type: 'base64', mimeType: 'image/png', width: 1024, height: 1024 }],
      usage: { images: 1, inputTokens: 15, outputTokens: 1290, totalTokens: 1305 },
      metadata: {},
    })
    const [image] = response.images
    expect(image?.type === 'base64' && image.base64.length).toBe(1_065_928)
  })

  test('a prompt that is refused for its content is content_filter', async () => {
    const { fetch } = stubFetch(() => new Response(body(blocked), { status: 400 }))
    const refused = geminiImages({ apiKey: 'k', fetch }).generate(request({ model }))
    await expect(refused).rejects.toMatchObject({
      name: 'ImageAdapterError',
      reason: 'content_filter',
      status: 400,
      metadata: { googleStatus: 'INVALID_ARGUMENT' },
    })
  })
})

const oracle = shared('oracles/validate.mjs')

type Validate = (kind: string, body: unknown, options: object) => { ok: boolean; errors?: string[] }

describe.skipIf(!existsSync(oracle))(
  "Google's own description of its API (../shared/oracles)",
  () => {
    const png = makePng({ width: 2, height: 2, colorType: 6 })

    test.each<[string, Partial<ImageRequest>]>([
      ['the least', {}],
      ['a ratio', { size: '16:9' }],
      ['several candidates', { n: 2, size: { width: 512, height: 512 } }],
      ['an edit', { operation: 'edit', inputImages: [inline(png), inline(png)] }],
    ])('takes %s', async (_name, fields) => {
      const { fetch, calls } = stubFetch(() => Response.json({}))
      await geminiImages({ apiKey: 'k', fetch })
        .generate(request({ model, ...fields }))
        .catch(() => undefined)
      const { validate } = (await import(oracle)) as { validate: Validate }
      // The description wants the model, which is in the address.
      const sent = { model: `models/${model}`, ...sentJson(calls[0]) }
      expect(validate('gemini.generate.request', sent, { strict: true })).toEqual({ ok: true })
    })
  },
)
