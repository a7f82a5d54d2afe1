import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { expect, onTestFinished, test } from 'vitest'
import { blocksOf } from './support/doc-blocks.ts'
import { sources } from './support/on-sources.ts'
import { root } from './support/root.ts'

const readme = readFileSync(join(root, 'README.md'), 'utf8')

interface Program {
  readonly folder: string
  readonly path: string
}

/** What a process printed, and its exit code or the signal that ended it. */
interface Life {
  readonly ended: unknown
  readonly printed: string
}

/** The program of the README in a folder of its own, on the sources. */
async function refundProgram(): Promise<Program> {
  const folder = mkdtempSync(join(tmpdir(), 'allm-kill-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const block = blocksOf('README.md', readme).find(({ file }) => file === 'refund.ts')
  const path = join(folder, 'refund.mjs')
  await build({
    stdin: { contents: block?.code ?? '', resolveDir: root, loader: 'ts' },
    plugins: [sources],
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile: path,
  })
  return { folder, path }
}

/** Makes the process kill itself as soon as it has printed a text. Pipes are written synchronously, so nothing more comes. */
const killingItself = (text: string): string => `
let printed = ''
const write = process.stdout.write.bind(process.stdout)
process.stdout.write = (chunk) => {
  write(chunk)
  printed += chunk
  if (printed.endsWith(${JSON.stringify(text)})) process.kill(process.pid, 'SIGKILL')
  return true
}`

/** Runs the program until it ends, or is killed when it has printed a text. */
async function life({ folder, path }: Program, killAt?: string): Promise<Life> {
  const preload = killAt === undefined ? '' : killingItself(killAt)
  const args = ['--import', `data:text/javascript,${encodeURIComponent(preload)}`, path]
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (printed += text))
  const [code, signal]: unknown[] = await once(child, 'close')
  return { ended: signal ?? code, printed }
}

test('the program of the README is killed, and goes on as it says there', async () => {
  const program = await refundProgram()
  const [, shown = ''] = /^```text\n(\$ node refund\.ts\n[^]*?)^```$/m.exec(readme) ?? []
  const first = await life(program, 'and w')
  const second = await life(program)
  expect([first.ended, second.ended]).toEqual(['SIGKILL', 0])
  const money = readFileSync(join(program.folder, 'money.txt'), 'utf8')
  const commands = [
    `node refund.ts\n${first.printed}\nKilled\n`,
    `node refund.ts\n${second.printed}`,
  ]
  const terminal = [...commands, `cat money.txt\n${money}`].map((command) => `$ ${command}`)
  expect(terminal.join('')).toBe(shown)
}, 120_000)
