import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { root } from '../support/root.ts'

const folder = mkdtempSync(join(tmpdir(), 'allm-instantiations-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const program = `import { createEngine, streamChat, tool, user } from '${root}/dist/index.js'
import { openai } from '${root}/dist/openai.js'
const weather = tool({
  name: 'weather',
  description: 'The weather of a city.',
  schema: { type: 'object', properties: { city: { type: 'string' } } },
  handler: ({ city }) => \`sunny in \${city}\`,
})
const engine = createEngine({ adapter: openai(), model: 'gpt-5', tools: [weather] })
for await (const event of streamChat(engine, [user('And Rome?')])) event.type.trim()
`

test('a program of ten lines needs fewer than 20 000 type instantiations of its own, libraries checked', () => {
  const empty = instantiations('export {}\n')
  expect(instantiations(program) - empty).toBeLessThan(20_000)
})

/** Compiles against the declarations of the last build; `npm test` builds first. */
function instantiations(text: string): number {
  writeFileSync(join(folder, 'program.ts'), text)
  const options = {
    target: 'es2023',
    module: 'nodenext',
    lib: ['es2023', 'esnext.disposable', 'dom', 'dom.iterable', 'dom.asynciterable'],
    types: [],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true,
  }
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  const config = { compilerOptions: options, files: ['program.ts'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const args = [tsc, '-p', folder, '--extendedDiagnostics', '--pretty', 'false']
  const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect(stdout.split('\n').filter((line) => line.includes('error TS'))).toEqual([])
  return Number(/^Instantiations:\s+(\d+)/m.exec(stdout)?.[1])
}
