import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fileFromPath, imageFromFile, ValidationError } from '../../../src/index.ts'
import { virtualClock } from '../../../src/testing.ts'

const png = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0)

let folder = ''
const at = (name: string): string => join(folder, name)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'allm-read-'))
  await writeFile(at('cat.png'), png)
})

afterAll(() => rm(folder, { recursive: true }))

describe('an image from a file', () => {
  test('is read at once: it holds the bytes and does not name the path', async () => {
    const path = at('gone.png')
    await writeFile(path, png)
    const image = await imageFromFile(path)
    await rm(path)
    expect(image).toStrictEqual({
      type: 'base64',
      base64: Buffer.from(png).toString('base64'),
      mimeType: 'image/png',
    })
  })

  test('may be behind a symbolic link', async () => {
    await symlink(at('cat.png'), at('link.png'))
    expect(await imageFromFile(at('link.png'))).toEqual(await imageFromFile(at('cat.png')))
  })

  test('has the type that its bytes show, whatever its name says', async () => {
    await writeFile(at('cat.jpg'), png)
    expect((await imageFromFile(at('cat.jpg'))).mimeType).toBe('image/png')
  })

  test('is refused when it is not of the declared type', async () => {
    expect(await problemOf(imageFromFile('/etc/hosts', { mimeType: 'image/png' }))).toBe(
      'is declared as image/png, but its bytes are not',
    )
  })

  test('is refused when it is longer than maxBytes, before it is read', async () => {
    await writeFile(at('large.png'), png)
    await truncate(at('large.png'), 2 ** 36)
    expect(await problemOf(imageFromFile(at('large.png')))).toBe(
      'has 68719476736 bytes; at most 20971520 are read',
    )
    expect(await problemOf(imageFromFile(at('cat.png'), { maxBytes: 9 }))).toBe(
      'has 10 bytes; at most 9 are read',
    )
  })

  test('is refused when there is none, without a raw error of Node', async () => {
    const problem = await problemOf(imageFromFile(at('nowhere.png')))
    expect(problem).toContain('cannot be read: ENOENT')
    expect(await problemOf(imageFromFile(''))).toBe('must be a non-empty string')
  })

  test.each([
    [{ maxSize: 1 }, 'unknown key maxSize'],
    [{ maxBytes: Number.NaN }, 'maxBytes must be a positive integer'],
    [{ timeoutMs: Infinity }, 'timeoutMs must be a positive number'],
    [{ signal: {} }, 'signal must be an AbortSignal'],
    [{ clock: {} }, 'clock must be a clock'],
    [{ mimeType: 7 }, 'mimeType must be a string'],
  ])('is refused with the options %o', async (options, problem) => {
    await expect(imageFromFile(at('cat.png'), options as never)).rejects.toThrow(problem)
    await expect(fileFromPath(at('cat.png'), options as never)).rejects.toThrow(problem)
  })

  test('says on a runtime without files what to do instead', async () => {
    const { process } = globalThis
    Reflect.set(globalThis, 'process', undefined)
    try {
      expect(await problemOf(imageFromFile('cat.png'))).toBe(
        'cannot be read: this runtime has no file system; pass the bytes instead',
      )
    } finally {
      globalThis.process = process
    }
  })
})

describe('what is not a regular file is refused without waiting for it', () => {
  test('a folder', async () => {
    expect(await problemOf(imageFromFile(folder))).toBe('is not a regular file')
  })

  test.skipIf(process.platform === 'win32')('a pipe that nobody writes to', async () => {
    execFileSync('mkfifo', [at('pipe.png')])
    expect(await problemOf(imageFromFile(at('pipe.png')))).toBe('is not a regular file')
  })

  test.skipIf(process.platform === 'win32')('a socket', async () => {
    const server = createServer().listen(at('socket.png'))
    await new Promise((resolve) => server.once('listening', resolve))
    expect(await problemOf(imageFromFile(at('socket.png')))).toContain('cannot be read: ENXIO')
    await new Promise((resolve) => server.close(resolve))
  })

  test.skipIf(!existsSync('/dev/zero'))('a device', async () => {
    expect(await problemOf(imageFromFile('/dev/zero'))).toBe('is not a regular file')
  })

  test.skipIf(!existsSync('/proc/self/environ'))('a file that hides its size', async () => {
    expect(await problemOf(imageFromFile('/proc/self/environ'))).toBe('is an empty file')
  })
})

describe('a read that does not end', () => {
  const hanging = { open: () => new Promise(() => undefined) }

  test('is given up at its deadline, by the clock', async () => {
    const clock = virtualClock()
    await withFiles(hanging, async () => {
      expect(await problemOf(imageFromFile('/remote/cat.png', { clock, timeoutMs: 90_000 }))).toBe(
        'could not be read within 90000 ms',
      )
    })
    expect(clock.now()).toBe(90_000)
  })

  test('is given up when its signal is aborted, with the reason of the signal', async () => {
    const control = new AbortController()
    await withFiles(hanging, async () => {
      const reading = imageFromFile('/remote/cat.png', { signal: control.signal })
      control.abort(new Error('enough'))
      await expect(reading).rejects.toThrow('enough')
      await expect(imageFromFile('cat.png', { signal: control.signal })).rejects.toThrow('enough')
    })
  })

  test.each([
    ['shorter', 3],
    ['longer', 30],
  ])('a file that is %s than its file system says is refused and closed', async (_name, size) => {
    let closed = 0
    const file = {
      stat: () => Promise.resolve({ size: 10, isFile: () => true }),
      read: (_into: Uint8Array, _offset: number, length: number, position: number) =>
        Promise.resolve({ bytesRead: Math.max(0, Math.min(length, size - position)) }),
      close: () => Promise.resolve(void closed++),
    }
    await withFiles({ open: () => Promise.resolve(file) }, async () => {
      expect(await problemOf(imageFromFile('/sys/cat.png'))).toBe(
        'does not have the 10 bytes that it should have',
      )
    })
    expect(closed).toBe(1)
  })
})

/** Runs something with another file system in the place of Node's. */
async function withFiles(promises: object, run: () => Promise<void>): Promise<void> {
  const { process } = globalThis
  const getBuiltinModule = () => ({ promises, constants: { O_RDONLY: 0 } })
  Reflect.set(globalThis, 'process', { getBuiltinModule })
  try {
    await run()
  } finally {
    globalThis.process = process
  }
}

async function problemOf(reading: Promise<unknown>): Promise<string | undefined> {
  const error = await reading.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ValidationError)
  return error instanceof ValidationError ? error.issues[0]?.problem : undefined
}
