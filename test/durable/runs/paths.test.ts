import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import express from 'express'
import { describe, expect, test, vi } from 'vitest'
import { toNodeHandler, type HandlerOptions, type NodeRequest } from '../../../src/runs.ts'
import { service } from './service.ts'

/** What a server says to the bytes of a request, on a socket of their own. */
async function raw(listener: RequestListener, text: string): Promise<string> {
  const server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // It listens on a port.
  const socket = connect(port, '127.0.0.1')
  socket.end(text)
  let answer = ''
  for await (const chunk of socket) answer += String(chunk)
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
  return answer
}

const get = (path: string, host = 'localhost'): string =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`

const post = (path: string, body: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`

const statusOf = (answer: string): number => Number(answer.split(' ')[1])

/** A service with two conversations, by itself and in an application that lets its user see `mine`. */
async function services(): Promise<{
  readonly bare: RequestListener
  readonly app: RequestListener
}> {
  const { handle, runs } = service()
  for (const id of ['mine', 'victim']) {
    await runs.send(id, `words of ${id}`)
    await runs.wait(id)
  }
  const app = express()
  app.use('/runs/:id', (request, response, next) => {
    if (request.params.id === 'mine') next()
    else response.status(403).end('not yours')
  })
  app.use('/runs', toNodeHandler(handle))
  return { bare: toNodeHandler(handle), app }
}

async function guarded(): Promise<RequestListener> {
  return (await services()).app
}

describe('nobody gets past a check of the path', () => {
  test('what is allowed is served', async () => {
    const answer = await raw(await guarded(), get('/runs/mine'))
    expect(statusOf(answer)).toBe(200)
    expect(answer).toContain('words of mine')
  })

  test.each([
    ['a path in the host', get('/runs/mine', 'x/runs/victim?')],
    ['a path in the host, without a query', get('/runs/mine', 'x/runs/victim#')],
    ['a user in the host', get('/runs/mine', 'user@x')],
    ['a backslash in the host', get('/runs/mine', String.raw`x\runs\victim?`)],
    ['a space in the host', get('/runs/mine', 'x y')],
    ['no host', get('/runs/mine', '')],
    ['a port that is none', get('/runs/mine', 'x:99999')],
    ['letters in the port', get('/runs/mine', 'x:runs')],
    ['numbers that mean another host', get('/runs/mine', '0x7f.1')],
    ['brackets with something else', get('/runs/mine', '[x]')],
    ['dot segments', get('/runs/mine/../victim')],
    ['dot segments that are encoded', get('/runs/mine/%2e%2e/victim')],
    ['dot segments that are half encoded', get('/runs/mine/.%2E/victim')],
    ['dot segments with backslashes', get(String.raw`/runs/mine/..\victim`)],
    ['dot segments between backslashes', get(String.raw`/runs/mine\..\victim`)],
    ['a dot at the end', get('/runs/victim/../mine/.')],
    ['an encoded dot', get('/runs/mine/%2e/x')],
    ['a backslash', get(String.raw`/runs/mine\victim`)],
    ['a fragment', get('/runs/mine#/victim')],
    ['characters that are not encoded', get('/runs/mine/{victim}')],
    ['another host in the address', get('http://other/runs/mine', 'localhost')],
    ['dot segments in an address', get('http://localhost/runs/mine/../victim')],
    ['a user in an address', get('http://user@localhost/runs/mine')],
    ['a scheme that is none of a server', get('ftp://localhost/runs/mine')],
  ])('%s is 400', async (_title, request) => {
    const { app, bare } = await services()
    const answer = await raw(bare, request)
    expect(statusOf(answer)).toBe(400)
    expect(answer).toMatch(/the (?:host|path|request) /)
    // The application may have refused it before.
    const guardedAnswer = await raw(app, request)
    expect([400, 403, 404]).toContain(statusOf(guardedAnswer))
    expect(guardedAnswer).not.toContain('words of')
  })

  test.each([
    ['more segments', '/runs/mine/x/victim'],
    ['one segment more', '/runs/mine/victim'],
    ['an action of another', '/runs/mine/victim/events'],
    ['an encoded slash', '/runs/mine/..%2fvictim'],
    ['an encoded word', '/runs/mine/%65vents'],
    ['an empty segment', '/runs/mine//victim'],
    ['an empty segment at the end', '/runs/mine/'],
    ['an empty segment before the id', '/runs//mine'],
  ])('%s is 404', async (_title, path) => {
    const answer = await raw(await guarded(), get(path))
    expect([403, 404]).toContain(statusOf(answer))
    expect(answer).not.toContain('words of')
  })

  test('the check alone would let these in', async () => {
    const seen: string[] = []
    const app = express()
    app.use('/runs/:id', (request) => {
      seen.push(request.params.id)
      request.res?.end()
    })
    for (const path of ['/runs/mine/x/victim', '/runs/mine/%2e%2e/victim', '/runs/mine/victim']) {
      await raw(app, get(path))
    }
    expect(seen).toEqual(['mine', 'mine', 'mine'])
  })

  test.each([
    ['127.0.0.1:80'],
    ['[::1]:3000'],
    ['[0:0:0:0:0:0:0:1]'],
    ['Example.COM'],
    ['my_service.internal:8080'],
  ])('the host %s is one', async (host) => {
    expect(statusOf(await raw(await guarded(), get('/runs/mine', host)))).toBe(200)
  })

  test('an address with the host of the request is served', async () => {
    const request = get('http://localhost/runs/mine', 'LOCALHOST')
    expect(statusOf(await raw(await guarded(), request))).toBe(200)
  })
})

test('the handler sees the path that the router saw', async () => {
  const seen: string[] = []
  const app = express()
  const handler = toNodeHandler(({ url }) => {
    seen.push(url)
    return new Response('ok')
  })
  app.use((request, _response, next) => {
    request.url = request.url.replace(/^\/v1\//, '/')
    next()
  })
  app.use('/inspect', handler)
  app.get('/page/*rest', handler)
  const paths = [
    '/inspect',
    '/inspect?a=1',
    '/inspect/',
    '/inspect/x?a=1',
    '/v1/inspect/x',
    '/page/x',
  ]
  for (const path of paths) await raw(app, get(path))
  await raw(app, get('http://localhost/inspect/x'))
  expect(seen.map((url) => url.replace('http://localhost', ''))).toEqual([
    '/inspect',
    '/inspect?a=1',
    '/inspect/',
    '/inspect/x?a=1',
    '/inspect/x',
    '/page/x',
    '/inspect/x',
  ])
})

describe('the mount', () => {
  const asked = async (
    options: Partial<HandlerOptions>,
    path: string,
    method = 'GET',
  ): Promise<unknown> => {
    let what: unknown
    const { handle } = service({
      authorize: (_request, id, { action, callId }) => {
        what = [id, action, callId].filter((word) => word !== undefined).join(' ')
        return false
      },
      ...options,
    })
    const response = await handle(new Request(`http://a${path}`, { method }))
    return what ?? response.status
  }

  test.each([
    ['/runs', '/runs/ada', 'ada view'],
    ['/runs/', '/runs/ada', 'ada view'],
    ['/', '/ada', 'ada view'],
    ['/api/v1/tenants/runs', '/api/v1/tenants/runs/ada/events', 'ada events'],
    ['/runs', '/runs/a%2Fb', 'a/b view'],
    ['/runs', '/ada', 404],
    ['/runs', '/runs', 404],
    ['/runs', '/runs/', 404],
    ['/runs', '/runsx/ada', 404],
    ['/runs', '/Runs/ada', 404],
    ['/runs', '/x/runs/ada', 404],
    ['/runs', '/runs/mine/victim', 404],
    ['/runs', '/runs/mine/victim/events', 404],
    ['/runs', '/runs/mine/x/victim', 404],
    ['/runs', '/runs/ada/', 404],
    ['/runs', '/runs//ada', 404],
    ['/runs', '/runs/ada//events', 404],
    ['/runs', '/runs/ada/%65vents', 404],
    ['/', '//ada', 404],
    [undefined, '/ada/events', 'ada events'],
    [undefined, '/runs/ada/events', 'ada events'],
    [undefined, '/api/runs/ada/events', 'ada events'],
    [undefined, '/v1/api/runs/ada/events', 404],
    [undefined, '/runs/mine/x/victim', 404],
  ])('with %s, %s is %s', async (mount, path, expected) => {
    expect(await asked({ mount }, path)).toBe(expected)
  })

  test.each([
    ['/runs', '/runs/ada/approvals/c1', 'ada approvals c1'],
    ['/runs', '/runs/ada/tools/approvals', 'ada tools approvals'],
    ['/runs', '/runs/x/ada/approvals/c1', 404],
    ['/runs', '/runs/approvals/c1', 404],
  ])('with %s, a post to %s is %s', async (mount, path, expected) => {
    expect(await asked({ mount }, path, 'POST')).toBe(expected)
  })

  test('a path that is too long says what to do', async () => {
    const { handle } = service()
    const response = await handle(new Request('http://a/x/y/z/ada'))
    expect(await response.json()).toMatchObject({
      reason: 'not_found',
      message: expect.stringMatching(/3 segments .* option mount/),
    })
  })

  test.each(['runs', '', '/a//b', '/a/../b', '/a?b', '/a b', '/ü', String.raw`/a\b`, 7])(
    '%j is no mount',
    (mount) => {
      // What a program without types does.
      expect(() => service({ mount: mount as string })).toThrow(/mount must be a path/)
    },
  )

  test('a client cannot name it', async () => {
    const { handle } = service()
    const headers = { 'x-original-url': '/runs', 'x-forwarded-prefix': '/runs/mine', baseurl: '/a' }
    const response = await handle(new Request('http://a/x/y/z/ada', { headers }))
    expect(response.status).toBe(404)
  })
})

describe('a body that somebody has read', () => {
  const message = post('/ada/messages', '{"text":"hello"}')
  const consumed =
    /^HTTP\/1\.1 500 .*body_already_read.*the body was already read by the framework: pass it as request\.body/s

  test('is reported as such', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    const { handle } = service()
    const node = toNodeHandler(handle)
    const answer = await raw((request, response) => {
      request.resume().on('end', () => node(request, response))
    }, message)
    expect(answer).toMatch(consumed)
    expect(String(warned.mock.calls[0]?.[0])).toContain('already read by the framework')
    warned.mockRestore()
  })

  test('is taken from request.body, as a framework leaves it there', async () => {
    const { handle, runs } = service()
    const node = toNodeHandler(handle)
    const answer = await raw((request, response) => {
      const chunks: Uint8Array[] = []
      request.on('data', (chunk: Uint8Array) => chunks.push(chunk))
      request.on('end', () => {
        const body: unknown = JSON.parse(Buffer.concat(chunks).toString())
        node(Object.assign(request, { body }), response)
      })
    }, message)
    expect(statusOf(answer)).toBe(202)
    await runs.wait('ada')
  })

  test('is read where a parser of another type has left an empty object', async () => {
    const { handle, runs } = service()
    const node = toNodeHandler(handle)
    const answer = await raw((request, response) => {
      node(Object.assign(request, { body: {} }), response)
    }, message)
    expect(statusOf(answer)).toBe(202)
    await runs.wait('ada')
  })

  test.each([
    [
      'without a body',
      'POST /ada/stop HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n',
    ],
    ['with an empty body', post('/ada/stop', '')],
    [
      'with an empty body in chunks',
      'POST /ada/stop HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
  ])('is none in a request %s', async (_title, request) => {
    const { handle } = service()
    const node = toNodeHandler(handle)
    expect(statusOf(await raw(node, request))).toBe(202)
    const answer = await raw((incoming, response) => {
      incoming.resume().on('end', () => node(incoming, response))
    }, request)
    expect(statusOf(answer)).toBe(202)
  })

  test('is known by its end where a runtime does not tell more', async () => {
    const { handle } = service()
    const node = toNodeHandler(handle)
    const told = (request: IncomingMessage, readableEnded: boolean): NodeRequest => ({
      method: 'POST',
      url: request.url,
      headers: request.headers,
      socket: request.socket,
      readableEnded,
      [Symbol.asyncIterator]: () => request[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>,
    })
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    expect(await raw((request, response) => node(told(request, true), response), message)).toMatch(
      consumed,
    )
    warned.mockRestore()
    const fresh = await raw((request, response) => node(told(request, false), response), message)
    expect(statusOf(fresh)).toBe(202)
  })
})

describe('ids from a client', () => {
  test.each([
    'a%0Ab',
    'a%0D%0Ab',
    '%1B[2J',
    'a%7F',
    'a%C2%85b',
    'a%E2%80%A8b',
    'a%E2%80%A9b',
    'a%09b',
  ])('%s has a control character, and is refused', async (id) => {
    let isAsked = false
    const { handle, runs } = service({
      authorize: () => {
        isAsked = true
        return true
      },
    })
    const request = new Request(`http://a/${id}/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"text":"hello"}',
    })
    const response = await handle(request)
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { reason: 'invalid_session', issues: [{ path: 'id' }] },
    ])
    expect(isAsked).toBe(false)
    const name = decodeURIComponent(id)
    await expect(runs.send(name, 'hello')).rejects.toThrow('control characters')
    expect(await runs.get(name)).toBeUndefined()
  })

  test('a conversation that an earlier version kept under such an id can be read and deleted', async () => {
    const { runs } = service({}, {})
    const id = 'old\nid'
    await expect(runs.get(id)).resolves.toBeUndefined()
    await expect(runs.delete(id)).resolves.toBeUndefined()
  })
})
