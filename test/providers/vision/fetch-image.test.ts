import { describe, expect, test } from 'vitest'
import {
  addressProblem,
  fetchImage,
  isPublicHost,
  type FetchImage,
} from '../../../src/providers/vision/fetch-image.ts'
import { serve } from '../../support/http-server.ts'
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
        'is at https://example.com/cat.png, which has 1001 bytes; openai accepts at most 1000',
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
      problem: 'at https://example.com/cat.png has more than the 1000 bytes that openai accepts',
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
    ['a 404', () => new Response('', { status: 404 }), 'answered with status 404'],
    [
      'a page',
      () => new Response('<html>', { headers: { 'content-type': 'Text/HTML; charset=utf-8' } }),
      'answered with text/html instead of an image',
    ],
    ['nothing', () => new Response(null), 'returned an empty body'],
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
      expect(got.problem).toMatch(/^has a URL that /)
      expect(asked).toEqual([])
    },
  )

  test("on this machine is refused by the platform's own fetch as well", async () => {
    await using server = await serve((_request, response) => response.end('secret'))
    const { port } = new URL(server.url)
    for (const host of ['127.0.0.1', '0x7f.1', '[::ffff:127.0.0.1]', 'localhost.']) {
      const got = await fetchImage(`http://${host}:${port}/`, limits)
      expect(got.problem).toBe('has a URL that has a host that is not public')
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
      problem: 'is at https://rebind.example.com/a.png, whose host is not public',
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

const notPublic = 'has a host that is not public'

describe('an address that is fetched for somebody else', () => {
  test.each([
    ['loopback', 'http://127.0.0.1/'],
    ['all of loopback', 'http://127.255.0.1/'],
    ['decimal', 'http://2130706433/'],
    ['octal', 'http://0177.0.0.1/'],
    ['hexadecimal', 'http://0x7f000001/'],
    ['hexadecimal by parts', 'http://0x7f.0x0.0x0.0x1/'],
    ['short', 'http://127.1/'],
    ['mixed forms', 'http://0x7f.1/'],
    ['full-width digits', 'http://１２７.０.０.１/'],
    ['circled digits', 'http://①②⑦.⓪.⓪.①/'],
    ['percent-encoded digits', 'http://%31%32%37.0.0.1/'],
    ['a dot at the end', 'http://127.0.0.1./'],
    ['this host', 'http://0.0.0.0/'],
    ['short zero', 'http://0/'],
    ['private 10', 'http://10.1.2.3/'],
    ['private 172', 'http://172.16.0.1/'],
    ['the end of private 172', 'http://172.31.255.255/'],
    ['private 192', 'http://192.168.1.1/'],
    ['shared by carriers', 'http://100.64.0.1/'],
    ['link-local', 'http://169.254.1.1/'],
    ['the metadata service', 'http://169.254.169.254/latest/meta-data/'],
    ['the metadata service in decimal', 'http://2852039166/'],
    ['the metadata service of another cloud', 'http://100.100.100.200/'],
    ['protocol assignments', 'http://192.0.0.192/'],
    ['benchmarks', 'http://198.18.0.1/'],
    ['documentation', 'http://203.0.113.9/'],
    ['multicast', 'http://224.0.0.1/'],
    ['broadcast', 'http://255.255.255.255/'],
    ['IPv6 loopback', 'http://[::1]/'],
    ['IPv6 loopback in full', 'http://[0:0:0:0:0:0:0:1]/'],
    ['IPv6 unspecified', 'http://[::]/'],
    ['IPv6 mapped loopback', 'http://[::ffff:127.0.0.1]/'],
    ['IPv6 mapped in hexadecimal', 'http://[::ffff:7f00:1]/'],
    ['IPv6 with IPv4 at its end', 'http://[::127.0.0.1]/'],
    ['IPv6 translated', 'http://[64:ff9b::10.0.0.1]/'],
    ['IPv6 translated locally', 'http://[64:ff9b:1::1]/'],
    ['6to4 of a private address', 'http://[2002:c0a8:101::1]/'],
    ['Teredo', 'http://[2001:0:4136:e378::]/'],
    ['IPv6 unique local', 'http://[fd00:ec2::254]/'],
    ['IPv6 link-local', 'http://[fe80::1]/'],
    ['IPv6 multicast', 'http://[ff02::1]/'],
    ['IPv6 documentation', 'http://[2001:db8::1]/'],
    ['localhost', 'http://localhost:8080/'],
    ['localhost with a dot', 'http://localhost./'],
    ['localhost in capitals', 'http://LOCALHOST/'],
    ['a name under localhost', 'http://a.localhost/'],
    ['a name without a dot', 'http://metadata/'],
    ['a metadata name', 'http://metadata.google.internal/computeMetadata/v1/'],
    ['a metadata name with a dot', 'http://metadata.google.internal./'],
    ['a name in a cluster', 'http://api.default.svc.cluster.local/'],
    ['a name at home', 'http://printer.lan/'],
    ['a name in reverse', 'http://1.0.0.127.in-addr.arpa/'],
  ])('%s is refused', (_name, address) => {
    expect(addressProblem(address)).toBe(notPublic)
  })

  test.each([
    ['a file', 'file:///etc/passwd', 'is not http or https'],
    ['data', 'data:image/png;base64,iVBORw0KGgo=', 'is not http or https'],
    ['ftp', 'ftp://example.com/a.png', 'is not http or https'],
    ['a user name', 'https://me@example.com/a.png', 'contains a user name or a password'],
    ['a password', 'https://:secret@example.com/', 'contains a user name or a password'],
    [
      'a host hidden by a user name',
      'http://example.com@127.0.0.1/',
      'contains a user name or a password',
    ],
    ['no address', 'a.png', 'is not valid'],
    ['a number that is too large', 'http://4294967296/', 'is not valid'],
  ])('%s is refused', (_name, address, problem) => {
    expect(addressProblem(address)).toBe(problem)
  })

  test.each([
    'https://example.com/a.png',
    'http://example.com:8080/a.png',
    'https://images.example.co.uk./a.png?sig=1',
    'https://8.8.8.8/a.png',
    'http://172.15.0.1/',
    'http://172.32.0.1/',
    'http://100.63.255.255/',
    'http://100.128.0.1/',
    'http://169.253.0.1/',
    'http://198.20.0.1/',
    'https://[2606:4700::1111]/a.png',
    'https://[2001:4860:4860::8888]/',
    'https://[::ffff:8.8.8.8]/',
    'https://[64:ff9b::8.8.8.8]/',
    'https://localhost.example.com/',
  ])('%s passes', (address) => {
    expect(addressProblem(address)).toBeUndefined()
  })
})

test.each([
  ['127.0.0.1', false],
  ['::1', false],
  ['fe80::1%eth0', false],
  ['::ffff:10.0.0.1', false],
  ['1:2:3', false],
  ['1::2::3', false],
  ['93.184.215.14', true],
  ['2606:4700::1111', true],
])('a name server that gives %s is judged the same way', (address, isPublic) => {
  expect(isPublicHost(address)).toBe(isPublic)
})
