import { describe, expect, test } from 'vitest'
import { anthropic } from '../../../src/anthropic.ts'
import type { ChatAdapter } from '../../../src/core/contracts/adapter.ts'
import type { Image } from '../../../src/core/types/media.ts'
import type { Message } from '../../../src/core/types/message.ts'
import { gemini } from '../../../src/gemini.ts'
import { openai } from '../../../src/openai.ts'
import type { Fetch } from '../../../src/providers/http/call.ts'
import { makePng } from './make-png.ts'

const png = Buffer.from(makePng({ width: 2, height: 2, bitDepth: 16, colorType: 6 }))
const inline: Image = { type: 'base64', base64: png.toString('base64'), mimeType: 'image/png' }

interface Row {
  readonly name: string
  readonly make: (options: { apiKey: string; fetch: Fetch }) => ChatAdapter
  /** The largest image that it takes, in bytes, or more. */
  readonly largest: number
}

const providers: readonly Row[] = [
  {
    name: 'openai, chat',
    make: (options) => openai({ ...options, api: 'chat' }),
    largest: 20 * 1024 * 1024,
  },
  {
    name: 'openai, responses',
    make: (options) => openai({ ...options, api: 'responses' }),
    largest: 20 * 1024 * 1024,
  },
  { name: 'anthropic', make: anthropic, largest: 7.5 * 1024 * 1024 },
  { name: 'gemini', make: gemini, largest: 75 * 1024 * 1024 },
]

describe.each(providers)('an image for $name', ({ make, largest }) => {
  /** Starts a call: whether its body has the image's bytes, or why none was sent. */
  async function attempt(...messages: readonly Message[]): Promise<unknown> {
    let sent: string | undefined
    const fetch: Fetch = (_url, { body }) => {
      sent = typeof body === 'string' && body.includes(png.toString('base64')) ? 'image' : 'other'
      return Promise.resolve(new Response('{}', { status: 400 }))
    }
    const adapter: ChatAdapter = make({ apiKey: 'a-key', fetch })
    const request = { model: 'm', messages, tools: [], providerOptions: {}, metadata: {} }
    try {
      for await (const _ of adapter.stream(request));
    } catch (error) {
      return sent ?? error
    }
    return sent
  }

  const asked = (image: Image): Promise<unknown> =>
    attempt(
      { role: 'user', content: 'Look.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'At this.' },
          { type: 'image', image },
        ],
      },
    )

  test('goes out with its bytes unchanged', async () => {
    expect(await asked(inline)).toBe('image')
  })

  test.each<[string, Image, string]>([
    ['of another type', { ...inline, mimeType: 'image/tiff' }, 'is image/tiff; '],
    [
      'that is not what it says',
      { ...inline, mimeType: 'image/webp' },
      'is declared as image/webp, but its bytes are image/png',
    ],
    [
      'that names a local file',
      { type: 'file', path: '/etc/passwd', mimeType: 'image/png' } as never,
      'is not an image: type must not be a file',
    ],
    [
      'that another provider has',
      { type: 'id', id: 'file-1', provider: 'elsewhere' },
      'is a file at elsewhere',
    ],
    [
      'whose bytes are a text',
      { ...inline, base64: btoa('root:x:0:0:root') },
      'is declared as image/png, but its bytes are not',
    ],
    ['at an address that is none', { type: 'url', url: 'file:///a.png' }, 'has a URL that'],
  ])('%s is refused by message and part before anything is sent', async (_name, image, problem) => {
    expect(await asked(image)).toMatchObject({
      name: 'ValidationError',
      reason: 'invalid_request',
      issues: [
        { path: 'messages[1].content[1]', problem: expect.stringContaining(problem) as string },
      ],
    })
  })

  test('that is too large is refused by message and part before anything is sent', async () => {
    const base64 = 'A'.repeat((Math.ceil((largest + 1) / 3) + 1) * 4)
    expect(await asked({ ...inline, base64 })).toMatchObject({
      name: 'ValidationError',
      issues: [
        { path: 'messages[1].content[1]', problem: expect.stringContaining('at most') as string },
      ],
    })
  })

  test('in a system message is refused', async () => {
    const system: Message = { role: 'system', content: [{ type: 'image', image: inline }] }
    expect(await attempt(system, { role: 'user', content: 'Hi' })).toMatchObject({
      name: 'ValidationError',
      issues: [
        {
          path: 'messages[0].content[0]',
          problem: 'must be text in a system message',
        },
      ],
    })
  })
})
