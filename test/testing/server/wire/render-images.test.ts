import { expect, test } from 'vitest'
import type { Image } from '../../../../src/core/types/media.ts'
import { renderImages, type ImageOutcome } from '../../../../src/testing/server/wire-images.ts'
import { hasOracles, loadOracle } from './shared.ts'

const png: Image = { type: 'base64', base64: 'iVBORw0KGgo=', mimeType: 'image/png' }

const facts = { id: '1', model: 'm', requestId: 'req_1', created: 5 }

function rendered(provider: 'openai' | 'gemini', outcome: ImageOutcome) {
  const { status, frames } = renderImages(provider, outcome, facts)
  return { status, body: JSON.parse(Buffer.from(frames[0]?.bytes ?? []).toString()) }
}

test('OpenAI gives bytes, or an address, and what the prompt became', () => {
  const images: Image[] = [
    { ...png, revisedPrompt: 'a red kestrel', width: 8, height: 4 },
    { type: 'url', url: 'https://example.com/a.png' },
  ]
  expect(rendered('openai', { answer: { images } }).body).toEqual({
    created: 5,
    data: [
      { b64_json: 'iVBORw0KGgo=', revised_prompt: 'a red kestrel' },
      { url: 'https://example.com/a.png' },
    ],
    output_format: 'png',
    size: '8x4',
  })
})

test('OpenAI counts tokens', () => {
  const usage = { images: 1, inputTokens: 3, outputTokens: 9, size: '16x16', quality: 'low' }
  expect(rendered('openai', { answer: { images: [png], usage } }).body).toMatchObject({
    size: '16x16',
    quality: 'low',
    usage: { input_tokens: 3, output_tokens: 9, total_tokens: 12 },
  })
})

test('Gemini gives parts with inline data', () => {
  const usage = { images: 1, inputTokens: 3, outputTokens: 9 }
  expect(rendered('gemini', { answer: { images: [png], usage } }).body).toMatchObject({
    candidates: [
      { content: { parts: [{ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }] } },
    ],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 9, totalTokenCount: 12 },
  })
})

test.each(['openai', 'gemini'] as const)('a refusal of %s is in its own shape', (provider) => {
  const { status, body } = rendered(provider, {
    failure: { reason: 'rate_limited', message: 'slow' },
  })

  expect(status).toBe(429)
  expect(body).toMatchObject({ error: { message: 'slow' } })
})

test.skipIf(!hasOracles)('what OpenAI sends is legal by ../shared/oracles', async () => {
  const errorsOf = await loadOracle('default')
  const usage = { images: 1, inputTokens: 3, outputTokens: 9, size: '1024x1024', quality: 'low' }
  expect(
    errorsOf(
      'openai.images.response',
      rendered('openai', { answer: { images: [png], usage } }).body,
    ),
  ).toEqual([])
})
