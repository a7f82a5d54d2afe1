import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { anthropic } from '../../../src/anthropic.ts'
import { createEngine, generate } from '../../../src/index.ts'
import { parseCassette } from '../../../src/middleware.ts'
import { createFakeServer, type FakeServer } from '../../../src/server.ts'
import type { Script } from '../../../src/testing.ts'
import { installed } from './installed.ts'
import { allm, scratch, start, type Playing } from './support.ts'
import { openTerminal } from './terminal.ts'

/** A program in another language would do the same: a POST to the address in the environment. */
const program = `
const { OPENAI_BASE_URL: url = '', WORDS: content = 'hi', ASK = '1', CODE = '0', MORE = '{}' } = process.env
for (let made = 0; made < Number(ASK); made++) {
  const answer = await fetch(url + '/chat/completions', {
    method: 'POST',
    headers: { authorization: 'Bearer ' + process.env.OPENAI_API_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content }], ...JSON.parse(MORE) }),
  })
  const { choices } = await answer.json()
  console.log(choices?.[0]?.message.content ?? answer.status)
}
process.exit(Number(CODE))
`

const hello: Script = [['text', 'Hello.']]

interface Told {
  readonly out: string
  readonly server: FakeServer
  readonly run: (
    env?: Record<string, string>,
    options?: readonly string[],
  ) => ReturnType<typeof allm>
}

/** Records a program of Node that calls a fake server. */
async function recorder(script: Script = hello): Promise<Told> {
  const server = await createFakeServer({ script, repeat: true })
  onTestFinished(() => server.close())
  const out = scratch('cassette.json')
  const file = join(dirname(out), 'program.mjs')
  writeFileSync(file, program)
  const given = ['record', '--provider', 'openai', '--base-url', server.openaiBaseUrl, '-o', out]
  return {
    out,
    server,
    run: (env = {}, options = []) =>
      allm([...given, ...options, '--', process.execPath, file, '--help'], {
        env: { PATH: process.env['PATH'], OPENAI_API_KEY: 'sk-key-of-the-test', ...env },
      }),
  }
}

describe('with a program', () => {
  test('a cassette that is new is for its owner only, one that exists stays as it is, and so is one without secrets', async () => {
    const { out, run } = await recorder()
    await run()
    expect(statSync(out).mode & 0o777).toBe(0o600)
    chmodSync(out, 0o644)
    await run()
    expect(statSync(out).mode & 0o777).toBe(0o644)
    await run({ WORDS: `my token is ghp_${'a1'.repeat(18)}` })
    const masked = out.replace('.json', '.masked.json')
    expect(statSync(masked).mode & 0o777).toBe(0o600)
  })

  test('its output is its own, its exit code is that of allm, and the cassette has its calls', async () => {
    const { out, run } = await recorder()
    expect(await run({ ASK: '2', CODE: '7' })).toEqual({
      code: 7,
      stdout: 'Hello.\nHello.\n',
      stderr: `allm-ts: 2 calls in ${out}\n`,
    })
    const { calls } = parseCassette(readFileSync(out, 'utf8'))
    expect(calls).toMatchObject([
      { format: 'openai_chat', model: 'gpt-4o' },
      { provider: 'openai' },
    ])
    expect(readFileSync(out, 'utf8')).not.toContain('sk-key')
  })

  test('a program that makes no calls is told of, and writes nothing', async () => {
    const { out, run } = await recorder()
    const { code, stderr } = await run({ ASK: '0' })
    expect(code).toBe(0)
    expect(stderr).toBe(
      'allm-ts: no calls were recorded; does the program take its base URL from OPENAI_BASE_URL?\n',
    )
    expect(existsSync(out)).toBe(false)
  })

  test('what looks like a secret is not written, unless it is redacted or masked', async () => {
    const { out, run } = await recorder()
    const env = { WORDS: `my token is ghp_${'a1'.repeat(18)}` }
    const { code, stderr } = await run(env)
    expect(code).toBe(1)
    expect(stderr).toContain('looks like a GitHub token')
    expect(stderr).toContain('--mask-secrets')
    expect(existsSync(out)).toBe(false)
    // What was paid for is kept, without the secret.
    const masked = out.replace('.json', '.masked.json')
    expect(stderr).toContain(masked)
    const kept = readFileSync(masked, 'utf8')
    expect(parseCassette(kept).calls).toHaveLength(1)
    expect(kept).toContain('my token is [redacted]')
    expect((await run(env, ['--mask-secrets'])).code).toBe(0)
    expect(readFileSync(out, 'utf8')).toContain('my token is [redacted]')
    expect((await run(env, ['--redact-pattern', 'my .*'])).code).toBe(0)
    expect(readFileSync(out, 'utf8')).not.toContain('token')
  })

  test('every pattern and every list of names counts', async () => {
    const { out, run } = await recorder()
    const WORDS = 'Ann lives in Bern; {"a":1}'
    const patterns = ['--redact-pattern', 'Ann', '--redact-pattern', 'Bern']
    expect((await run({ WORDS }, patterns)).code).toBe(0)
    expect(readFileSync(out, 'utf8')).toContain('[redacted] lives in [redacted]')
    const names = ['--redact', 'email', '--redact', 'iban,phone']
    const data = JSON.stringify({
      email: 'ann@a.example',
      iban: 'CH93',
      phone: '079',
      city: 'Bern',
    })
    expect((await run({ WORDS: data }, names)).code).toBe(0)
    const text = readFileSync(out, 'utf8')
    expect(text).toContain('Bern')
    for (const hidden of ['ann@', 'CH93', '079']) expect(text).not.toContain(hidden)
  })

  test('a call that the provider is known to refuse is refused here, unless told otherwise', async () => {
    const { server, run } = await recorder()
    const refused = await run({ MORE: '{"nonsense":1}' })
    expect(refused.stdout).toBe('400\n')
    expect(refused.stderr).toContain(
      'allm-ts: refused: POST /v1/chat/completions: openai would refuse it: ',
    )
    expect(server.requests).toHaveLength(0)
    const passed = await run({ MORE: '{"nonsense":1}' }, ['--no-check'])
    expect(passed.stdout).toBe('400\n')
    expect(server.requests).toHaveLength(1)
  })

  test('a folder that is not there is told before the program runs', async () => {
    const { out, server, run } = await recorder()
    const nowhere = join(dirname(out), 'nodir', 'y.json')
    expect(await run({}, ['-o', nowhere])).toEqual({
      code: 2,
      stdout: '',
      stderr: `allm-ts: cannot write ${nowhere}: there is no such folder; make it first\n`,
    })
    expect(server.requests).toHaveLength(0)
  })

  test('a provider that cannot be reached is told', async () => {
    const { server, run } = await recorder()
    await server.close()
    const { stderr } = await run({})
    expect(stderr).toContain('allm-ts: 1 call failed: the provider could not be reached\n')
  })

  test('a program that does not exist is one line', async () => {
    const { code, stderr } = await allm(['record', '--', 'no-such-program-anywhere'])
    expect([code, stderr]).toEqual([
      2,
      'allm-ts: cannot run no-such-program-anywhere: there is no such program; name one that is installed\n',
    ])
  })

  test('a program that a signal ends has the code that shells give it', async () => {
    const code = 'process.kill(process.pid, "SIGTERM"); setInterval(() => {}, 1000)'
    const ended = await allm(['record', '--', process.execPath, '-e', code], { env: {} })
    expect(ended.code).toBe(143)
  })

  test('signals are passed on to the program', async () => {
    const code =
      'process.on("SIGINT", () => process.exit(5)); process.on("SIGTERM", () => process.exit(6)); console.log("up"); setInterval(() => {}, 1000)'
    let terminate = (): void => undefined
    const running = (): Playing =>
      start(['record', '--', process.execPath, '-e', code], {
        env: {},
        onSignal: (signal, listener) => {
          if (signal === 'SIGTERM') terminate = listener
          return () => undefined
        },
      })
    const first = running()
    await vi.waitUntil(() => first.stdout().includes('up'), { interval: 5, timeout: 60_000 })
    first.pressCtrlC()
    expect((await first.ended).code).toBe(5)
    const second = running()
    await vi.waitUntil(() => second.stdout().includes('up'), { interval: 5, timeout: 60_000 })
    terminate()
    expect((await second.ended).code).toBe(6)
  })
})

const python = spawnSync('python3', ['--version']).status === 0

test.skipIf(!python)(
  `a program in Python is recorded as any other${python ? '' : ' (skipped: there is no python3)'}`,
  async () => {
    await using server = await createFakeServer({ script: hello })
    const out = scratch('cassette.json')
    const code = `
import json, os, urllib.request
body = {"model": "claude", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
headers = {"x-api-key": "k", "anthropic-version": "2023-06-01", "content-type": "application/json"}
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
asked = urllib.request.Request(url, json.dumps(body).encode(), headers)
print(json.load(urllib.request.urlopen(asked))["content"][0]["text"])
`
    const ended = await allm(['record', '-o', out, '--', 'python3', '-c', code], {
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ANTHROPIC_BASE_URL: server.url },
    })
    expect(ended).toEqual({ code: 0, stdout: 'Hello.\n', stderr: `allm-ts: 1 call in ${out}\n` })
    expect(parseCassette(readFileSync(out, 'utf8')).calls).toMatchObject([{ format: 'anthropic' }])
  },
)

const open = openTerminal
test.skipIf(open === undefined)(
  `Ctrl-C at a terminal reaches the program once, and its exit code is kept${open === undefined ? ' (skipped: there is no tmux and no python3)' : ''}`,
  async () => {
    const { program: file } = await installed()
    const code =
      'let n = 0; process.on("SIGINT", () => { n++; setTimeout(() => process.exit(20 + n), 100) }); console.log("up"); setInterval(() => {}, 1000)'
    const terminal = open?.([process.execPath, file, 'record', '--', process.execPath, '-e', code])
    onTestFinished(() => terminal?.close())
    await vi.waitUntil(() => terminal?.screen().includes('up'), { interval: 20, timeout: 60_000 })
    terminal?.press('\u0003')
    await vi.waitUntil(() => terminal?.screen().includes('left with'), {
      interval: 20,
      timeout: 60_000,
    })
    expect(terminal?.screen()).toContain('left with 21')
  },
)

describe('without a program', () => {
  test('the proxy runs until Ctrl-C, says where it is, and writes what passed', async () => {
    await using server = await createFakeServer({ script: hello })
    const out = scratch('cassette.json')
    const env = { ANTHROPIC_BASE_URL: server.url, OPENAI_BASE_URL: server.openaiBaseUrl }
    const recording = start(['record', '--port', '0', '-o', out], { env })
    await vi.waitUntil(recording.hearsCtrlC, { interval: 5, timeout: 60_000 })
    const [, baseUrl = ''] = /ANTHROPIC_BASE_URL=(\S+)/.exec(recording.stderr()) ?? []
    const adapter = anthropic({ baseUrl: `${baseUrl}/v1`, apiKey: 'k' })
    const { outputText } = await generate(createEngine({ adapter, model: 'any' }), 'hi')
    expect(outputText).toBe('Hello.')
    recording.pressCtrlC()
    const { code, stderr } = await recording.ended
    expect(code).toBe(0)
    expect(stderr).toMatch(/OPENAI_BASE_URL=http:\/\/127\.0\.0\.1:\d+\/v1\n/)
    expect(stderr).toContain(`allm-ts: 1 call in ${out}\n`)
    expect(parseCassette(readFileSync(out, 'utf8')).calls).toMatchObject([
      { provider: 'anthropic' },
    ])
  })
})

test.each([
  [['--base-url', 'http://127.0.0.1/v1'], '--base-url needs --provider'],
  [['--provider', 'fake'], '--provider must be one of openai, anthropic, gemini, not fake'],
  [['--provider', 'openai', '--base-url', 'nowhere'], '--base-url must be a URL'],
  [['--redact-pattern', '('], '--redact-pattern must be a regular expression'],
  [['--port', 'x'], '--port must be a whole number'],
])('%j is wrong usage', async (options, words) => {
  const { code, stderr } = await allm(['record', ...options])
  expect(code).toBe(2)
  expect(stderr).toContain(words)
})
