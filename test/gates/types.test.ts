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

test.each(['generate', 'chat', 'streamGenerate', 'streamChat'])(
  'of a format without a JSON Schema the compiler says what to do, in %s',
  (call) => {
    const { errors } = compiled(`import { createEngine, ${call} } from '${root}/dist/index.js'
import * as v from '${root}/node_modules/valibot/dist/index.mjs'
void ${call}(createEngine({}), 'hi', { responseFormat: v.object({ n: v.number() }) })
`)
    expect(errors).toHaveLength(1)
    expect(errors[0]).toContain('wrap it as withJsonSchema(schema, json)')
  },
)

function instantiations(text: string): number {
  const { stdout, errors } = compiled(text)
  expect(errors).toEqual([])
  return Number(/^Instantiations:\s+(\d+)/m.exec(stdout)?.[1])
}

/** Compiles against the declarations of the last build; `npm test` builds first. */
function compiled(text: string): { readonly stdout: string; readonly errors: readonly string[] } {
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
  return { stdout, errors: stdout.split('\n').filter((line) => line.includes('error TS')) }
}
