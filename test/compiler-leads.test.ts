import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { root } from './support/root.ts'

/** A change that a feature may begin with, and the files that have to decide about it. */
interface Change {
  readonly title: string
  /** The new name. The compiler's messages about this change contain it. */
  readonly name: string
  /** In each file, the text after which something is inserted. */
  readonly edits: readonly (readonly [file: string, after: string, inserted: string])[]
  readonly places: readonly string[]
}

const changes: readonly Change[] = [
  {
    title: 'an optional field of a request',
    name: 'luck',
    edits: [['core/types/request.ts', 'export interface ModelRequest {', 'readonly luck?: number']],
    places: [
      'core/types/request.ts',
      'core/schema/validate.ts',
      'core/messages/requests.ts',
      'engine/model-call/context.ts',
      'providers/openai/render-chat.ts',
      'providers/openai/render-responses.ts',
      'providers/anthropic/render-request.ts',
      'providers/gemini/render-request.ts',
    ],
  },
  {
    title: 'an optional field of a request that is also an option of a call',
    name: 'humour',
    edits: [
      ['core/types/request.ts', 'export interface ModelRequest {', 'readonly humour?: number'],
      ['core/contracts/options.ts', 'interface SharedOptions {', 'readonly humour?: number'],
    ],
    places: [
      'core/types/request.ts',
      'core/schema/validate.ts',
      'engine/model-call/context.ts',
      'providers/openai/render-chat.ts',
      'providers/openai/render-responses.ts',
      'providers/anthropic/render-request.ts',
      'providers/gemini/render-request.ts',
    ],
  },
  {
    title: 'an option of a call alone',
    name: 'patience',
    edits: [
      [
        'core/contracts/options.ts',
        'export interface BaseOptions extends SharedOptions, ContextHooks {',
        'readonly patience?: number',
      ],
    ],
    places: ['core/schema/options.ts', 'engine/chat/answering-engine.ts'],
  },
  {
    title: 'a part of a message',
    name: 'audio',
    edits: [['core/types/message.ts', 'export type Part =', "{ readonly type: 'audio' } |"]],
    places: [
      'core/schema/validate.ts',
      'providers/openai/render-chat.ts',
      'providers/openai/render-responses.ts',
      'providers/anthropic/render-messages.ts',
      'providers/gemini/render-contents.ts',
      'testing/fakes/interpret.ts',
    ],
  },
  {
    title: 'a setting of an embedding request',
    name: 'truncate',
    edits: [
      [
        'core/types/models.ts',
        'export interface EmbeddingRequest extends RequestFields {',
        'readonly truncate?: boolean',
      ],
    ],
    places: [
      'models/embed.ts',
      'core/schema/validate-embeddings.ts',
      'providers/openai/embeddings.ts',
      'providers/gemini/embeddings.ts',
    ],
  },
  {
    title: 'an event of a model',
    name: 'source_found',
    edits: [
      ['core/types/events.ts', 'export type ModelEvent =', "| { readonly type: 'source_found' }"],
    ],
    places: [
      'core/types/events.ts',
      'core/answer/gate.ts',
      'core/answer/fold-answer.ts',
      'testing/conformance/stream-answers.ts',
      'testing/server/plan.ts',
      'apps/cli/narrator.ts',
    ],
  },
  {
    title: 'an event of a run',
    name: 'run_paused',
    edits: [
      [
        'core/types/events.ts',
        'export type RunEvent<Call extends ToolCall = ToolCall, Manual extends ToolCall = Call> =',
        "| { readonly type: 'run_paused' }",
      ],
    ],
    places: ['core/types/events.ts', 'engine/model-call/fold.ts', 'apps/cli/narrator.ts'],
  },
  {
    title: 'a reason of an error',
    name: 'out_of_credit',
    edits: [['core/errors/errors.ts', 'const callErrorReasons = [', "'out_of_credit',"]],
    places: ['testing/conformance/adapter-demands.ts', 'testing/server/wire-failure.ts'],
  },
  {
    title: 'a status of a session',
    name: 'awaiting_payment',
    edits: [['core/types/session.ts', 'export const sessionStatuses = [', "'awaiting_payment',"]],
    places: [
      'engine/session/legal.ts',
      'core/schema/validate-session.ts',
      'testing/fakes/rehearsal.ts',
    ],
  },
  {
    title: 'a finish reason',
    name: 'paused_turn',
    edits: [['core/types/message.ts', 'export const finishReasons = [', "'paused_turn',"]],
    places: [
      'testing/server/wire-openai-chat.ts',
      'testing/server/wire-openai-responses.ts',
      'testing/server/wire-anthropic.ts',
      'testing/server/wire-gemini.ts',
    ],
  },
]

/** All changes are made on one copy of the sources, which is compiled once. */
const copy = mkdtempSync(join(tmpdir(), 'allm-compiler-leads-'))
let errors: readonly (readonly [file: string, message: string])[] = []

beforeAll(async () => {
  for (const name of ['src', 'tsconfig.base.json', 'tsconfig.core.json', 'tsconfig.node.json']) {
    cpSync(join(root, name), join(copy, name), { recursive: true })
  }
  writeFileSync(join(copy, 'package.json'), '{ "type": "module" }')
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  for (const { edits } of changes) for (const edit of edits) insert(...edit)
  errors = parse(await compile())
})

afterAll(() => rmSync(copy, { recursive: true, force: true }))

test.each(changes)('$title does not compile until every place decides about it', (change) => {
  const { name, places } = change
  const named = errors.filter(([, message]) => message.includes(name)).map(([file]) => file)
  expect([...new Set(named)]).toEqual(expect.arrayContaining([...places]))
})

function insert(file: string, after: string, inserted: string): void {
  const path = join(copy, 'src', file)
  const text = readFileSync(path, 'utf8')
  const at = text.indexOf(after)
  if (at === -1) throw new Error(`${file} has no "${after}"`)
  const end = at + after.length
  writeFileSync(path, `${text.slice(0, end)}\n${inserted}\n${text.slice(end)}`)
}

function compile(): Promise<string> {
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const args = [tsc, '-b', 'tsconfig.node.json', '--pretty', 'false']
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: copy, maxBuffer: 2 ** 26 }, (_error, stdout) =>
      resolve(stdout),
    )
  })
}

/** The errors by file. A message goes on in the indented lines below it. */
function parse(output: string): typeof errors {
  return output.split(/\n(?=\S)/).flatMap((text) => {
    const match = /^src\/(\S+?)\(\d+,\d+\): error (.*)$/s.exec(text)
    return match?.[1] === undefined || match[2] === undefined ? [] : [[match[1], match[2]] as const]
  })
}
