import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  askUser,
  createEngine,
  isAllmError,
  messageText,
  Session,
  tool,
  type Engine,
  type PendingCall,
} from '../../src/index.ts'
import { createRuns } from '../../src/runs.ts'
import { memoryStore } from '../../src/stores.ts'
import { fake, virtualClock, type Script } from '../../src/testing.ts'

/**
 * Law 16: messages and decisions are bound to what was seen.
 *
 * Two people look at a session at different moments and settle what they saw then, while somebody else writes messages, commands wait in the
 * inbox, the session is rewound, and the model numbers its calls anew. An answer reaches its question or nothing, a call runs only with arguments
 * that somebody approved, and of two decisions one counts.
 */
const answer = fc.array(
  fc.record({
    id: fc.nat({ max: 1 }),
    name: fc.constantFrom('pay', 'pay', 'spend', 'ask', 'talk', 'talk', 'hand'),
    n: fc.nat({ max: 2 }),
  }),
  { minLength: 1, maxLength: 3 },
)

const move = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('look' as const), who: fc.nat(1) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('settle' as const),
      who: fc.nat(1),
      choice: fc.nat(20),
      denies: fc.boolean(),
      /** Looks once more before. */
      fresh: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('say' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('rewind' as const),
      to: fc.constantFrom(1, 1, 1, 3, 5),
    }),
  },
  { weight: 7, arbitrary: fc.record({ type: fc.constant('advance' as const) }) },
  /** The last answer is made anew, behind the back of those who look at it. */
  { weight: 4, arbitrary: fc.record({ type: fc.constant('redo' as const) }) },
)

test(
  'what was not seen is not answered, not approved, and not settled',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(answer, { minLength: 3, maxLength: 12 }),
        fc.array(move, { minLength: 20, maxLength: 60 }),
        async (answers, moves) => {
          const world = newWorld()
          const clock = virtualClock({ auto: true })
          const store = memoryStore({ clock })
          const engine = engineOf(answers, world)
          await using runs = createRuns({ engine, store, clock, execute: false, whenBusy: 'queue' })
          const pages: (readonly PendingCall[])[] = [[], []]
          let said = 0
          const rest = async (): Promise<void> => {
            for (let turn = 0; turn < 50; turn++) {
              if (!(await runs.advance('s')).more) return
            }
          }
          await runs.send('s', 'go')
          for (const one of moves) {
            const info = await runs.get('s')
            if (one.type === 'look') pages[one.who] = info ? Session.pending(info.session) : []
            else if (one.type === 'advance') await rest()
            else if (one.type === 'say') {
              await tried(runs.send('s', `message ${++said}`, { answers: null }))
            } else if (one.type === 'rewind' || one.type === 'redo') {
              if (info === undefined || info.running) continue
              const { messages } = info.session.thread
              const last = messages.findLastIndex(({ role }) => role === 'assistant')
              const to = one.type === 'redo' ? Math.max(last, 1) : one.to
              await tried(rewind(store, info.session, to, info.version))
              if (one.type === 'redo') await rest()
            } else {
              if (one.fresh && info) pages[one.who] = Session.pending(info.session)
              const seen = pages[one.who] ?? []
              const wait = seen[one.choice % Math.max(seen.length, 1)]
              if (wait !== undefined) await tried(settle(runs, world, wait, one.denies))
            }
          }
          await rest()
          check(world)
        },
      ),
      { numRuns: 500, seed: 37 },
    )
  },
  // Stops a test that hangs.
  600_000,
)

/** What handlers did, and what was given. */
interface World {
  /** The arguments with which paying tools ran. */
  readonly paid: string[]
  readonly approved: string[]
  /** What handlers asked, and what they were answered. */
  readonly heard: [string, string][]
}

function newWorld(): World {
  return { paid: [], approved: [], heard: [] }
}

type Answers = readonly (readonly {
  readonly id: number
  readonly name: string
  readonly n: number
}[])[]

function engineOf(answers: Answers, world: World): Engine {
  const schema = { type: 'object' } as const
  let call = 0
  const adapter = fake({
    script: (): Script => {
      const calls = answers[call++] ?? []
      if (calls.length === 0) return [['text', 'words']]
      return calls.map(({ id, name, n }) => ['tool_call', { id: `c${id}`, name, arguments: { n } }])
    },
  })
  const paying = (name: string) =>
    tool({
      name,
      description: name,
      schema,
      needsApproval: true,
      handler: (args) => world.paid.push(`${name} ${JSON.stringify(args)}`),
    })
  const question = (name: string, args: unknown): string => `${name} ${JSON.stringify(args)}?`
  return createEngine({
    adapter,
    maxTurns: 3,
    tools: [
      paying('pay'),
      paying('spend'),
      tool({
        name: 'ask',
        description: 'asks',
        schema,
        handler: (args) => askUser(question('ask', args)),
      }),
      tool({
        name: 'talk',
        description: 'asks twice',
        schema,
        handler: (args, { answer: given }) => {
          const asked = question('talk', args)
          if (given === undefined) return askUser(asked, { resume: true })
          const text = messageText({ role: 'user', content: given })
          world.heard.push([text.startsWith('again') ? `again ${asked}` : asked, text])
          return text.startsWith('again') ? 'over' : askUser(`again ${asked}`, { resume: true })
        },
      }),
      tool({ name: 'hand', description: 'by hand', schema, manual: true }),
    ],
  })
}

/** Settles what a page has shown, with the ticket that it has shown. */
async function settle(
  runs: ReturnType<typeof createRuns>,
  world: World,
  { kind, call, ticket, question }: PendingCall,
  denies: boolean,
): Promise<void> {
  if (kind === 'question') {
    await runs.send('s', question?.text ?? '', { answers: ticket })
  } else if (kind === 'result') {
    await runs.submitToolResult('s', call.id, call.arguments, { ticket })
  } else if (denies) await runs.deny('s', call.id, 'no', { ticket })
  else {
    await runs.approve('s', call.id, { ticket })
    world.approved.push(`${call.name} ${JSON.stringify(call.arguments)}`)
  }
}

async function rewind(
  store: ReturnType<typeof memoryStore>,
  session: Session,
  to: number,
  version: number,
): Promise<void> {
  const at = to % (session.thread.messages.length + 1)
  await store.save(Session.rewind(session, at), { ifVersion: version })
}

/** What is refused is refused by a typed error. */
async function tried(work: Promise<unknown>): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!isAllmError(error)) throw error
  }
}

function check(world: World): void {
  for (const [asked, heard] of world.heard) expect(heard).toBe(asked)
  const left = [...world.approved]
  for (const ran of world.paid) {
    const at = left.indexOf(ran)
    expect([ran, at >= 0]).toEqual([ran, true])
    left.splice(at, 1)
  }
}
