import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectMcp } from '../../../src/mcp.ts'
import { resultOfCall, until } from '../../bridges/mcp/pairs.ts'
import { root } from '../../support/root.ts'
import { allm, scratch, start } from './support.ts'

/** Tools as a module has them that does not import the library. */
const tools = `
const act = (name, handler, more = {}) =>
  ({ name, description: 'Acts.', schema: { type: 'object' }, manual: false, compact: false, idempotent: false, handler, ...more })
`

/** A folder with a module, and the packages that are installed beside it. */
function moduleWith(text: string, packages: readonly string[] = [], name = 'tools.mjs'): string {
  const path = scratch(name)
  writeFileSync(path, tools + text)
  const scope = join(dirname(path), 'node_modules/@modelcontextprotocol')
  mkdirSync(scope, { recursive: true })
  for (const one of packages)
    symlinkSync(join(root, 'node_modules/@modelcontextprotocol', one), join(scope, one))
  return path
}

describe('as a program', () => {
  let folder = ''
  let main = ''

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'allm-test-'))
    main = join(folder, 'dist/cli/main.js')
    writeFileSync(join(folder, 'package.json'), '{ "type": "module", "version": "1.2.3" }')
    await build({
      entryPoints: [join(root, 'src/apps/cli/main.ts')],
      outfile: main,
      bundle: true,
      platform: 'node',
      format: 'esm',
      logLevel: 'silent',
    })
  })

  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test.each([['server'], ['sdk']])(
    'it serves the tools of a module with %s, and ends with its input',
    async (installed) => {
      const path = moduleWith(
        `console.log('this is not for stdout')
       setInterval(() => undefined, 1000)
       export const tools = [act('hello', ({ name }) => { console.log('called'); return 'Hello, ' + name })]`,
        [installed],
      )
      const parameters = {
        command: process.execPath,
        args: [main, 'mcp', 'serve', path, '--name', 'greeter'],
        stderr: 'ignore' as const,
      }
      const transport = new StdioClientTransport(parameters)
      const connection = await connectMcp(async (options) => {
        const client = new Client({ name: 'test', version: '1.0.0' })
        await client.connect(transport, options)
        return client
      })
      expect(connection.client.getServerVersion()).toMatchObject({
        name: 'greeter',
        version: '1.2.3',
      })
      expect(await resultOfCall(connection.tools, { name: 'Ada' })).toBe('Hello, Ada')
      const { pid } = transport
      await connection.close()
      await until(() => {
        try {
          process.kill(pid ?? 0, 0)
          return false
        } catch {
          return true
        }
      })
    },
  )

  test('without a package that has a server, the line says what to install', () => {
    const path = moduleWith(`export default [act('a', () => 1)]`)
    const cwd = dirname(path)
    const run = spawnSync(process.execPath, [main, 'mcp', 'serve', path], { cwd, encoding: 'utf8' })
    expect([run.status, run.stdout]).toEqual([1, ''])
    expect(run.stderr).toMatch(
      /^allm-ts: there is no package with an MCP server beside .*tools\.mjs; run npm install @modelcontextprotocol\/server\n$/,
    )
  })

  test('TypeScript is loaded by a Node that can, and refused with advice by others', () => {
    const path = moduleWith(
      `export const tools: unknown[] = [act('hello', () => 'Hello')]`,
      ['server'],
      'tools.ts',
    )
    const { status, stderr } = spawnSync(process.execPath, [main, 'mcp', 'serve', path], {
      input: '',
      encoding: 'utf8',
    })
    const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
    if (major > 22 || (major === 22 && minor >= 18)) expect(status).toBe(0)
    else {
      expect(status).toBe(2)
      expect(stderr).toMatch(
        /^allm-ts: cannot load .*tools\.ts: Node \S+ does not load TypeScript; use Node 22\.18 or newer, or compile it to JavaScript\n$/,
      )
    }
  })
})

describe('what is wrong is said in a line', () => {
  const served = async (path: string) => {
    const { code, stdout, stderr } = await allm(['mcp', 'serve', path], { input: '' })
    expect([code, stdout]).toEqual([2, ''])
    return stderr
  }

  test('a module without tools', async () => {
    expect(await served(moduleWith('export const a = 1'))).toMatch(
      /tools\.mjs exports no tools; export them as tools, as a list, or one by one\n$/,
    )
  })

  test('a file that is not there, or does not run', async () => {
    expect(await served(scratch('none.mjs'))).toMatch(
      /cannot load .*none\.mjs: file not found; name a JavaScript module\n$/,
    )
    expect(await served(moduleWith(`throw new Error('no database')`))).toMatch(
      /cannot load .*tools\.mjs: no database\n$/,
    )
  })

  test.each(['server', 'sdk'])('a tool that cannot be served, with %s', async (installed) => {
    const path = moduleWith(`export const tools = [act('a b', () => 1)]`, [installed])
    expect(await served(path)).toMatch(/tools\[0\]\.name must be 1 to 64 letters/)
    const bare = moduleWith(
      `export const one = act('one', () => 1), two = act('two', () => 1, { manual: true })`,
      [installed],
    )
    expect(await served(bare)).toMatch(/two cannot be served: it has no handler\n$/)
  })
})

test('exports that are tools are served one by one, and the console is given back', async () => {
  const { log } = console
  const path = moduleWith(`export const one = act('one', () => 1), config = { a: 1 }`, ['sdk'])
  const playing = start(['mcp', 'serve', path])
  const request = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
  playing.type(`${JSON.stringify(request)}\n`)
  await until(() => playing.stdout() !== '')
  expect(JSON.parse(playing.stdout())).toMatchObject({
    id: 1,
    result: { tools: [{ name: 'one' }] },
  })
  playing.type('')
  expect(await playing.ended).toMatchObject({ code: 0, stderr: '' })
  expect(console.log).toBe(log)
})

test('Ctrl-C ends it', async () => {
  const path = moduleWith(`export const tools = [act('one', () => 1)]`, ['server'])
  const playing = start(['mcp', 'serve', path])
  await until(() => playing.hearsCtrlC())
  playing.pressCtrlC()
  expect(await playing.ended).toMatchObject({ code: 0, stdout: '', stderr: '' })
})
