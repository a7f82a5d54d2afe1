import { describe, expect, test } from 'vitest'
import { fetchImage, type FetchImage } from '../../src/vision/fetch-image.ts'
import { serve } from '../support/http-server.ts'
import { makePng } from './make-png.ts'

const limits = { provider: 'openai', maxBytes: 1000, mimeTypes: ['image/png'] }
const png = makePng({ width: 2, height: 2 })
const address = 'https://example.com/cat.png?sig=secret'

/** A `fetch` that gives one answer and keeps what it was asked. */
function answering(answer: () => Response): { fetch: FetchImage; asked: [string, RequestInit][] } {
  const asked: [string, RequestInit][] = []
  return {
    asked,
    fetch: (url, init) => {
      asked.push([url, init])
      return Promise.resolve(answer())
    },
  }
}

function imageResponse(bytes: Uint8Array, headers: Record<string, string> = {}): Response {
  return new Response(new Uint8Array(bytes), {
    headers: { 'content-type': 'image/png', ...headers },
  })
}

describe('an image at an address', () => {
  test('is fetched through the injected fetch, without redirects and without cookies', async () => {
    const { fetch, asked } = answering(() => imageResponse(png))
    const { signal } = new AbortController()
    const got = await fetchImage(address, limits, { fetch, signal })
    expect(got).toEqual({ pieces: [png], mimeType: 'image/png' })
    expect(asked).toEqual([
      [
        address,
        { headers: { accept: 'image/*' }, redirect: 'manual', credentials: 'omit', signal },
      ],
    ])
  })

  test.each([
    ['its length is told', { 'content-length': String(png.byteLength) }],
    ['its length is not told', {}],
    ['its length is told wrongly, as with a compressed body', { 'content-length': '10' }],
  ])('is whole when %s', async (_name, headers) => {
    const { fetch } = answering(() => new Response(inPieces(png, 7), { headers }))
    const got = await fetchImage(address, limits, { fetch })
    expect(got).toMatchObject({ mimeType: undefined })
    const { pieces } = got as { pieces: readonly Uint8Array[] }
    expect(Buffer.concat(pieces).equals(png)).toBe(true)
  })

  test('that is told to be too large is not read', async () => {
    let cancelled = false
    const body = new ReadableStream<Uint8Array>({ cancel: () => void (cancelled = true) })
    const { fetch } = answering(() => new Response(body, { headers: { 'content-length': '1001' } }))
    expect(await fetchImage(address, limits, { fetch })).toEqual({
      problem:
        'is at https://example.com/cat.png, which has 1001 bytes, and openai takes at most 1000',
    })
    expect(cancelled).toBe(true)
  })

  test('that turns out to be too large is read no further than the bound', async () => {
    let sent = 0
    let cancelled = false
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        sent += 400
        controller.enqueue(new Uint8Array(400))
      },
      cancel: () => void (cancelled = true),
    })
    const { fetch } = answering(() => new Response(body))
    expect(await fetchImage(address, limits, { fetch })).toEqual({
      problem: 'at https://example.com/cat.png has more than the 1000 bytes that openai takes',
    })
    expect(cancelled).toBe(true)
    expect(sent).toBeLessThanOrEqual(1600)
  })

  test.each<[string, () => Response, string]>([
    [
      'a redirect',
      () => new Response(null, { status: 302, headers: { location: 'http://10.0.0.1/' } }),
      'redirects, and redirects are not followed',
    ],
    [
      'a fetch that followed a redirect',
      () => redirected(),
      'redirects, and redirects are not followed',
    ],
    ['a 404', () => new Response('', { status: 404 }), 'answered 404'],
    [
      'a page',
      () => new Response('<html>', { headers: { 'content-type': 'Text/HTML; charset=utf-8' } }),
      'answered with text/html instead of an image',
    ],
    ['nothing', () => new Response(null), 'answered nothing'],
  ])('that answers with %s is refused', async (_name, answer, words) => {
    const { fetch } = answering(answer)
    expect(await fetchImage(address, limits, { fetch })).toEqual({
      problem: `is at https://example.com/cat.png, which ${words}`,
    })
  })

  test.each(['http://127.0.0.1/a.png', 'http://0x7f.1/', 'http://[::1]/', 'file:///etc/passwd'])(
    '%s is refused before anything is sent',
    async (private_) => {
      const { fetch, asked } = answering(() => imageResponse(png))
      const got = await fetchImage(private_, limits, { fetch })
      expect(got.problem).toMatch(/^has an address that /)
      expect(asked).toEqual([])
    },
  )

  test("on this machine is refused by the platform's own fetch as well", async () => {
    await using server = await serve((_request, response) => response.end('secret'))
    const { port } = new URL(server.url)
    for (const host of ['127.0.0.1', '0x7f.1', '[::ffff:127.0.0.1]', 'localhost.']) {
      const got = await fetchImage(`http://${host}:${port}/`, limits)
      expect(got.problem).toBe('has an address that leads to a host that is not public')
    }
    expect(server.requests).toEqual([])
  })

  test('whose name stands for a private address is refused before anything is sent', async () => {
    const lookup = (host: string): Promise<string[]> => {
      expect(host).toBe('rebind.example.com')
      return Promise.resolve(['93.184.215.14', '169.254.169.254'])
    }
    const got = await fetchImage('https://rebind.example.com/a.png', limits, { lookup })
    expect(got).toEqual({
      problem: 'is at https://rebind.example.com/a.png, which leads to a host that is not public',
    })
  })

  test.each<[string, () => Promise<Response>]>([
    ['before the answer', () => Promise.reject(new TypeError('fetch failed'))],
    [
      'in the middle of the answer',
      () =>
        Promise.resolve(
          new Response(
            new ReadableStream({ pull: (body) => body.error(new TypeError('fetch failed')) }),
          ),
        ),
    ],
  ])('whose connection breaks %s is a network error', async (_name, fetch) => {
    await expect(fetchImage(address, limits, { fetch, requestId: 'r1' })).rejects.toMatchObject({
      name: 'ImageAdapterError',
      reason: 'network_error',
      requestId: 'r1',
      retryable: true,
      message: 'the image at https://example.com/cat.png could not be fetched: fetch failed',
    })
  })

  test('throws what fetch threw when it is stopped', async () => {
    const signal = AbortSignal.abort(new Error('enough'))
    const fetch = (): Promise<Response> => Promise.reject(new Error('enough'))
    await expect(fetchImage(address, limits, { fetch, signal })).rejects.toThrow(/^enough$/)
  })

  test('that is called image/jpg is image/jpeg', async () => {
    const { fetch } = answering(() => imageResponse(png, { 'content-type': 'image/jpg' }))
    expect(await fetchImage(address, limits, { fetch })).toMatchObject({ mimeType: 'image/jpeg' })
  })
})

function inPieces(bytes: Uint8Array, length: number): ReadableStream<Uint8Array> {
  let at = 0
  return new ReadableStream({
    pull: (controller) => {
      if (at >= bytes.byteLength) controller.close()
      else controller.enqueue(bytes.slice(at, (at += length)))
    },
  })
}

function redirected(): Response {
  const response = imageResponse(png)
  Object.defineProperty(response, 'redirected', { value: true })
  return response
}
