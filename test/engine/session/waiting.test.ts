import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import * as index from '../../../src/index.ts'
import { createRuns } from '../../../src/runs.ts'
import { fileStore } from '../../../src/stores.ts'
import * as testing from '../../../src/testing.ts'
import {
  cutCalls,
  sceneEngine,
  scenes,
  toEnd,
  type End,
} from '../../fixtures/sessions-0.2.0/scenes.mjs'

/** What version 0.2.0 has written: `make.mjs` in the folder made the files with its build, and the ends to which it came with them. */
const folder = new URL('../../fixtures/sessions-0.2.0/', import.meta.url)
const saved = (name: string): unknown => JSON.parse(readFileSync(new URL(name, folder), 'utf8'))

interface Written {
  readonly session: index.Session
  readonly end: End
}

const { Session } = index
const library = { index, testing }
/** An end in which the answer to a question is all that the model reads of it, as 0.2.0 had it: since then it reads the question too. */
const withoutQuestions = ({ messages, ...end }: End): End => ({
  ...end,
  messages: messages.map((message) => ({ ...message, content: answerIn(message.content) })),
})

function answerIn(content: unknown): unknown {
  const [, answer] = /^\{"question":".*","answer":(".*")\}$/.exec(String(content)) ?? []
  return answer === undefined ? content : JSON.parse(answer)
}

const read = ({ session }: Written): index.Session => Session.parse(JSON.stringify(session))

describe('a session that 0.2.0 saved goes on to the same end', () => {
  const written = saved('waiting.json') as Readonly<Record<string, Written>>

  test.each(Object.entries(written))('%s', async (name, one) => {
    const end = await toEnd(library, scenes[name]?.calls ?? [], read(one))
    expect(withoutQuestions(end)).toEqual(one.end)
  })

  test('every scene was written', () => {
    expect(Object.keys(written)).toEqual(Object.keys(scenes))
  })

  const cuts = saved('cut-after-each-event.json') as readonly (Written & { after: string })[]

  test.each(cuts.map((one, at) => [at, one.after, one] as const))(
    'cut after event %i, %s',
    async (_at, _after, one) => {
      expect(withoutQuestions(await toEnd(library, cutCalls, read(one)))).toEqual(one.end)
    },
  )
})

test('a file store of 0.2.0 goes on: what waited, what was queued, and what was killed in a handler', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'allm-'))
  try {
    cpSync(fileURLToPath(new URL('file-store', folder)), directory, { recursive: true })
    const ran: string[] = []
    const engine = sceneEngine(library, ran)(['pay', 'run'])
    await using runs = createRuns({ engine, store: fileStore(directory) })
    expect((await runs.get('waits'))?.session).toMatchObject({ status: 'awaiting_approval' })
    await runs.recover()
    await runs.approve('waits', 'c0')
    for (const id of ['waits', 'queued']) {
      expect((await runs.wait(id)).session).toMatchObject({ status: 'completed' })
    }
    const killed = (await runs.wait('killed')).session
    expect(killed.status).toBe('awaiting_approval')
    expect(killed.thread.messages.at(-1)?.metadata).toMatchObject({ interrupted: true })
    // Only what was approved: the handler in which the process died has not run again.
    expect(ran).toEqual(['pay', 'pay'])
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
})
