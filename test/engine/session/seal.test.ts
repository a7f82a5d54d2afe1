import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Session, SessionError, user } from '../../../src/index.ts'

const session = Session.create({
  id: 's1',
  messages: [user('Grüße 🐈')],
  context: { plan: 'free' },
})

const secret = 'a secret of this server'

describe('a sealed session', () => {
  test('is read with the secret that sealed it, and fits a cookie', async () => {
    const sealed = await Session.seal(session, secret)
    expect(sealed).toMatch(/^[\w-]+$/)
    expect(await Session.unseal(sealed, secret)).toEqual(session)
  })

  test('may be sealed with bytes', async () => {
    const bytes = crypto.getRandomValues(new Uint8Array(32))
    expect(await Session.unseal(await Session.seal(session, bytes), bytes)).toEqual(session)
    const same = new TextEncoder().encode(secret)
    expect(await Session.unseal(await Session.seal(session, secret), same)).toEqual(session)
  })

  test('is sealed with the first of several secrets and read with any, so that secrets rotate', async () => {
    const [newest, oldest] = ['the new one of two secrets', 'the old one of two secrets']
    const old = await Session.seal(session, oldest)
    const both = [newest, oldest]
    expect(await Session.unseal(old, both)).toEqual(session)
    const sealed = await Session.seal(session, both)
    expect(await Session.unseal(sealed, newest)).toEqual(session)
    await expect(Session.unseal(sealed, oldest)).rejects.toThrow('another secret')
  })

  test('has a form that stays readable', async () => {
    // Written with the first release of this format.
    expect(await Session.unseal(firstSealed, 'fixed')).toMatchObject({ id: 'sealed-1' })
  })

  test('is refused with another secret', async () => {
    const sealed = await Session.seal(session, secret)
    await expect(Session.unseal(sealed, 'guess')).rejects.toMatchObject({
      name: 'SessionError',
      reason: 'unreadable',
      message:
        'the sealed session cannot be read: its signature does not match: it was changed, cut off or sealed with another secret',
    })
  })

  test('is refused when any character of it is another one, or when its end is missing', async () => {
    const sealed = await Session.seal(session, secret)
    const whole = Buffer.from(sealed, 'base64url')
    await fc.assert(
      fc.asyncProperty(
        fc.nat(whole.length - 1),
        fc.integer({ min: 1, max: 255 }),
        async (at, bits) => {
          const changed = Buffer.from(whole)
          changed[at] = (changed[at] ?? 0) ^ bits
          for (const text of [changed, whole.subarray(0, at)]) {
            const error = await Session.unseal(text.toString('base64url'), secret).catch(
              (thrown: unknown) => thrown,
            )
            expect(error).toBeInstanceOf(SessionError)
            expect(error).toMatchObject({ reason: 'unreadable' })
          }
        },
      ),
      { seed: 7, numRuns: 300 },
    )
  })

  test.each([
    ['', 'it is not a sealed session'],
    ['{"version":1}', 'it is not a sealed session'],
    ['AQ=', 'it is not a sealed session'],
    ['AQEBA', 'it is not a sealed session'],
    ['AQEB', 'it is cut off'],
    ['CQEB', 'its seal has version 9; this release reads 1'],
    ['garbage', 'it is not a sealed session'],
    ['AAEB', 'it is not a sealed session'],
  ])('%j is refused: %s', async (sealed, problem) => {
    await expect(Session.unseal(sealed, secret)).rejects.toThrow(problem)
    await expect(Session.unseal(sealed, secret)).rejects.toBeInstanceOf(SessionError)
  })

  test.each([[''], [new Uint8Array()], [[]], [['a', '']], [undefined], [7]])(
    'the secret %o is refused, and its value is not shown',
    async (wrong) => {
      const problem = 'secret must be a non-empty string or Uint8Array'
      await expect(Session.seal(session, wrong as never)).rejects.toThrow(problem)
      await expect(Session.unseal('AQEB', wrong as never)).rejects.toThrow(problem)
    },
  )

  test('a session that could not be read back is not sealed', async () => {
    await expect(Session.seal({ ...session, status: 'asleep' } as never, secret)).rejects.toThrow(
      'status',
    )
  })
})

const firstSealed =
  'ARsAhMdh4cQafdyPEBzm0pjwDyA-GEdednLbk3lPUqeBeyJ2ZXJzaW9uIjoxLCJpZCI6InNlYWxlZC0xIiwic3RhdHVzIjoiaWRsZSIsInRocmVhZCI6eyJtZXNzYWdlcyI6W3sicm9sZSI6InVzZXIiLCJjb250ZW50IjoiSGVsbG8ifV0sIm1ldGFkYXRhIjp7fX0sInBlbmRpbmdUb29sQ2FsbHMiOltdLCJjb250ZXh0Ijp7fSwibWV0YWRhdGEiOnt9fQ'
