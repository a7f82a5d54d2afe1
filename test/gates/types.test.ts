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

/** Tools of either kind of schema, an approval, events and results narrowed by name, an engine with more tools, sessions. */
const typedProgram = `import { askUser, chat, createEngine, extendEngine, Session, streamChat, tool } from '${root}/dist/index.js'
import type { Engine, EventOf, StreamEvent } from '${root}/dist/index.js'
import { openai } from '${root}/dist/openai.js'

const weather = tool({
  name: 'weather',
  description: 'The weather of a city.',
  schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  handler: async ({ city }) => ({ city, degrees: 21 }),
})
const book = tool({
  name: 'book',
  description: 'Books a table.',
  schema: { type: 'object', properties: { seats: { type: 'number' }, at: { type: 'string' } }, required: ['seats'] },
  needsApproval: ({ seats }) => seats > 8,
  handler: ({ seats, at }) => (at === undefined ? askUser('When?') : { booked: seats }),
})
const engine = createEngine({ adapter: openai('gpt-5'), tools: [weather, book], toolChoice: 'auto' })
const log = (event: StreamEvent): string => event.type
const ask = (any: Engine): Promise<unknown> => chat(any, 'Hello', { toolChoice: 'whatever' })
function show(event: EventOf<typeof engine>): string {
  if (event.type === 'tool_execution_started' && event.name === 'weather') return event.arguments.city
  if (event.type === 'approval_requested' && event.toolName === 'book') return event.call.arguments.seats.toFixed()
  if (event.type !== 'tool_execution_completed') return log(event)
  if (event.name === 'weather' && 'ok' in event.result) return event.result.ok.degrees.toFixed(1)
  return event.name
}
for await (const event of streamChat(engine, 'How is Rome?', { toolChoice: 'weather' })) show(event)
const { pendingApprovals, manualToolCalls, steps } = await chat(engine, 'A table for nine')
for (const call of pendingApprovals) if (call.name === 'book') call.arguments.seats.toFixed()
for (const call of manualToolCalls) if (call.name === 'weather') call.arguments.city.trim()
export const last = steps.at(-1)?.response.outputText
const note = tool({
  name: 'note',
  description: 'Notes a line.',
  schema: { type: 'object', properties: { line: { type: 'string' } }, required: ['line'] },
  handler: ({ line }) => line.length,
})
const wider = extendEngine(engine, { tools: [note], toolChoice: 'note' })
const stream = Session.streamStart(wider, 'Note that', { maxTurns: 3, toolChoice: 'book' })
for await (const event of stream) {
  if (event.type === 'tool_execution_completed' && event.name === 'note') {
    if ('ok' in event.result) event.result.ok.toFixed()
  }
  if (event.type === 'chat_completed') event.result.pendingApprovals.map(({ name }) => name.trim())
}
const { session } = await stream.result
const { result } = await Session.resume(wider, session, { tools: [weather] })
await ask(wider)
export const text = result.outputText
`

test('a program of fifty lines that knows its tools needs fewer than 5 000 type instantiations', () => {
  expect(typedProgram.trimEnd().split('\n')).toHaveLength(50)
  expect(instantiations(typedProgram, { skipLibCheck: true })).toBeLessThan(5000)
})

test.each(['typescript', 'typescript-6', 'typescript-5.6'])('and compiles with %s', (compiler) => {
  expect(compiled(typedProgram, { skipLibCheck: true, compiler }).errors).toEqual([])
})

/** The format of an engine, kept, replaced, removed and overruled. An assignment that is wrong is an error, and one that is too lax too. */
const formatProgram = `import { chat, createEngine, extendEngine, generate, Session, withJsonSchema } from '${root}/dist/index.js'
import type { Engine, StandardSchema } from '${root}/dist/index.js'
declare const bare: { place: StandardSchema<{ city: string }>; count: StandardSchema<{ n: string }, { n: number }> }
const Place = withJsonSchema(bare.place, { type: 'object' })
const Count = withJsonSchema(bare.count, { type: 'object' })
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : never
const same = <A, B>(_is: Same<A, B>): void => undefined
const engine = createEngine({ responseFormat: Place })
const made = await generate(engine, 'hi')
same<typeof made.output, { city: string }>(true)
const talked = await chat(engine, 'hi', { responseFormat: Count })
same<typeof talked.output, { n: number } | undefined>(true)
const { result } = await Session.start(extendEngine(engine, { temperature: 0 }), 'hi')
same<typeof result.output, { city: string } | undefined>(true)
const replaced = await generate(extendEngine(engine, { responseFormat: Count }), 'hi')
same<typeof replaced.output, { n: number }>(true)
const removed = await chat(extendEngine(engine, { responseFormat: undefined }), 'hi')
same<typeof removed.output, unknown>(true)
const plain: Engine = engine
same<Awaited<ReturnType<typeof chat<undefined>>>['output'], unknown>(true)
export const last = (await chat(plain, 'hi')).outputText
`

test.each(
  ['typescript', 'typescript-6', 'typescript-5.6'].flatMap((compiler) =>
    [true, false].map((exact) => ({ compiler, exact })),
  ),
)(
  'the format of an engine types its output with $compiler, exactOptionalPropertyTypes $exact, libraries checked',
  ({ compiler, exact }) => {
    expect(compiled(formatProgram, { compiler, exact }).errors).toEqual([])
  },
)

test('a toolChoice that no tool has is refused, and the compiler names the choices', () => {
  const { errors } = compiled(`${program}void streamChat(engine, 'hi', { toolChoice: 'wether' })\n`)
  expect(errors).toHaveLength(1)
  expect(errors[0]).toContain(`'"wether"' is not assignable to type`)
  expect(errors[0]).toContain('weather')
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

test.each(['createEngine(FORMAT)', 'extendEngine(createEngine({}), FORMAT)'])(
  'of a format of an engine without a JSON Schema the compiler says what to do, in %s',
  (code) => {
    const { errors } = compiled(`import { createEngine, extendEngine } from '${root}/dist/index.js'
import * as v from '${root}/node_modules/valibot/dist/index.mjs'
export const engine = ${code.replace('FORMAT', '{ responseFormat: v.object({ n: v.number() }) }')}
export const other = extendEngine(createEngine({}), {})
`)
    expect(errors).toHaveLength(1)
  },
)

interface Compiling {
  /** Whether only the program is checked, as most projects do. */
  readonly skipLibCheck?: boolean
  readonly compiler?: string
  readonly exact?: boolean
}

function instantiations(text: string, how?: Compiling): number {
  const { stdout, errors } = compiled(text, how)
  expect(errors).toEqual([])
  return Number(/^Instantiations:\s+(\d+)/m.exec(stdout)?.[1])
}

/** Compiles against the declarations of the last build; `npm test` builds first. */
function compiled(
  text: string,
  { skipLibCheck = false, compiler = 'typescript', exact = true }: Compiling = {},
): { readonly stdout: string; readonly errors: readonly string[] } {
  writeFileSync(join(folder, 'program.ts'), text)
  const options = {
    target: 'es2023',
    module: 'nodenext',
    lib: ['es2023', 'esnext.disposable', 'dom', 'dom.iterable', 'dom.asynciterable'],
    types: [],
    strict: true,
    exactOptionalPropertyTypes: exact,
    skipLibCheck,
    noEmit: true,
  }
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  const config = { compilerOptions: options, files: ['program.ts'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const tsc = join(root, 'node_modules', compiler, 'bin/tsc')
  const args = [tsc, '-p', folder, '--extendedDiagnostics', '--pretty', 'false']
  const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  return { stdout, errors: stdout.split('\n').filter((line) => line.includes('error TS')) }
}
