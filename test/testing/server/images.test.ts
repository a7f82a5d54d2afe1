import OpenAI, { toFile } from 'openai'
import { expect, test } from 'vitest'
import { createFakeServer, type FakeServer } from '../../../src/server.ts'

const png = { type: 'base64', base64: 'iVBORw0KGgo=', mimeType: 'image/png' } as const

function client(server: FakeServer, options: object = {}): OpenAI {
  return new OpenAI({ baseURL: server.openaiBaseUrl, apiKey: 'sk-test', maxRetries: 0, ...options })
}

test('images are generated from the image script', async () => {
  await using server = await createFakeServer({
    images: [['ok', [png], { usage: { inputTokens: 5, outputTokens: 7 } }]],
  })
  const { data, usage } = await client(server).images.generate({
    model: 'gpt-image-1',
    prompt: 'a kestrel',
  })

  expect(data).toEqual([{ b64_json: 'iVBORw0KGgo=' }])
  expect(usage).toMatchObject({ input_tokens: 5, output_tokens: 7, total_tokens: 12 })
})

test('an edit is a form, and its files are on record', async () => {
  await using server = await createFakeServer({ images: [['ok', [png]]] })
  const image = await toFile(Buffer.from([137, 80, 78, 71]), 'bird.png', { type: 'image/png' })
  await client(server).images.edit({ model: 'gpt-image-1', prompt: 'blue', image })

  expect(server.requests[0]).toMatchObject({
    path: '/v1/images/edits',
    body: {
      model: 'gpt-image-1',
      prompt: 'blue',
      image: { filename: 'bird.png', contentType: 'image/png', size: 4 },
    },
  })
})

test('an error of the script is a refusal', async () => {
  await using server = await createFakeServer({
    images: [['error', { kind: 'image_adapter', reason: 'content_filter', message: 'not that' }]],
  })
  const call = client(server).images.generate({ model: 'gpt-image-1', prompt: 'x' })

  await expect(call).rejects.toMatchObject({ status: 400, code: 'content_filter' })
})

test('retry_until_call refuses until that call', async () => {
  await using server = await createFakeServer({
    images: [
      ['retry_until_call', 3],
      ['ok', [png]],
    ],
  })
  const { data } = await client(server, { maxRetries: 2 }).images.generate({
    model: 'gpt-image-1',
    prompt: 'x',
  })

  expect(data).toHaveLength(1)
  expect(server.requests.map(({ status }) => status)).toEqual([429, 429, 200])
})

test('an image call has its faults too', async () => {
  await using server = await createFakeServer({
    images: [['ok', [png]]],
    faults: [{ cutAfter: 0 }],
  })
  const call = client(server).images.generate({ model: 'gpt-image-1', prompt: 'x' })

  await expect(call).rejects.toThrow('terminated')
})

test('a call beyond the last image says so', async () => {
  await using server = await createFakeServer({ images: [] })
  const call = client(server).images.generate({ model: 'gpt-image-1', prompt: 'x' })

  await expect(call).rejects.toMatchObject({ status: 501, code: 'no_scripted_response' })
})

test.each([
  ['generations', { model: 'm' }, 'prompt'],
  ['generations', { prompt: 'x', hue: 'red' }, 'hue'],
  ['edits', { prompt: 'x' }, 'image'],
  ['variations', {}, 'image'],
])('images/%s with %j is refused for its %s', async (path, body, param) => {
  await using server = await createFakeServer({ images: [['ok', [png]]] })
  const response = await fetch(`${server.openaiBaseUrl}/images/${path}`, {
    method: 'POST',
    headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ error: { param } })
})
