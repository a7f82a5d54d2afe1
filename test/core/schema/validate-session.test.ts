import { expect, test } from 'vitest'
import { assistant, toolResult, user } from '../../../src/core/messages/messages.ts'
import { validateSession } from '../../../src/core/schema/validate-session.ts'
import type { Issue } from '../../../src/core/types/error-data.ts'
import { sessionVersion } from '../../../src/core/types/session.ts'

const call = { id: 'c1', name: 'look', arguments: {} }

const open = { messages: [user('hi'), assistant('', { toolCalls: [call] })], metadata: {} }

const closed = { messages: [...open.messages, toolResult('c1', 'ok')], metadata: {} }

const session = {
  version: sessionVersion,
  id: 's1',
  status: 'idle',
  thread: closed,
  pendingToolCalls: [],
  pendingApprovals: [],
  context: {},
  metadata: {},
}

const run = { mode: 'auto', turns: 1, phase: 'tools' }

const failure = { kind: 'stream', reason: 'truncated', message: 'm' }

const rows: readonly [string, object, readonly Issue[]][] = [
  ['idle', {}, []],
  [
    'one that waits for tools',
    { status: 'awaiting_tools', thread: open, pendingToolCalls: [call] },
    [],
  ],
  ['one that waits for the user', { status: 'awaiting_user', pendingQuestion: 'Which?' }, []],
  ['one that failed', { status: 'error', error: failure }, []],
  ['one with a run under way', { thread: open, run }, []],
  [
    'a status of its own',
    { status: 'busy' },
    [
      {
        path: 'status',
        problem:
          'must be one of idle, awaiting_user, awaiting_approval, awaiting_tools, completed, halted, error, not "busy"',
      },
    ],
  ],
  [
    'a user who is asked nothing',
    { status: 'awaiting_user' },
    [{ path: 'pendingQuestion', problem: 'is required when the status is awaiting_user' }],
  ],
  [
    'tools that are none',
    { status: 'awaiting_tools' },
    [{ path: 'pendingToolCalls', problem: 'is required when the status is awaiting_tools' }],
  ],
  [
    'a failure without an error',
    { status: 'error' },
    [{ path: 'error', problem: 'is required when the status is error' }],
  ],
  [
    'a newer version',
    { version: 99 },
    [
      {
        path: 'version',
        problem:
          'must be 3 (an older session is read with Session.parse, and a newer one needs a newer allm-ts), not 99',
      },
    ],
  ],
  [
    'calls that nobody will answer',
    { thread: open },
    [{ path: 'thread.messages[1].toolCalls[0]', problem: 'tool call c1 is not answered' }],
  ],
  [
    'a call that nobody waits for, beside one that is pending',
    { thread: open, status: 'awaiting_tools', pendingToolCalls: [{ ...call, id: 'c2' }] },
    [{ path: 'thread.messages[1].toolCalls[0]', problem: 'tool call c1 is not answered' }],
  ],
  [
    'an open call between two steps',
    { thread: open, run: { ...run, phase: 'between' } },
    [{ path: 'thread.messages[1].toolCalls[0]', problem: 'tool call c1 is not answered' }],
  ],
  [
    'an orphan in the thread',
    { thread: { messages: [toolResult('z', '')], metadata: {} } },
    [
      {
        path: 'thread.messages[0].toolCallId',
        problem: 'answers z, which is not a call of the assistant message before it',
      },
    ],
  ],
  [
    'an error that is an Error',
    { status: 'error', error: new Error('x') },
    [{ path: 'error', problem: 'must be an object, not an Error' }],
  ],
]

test.each(rows)('%s', (_name, change, issues) => {
  expect(validateSession({ ...session, ...change })).toEqual(issues)
})
