import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anthropic } from '../../src/anthropic.ts'
import type { JsonObject } from '../../src/core/types/json.ts'
import { gemini } from '../../src/gemini.ts'
import {
  applyEvent,
  createCollector,
  createEngine,
  isSendable,
  streamGenerate,
  toStepResult,
  user,
  type ChatAdapter,
  type Message,
  type StreamEvent,
  type Thread,
} from '../../src/index.ts'
import { openai } from '../../src/openai.ts'
import { renderWire, wireResponse, type WireFormat } from '../../src/server.ts'
import { collectEvents, type Script } from '../../src/testing.ts'

/** One wire that has items of its own: its adapter, its items, and what the API demands of their order. */
interface Wire {
  readonly format: WireFormat
  readonly model: string
  readonly oracle: string
  readonly adapter: (fetch: Fetch) => ChatAdapter
  /** Groups of entries that the provider sends together. */
  readonly groups: readonly Script[]
  /** The problems that the API would refuse the body for. */
  readonly problems: (body: JsonObject) => readonly string[]
  /** The items in a body. */
  readonly items: (body: JsonObject) => readonly JsonObject[]
}

type Fetch = (url: string, init: { readonly body?: unknown }) => Promise<Response>

const apiKey = 'test-key'
const thought = (id: string): Script[number] => [
  'reasoning',
  `thinks ${id}`,
  { opaque: { id, encrypted_content: 'gAAA' } },
]
const item = (value: JsonObject): Script[number] => ['reasoning', '', { item: value }]
const call = (id: string): Script[number] => [
  'tool_call',
  { id, name: 'weather', arguments: { city: id } },
]

const searched = (id: string): JsonObject => ({
  id,
  type: 'web_search_call',
  status: 'completed',
  action: { type: 'search', query: id },
})
const ran = (id: string): JsonObject => ({
  id,
  type: 'code_interpreter_call',
  status: 'completed',
  code: '1 + 1',
  container_id: 'cntr_1',
  outputs: [],
})
const shell = (id: string): JsonObject => ({
  id,
  type: 'custom_tool_call',
  call_id: `call_${id}`,
  name: 'shell',
  input: 'ls',
})
const approval = (id: string): JsonObject => ({
  id,
  type: 'mcp_approval_request',
  server_label: 'mail',
  name: 'send',
  arguments: '{}',
})
const serverUse = (id: string): JsonObject => ({
  type: 'server_tool_use',
  id,
  name: 'web_search',
  input: { query: id },
})
const serverResult = (id: string): JsonObject => ({
  type: 'web_search_tool_result',
  tool_use_id: id,
  content: [],
})
const code: JsonObject = { executableCode: { language: 'PYTHON', code: 'print(1)' } }
const output: JsonObject = { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } }

const wires: readonly Wire[] = [
  {
    format: 'openai_responses',
    model: 'gpt-5.4',
    oracle: 'openai.responses.request',
    adapter: (fetch) => openai({ apiKey, fetch, api: 'responses' }),
    groups: [
      [thought('rs_1'), item(searched('ws_1'))],
      [thought('rs_2'), item(ran('ci_1')), item(searched('ws_2'))],
      [thought('rs_3'), call('call_a')],
      [thought('rs_4'), ['text', 'so it is']],
      [thought('rs_5'), item(shell('ctc_1'))],
      [thought('rs_6'), item(approval('mcpr_1'))],
      [item(searched('ws_3'))],
      [call('call_b')],
      [['text', 'Well.']],
    ],
    problems: responsesProblems,
    items: (body) => list(body['input']).filter(({ type }) => isHosted(type)),
  },
  {
    format: 'anthropic',
    model: 'claude-opus-4-6',
    oracle: 'anthropic-current.messages.request',
    adapter: (fetch) => anthropic({ apiKey, fetch, version: '2026-10-21' }),
    groups: [
      [['reasoning', 'Hm.', { opaque: { signature: 'c2ln' } }], item(serverUse('srvtoolu_1'))],
      [item(serverUse('srvtoolu_2')), item(serverResult('srvtoolu_2'))],
      [['reasoning', 'So.', { opaque: { signature: 'c2ln' } }], call('toolu_a')],
      [call('toolu_b')],
      [['text', 'Well.']],
    ],
    problems: anthropicProblems,
    items: (body) =>
      list(body['messages'])
        .flatMap(({ content }) => list(content))
        .filter(({ type }) => /^server_tool_use$|._tool_result$/.test(word(type))),
  },
  {
    format: 'gemini',
    model: 'gemini-3-flash-preview',
    oracle: 'gemini.generate.request',
    adapter: (fetch) => gemini({ apiKey, fetch }),
    groups: [
      [item(code), item(output)],
      [['reasoning', 'Hm.', { opaque: 'c2ln' }], item(code)],
      [call('call_a')],
      [['text', 'Well.']],
    ],
    problems: geminiProblems,
    items: (body) =>
      list(body['contents'])
        .flatMap(({ parts }) => list(parts))
        .filter((part) => 'executableCode' in part || 'codeExecutionResult' in part),
  },
]

function list(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly JsonObject[]) : []
}

function word(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function isHosted(type: unknown): boolean {
  return /^(web_search|code_interpreter|custom_tool)_call$|^mcp_approval_request$/.test(word(type))
}

/** The rules of the Responses API for items that are sent back. */
function responsesProblems(body: JsonObject): readonly string[] {
  const items = list(body['input'])
  const problems: string[] = []
  const answered = new Set(
    items.flatMap((one) => (word(one['type']).endsWith('_output') ? [one['call_id']] : [])),
  )
  const approved = new Set(items.map((one) => one['approval_request_id']))
  items.forEach((one, at) => {
    const next = items[at + 1]
    const isLost = next === undefined || next['type'] === 'reasoning' || next['role'] === 'user'
    if (one['type'] === 'reasoning' && isLost) {
      problems.push(`${word(one['id'])} was provided without its required following item`)
    }
    if (word(one['type']).endsWith('_call') && 'call_id' in one && !answered.has(one['call_id'])) {
      problems.push(`no tool output found for ${word(one['call_id'])}`)
    }
    if (one['type'] === 'mcp_approval_request' && !approved.has(one['id'])) {
      problems.push(`${word(one['id'])} was not answered`)
    }
    // In these tests every hosted item but ws_3 was made after reasoning.
    const needs = isHosted(one['type']) && one['id'] !== 'ws_3'
    const before = items.slice(0, at).findLast(({ type }) => !isHosted(type))
    if (needs && before?.['type'] !== 'reasoning') {
      problems.push(`${word(one['id'])} was provided without its required reasoning item`)
    }
  })
  return problems
}

function anthropicProblems(body: JsonObject): readonly string[] {
  const turns = list(body['messages'])
  return turns.flatMap(({ role, content }, at) => {
    const blocks = list(content)
    const results = new Set(blocks.map((block) => block['tool_use_id']))
    const answers = new Set(list(turns[at + 1]?.['content']).map((block) => block['tool_use_id']))
    const problems = blocks.flatMap((block) => {
      if (
        block['type'] === 'server_tool_use' &&
        !results.has(block['id']) &&
        at < turns.length - 1
      ) {
        return [`${word(block['id'])} has no result`]
      }
      return block['type'] === 'tool_use' && !answers.has(block['id'])
        ? [`${word(block['id'])} has no result`]
        : []
    })
    const last = blocks.at(-1)?.['type']
    const isOpen = role === 'assistant' && (last === 'thinking' || last === 'redacted_thinking')
    return isOpen ? [...problems, 'the final block may not be thinking'] : problems
  })
}

function geminiProblems(body: JsonObject): readonly string[] {
  const turns = list(body['contents'])
  return turns.flatMap(({ role, parts }, at) => {
    const made = list(parts).filter((part) => 'functionCall' in part).length
    const given = list(turns[at + 1]?.['parts']).filter((part) => 'functionResponse' in part).length
    return [
      ...(made === given || made === 0 ? [] : [`${made} calls and ${given} results`]),
      ...(turns[at + 1]?.['role'] === role ? ['two turns of one role'] : []),
      ...(list(parts).length === 0 ? ['an empty turn'] : []),
    ]
  })
}

const oraclePath = fileURLToPath(new URL('../../../shared/oracles/validate.mjs', import.meta.url))
const oracle = existsSync(oraclePath)
  ? ((await import(oraclePath)) as {
      validate: (kind: string, body: unknown, options: object) => { readonly ok: boolean }
    })
  : undefined

/** Sends messages over a wire; returns the body and the events of the scripted answer. */
async function send(wire: Wire, messages: readonly Message[], script: Script) {
  let body: JsonObject = {}
  const adapter = wire.adapter((_url, init) => {
    body = JSON.parse(String(init.body)) as JsonObject
    return wireResponse(renderWire(wire.format, script, { stream: true }))
  })
  const engine = createEngine({ adapter, model: wire.model })
  const events = await collectEvents(streamGenerate(engine, messages))
  return { body, events }
}

const hello: Thread = { messages: [user('hello')], metadata: {} }

/** The thread after the first events of an answer. */
function threadAfter(events: readonly StreamEvent[]): Thread {
  let state = createCollector(hello)
  for (const event of events) state = applyEvent(state, event)
  return toStepResult(state).thread
}

describe.each(wires)('items over $format', (wire) => {
  test('arrive as provider_item parts in their places, and go back as they came', async () => {
    const script: Script = [...wire.groups.slice(0, 3).flat(), ['text', 'Done.']]
    const sent = script.flatMap((entry) =>
      entry[0] === 'reasoning' && entry[2]?.item !== undefined ? [entry[2].item] : [],
    )
    const { events } = await send(wire, hello.messages, script)
    const messages = threadAfter(events).messages
    const parts = messages[1]?.content
    expect(
      typeof parts === 'string'
        ? []
        : parts?.flatMap((part) => ('item' in part ? [part.item] : [])),
    ).toEqual(sent)
    const answered = wire.format === 'anthropic' ? sent.slice(1) : sent
    const next = await send(wire, [...messages, user('and now?')], [['text', 'Bye.']])
    expect(wire.items(next.body)).toEqual(answered)
    expect(wire.problems(next.body)).toEqual([])
  })

  test('are left out for another provider', async () => {
    const script: Script = [...(wire.groups[0] ?? []), ['text', 'Done.']]
    const { events } = await send(wire, hello.messages, script)
    const messages = [...threadAfter(events).messages, user('and now?')]
    for (const other of wires) {
      if (other === wire) continue
      const { body } = await send(other, messages, [['text', 'Bye.']])
      expect(JSON.stringify(body)).toContain('Done.')
      expect(other.items(body)).toEqual([])
    }
  })

  test('the deltas fold to the message, and a cut after any event leaves a thread that the API takes', async () => {
    const order = fc.uniqueArray(fc.constantFrom(...wire.groups.keys()), { minLength: 1 })
    await fc.assert(
      fc.asyncProperty(order, fc.boolean(), async (groups, goesOn) => {
        const script = groups.flatMap((at) => wire.groups[at] ?? [])
        const { events } = await send(wire, hello.messages, script)
        const completed = events.at(-1)
        if (completed?.type !== 'message_completed') throw new Error('no end')
        const silent = events.with(events.length - 1, {
          ...completed,
          message: { role: 'assistant', content: '' },
        })
        expect(threadAfter(silent)).toEqual(threadAfter(events))
        for (let cut = 1; cut <= events.length; cut++) {
          const thread = threadAfter(events.slice(0, cut))
          expect(isSendable(thread)).toBe(true)
          const messages = goesOn ? [...thread.messages, user('go on')] : thread.messages
          const { body } = await send(wire, messages, [['text', 'Bye.']])
          expect(wire.problems(body), JSON.stringify(body)).toEqual([])
          const verdict = oracle?.validate(wire.oracle, body, { strict: true })
          expect(verdict?.ok ?? true, JSON.stringify(verdict)).toBe(true)
        }
      }),
      { numRuns: 25 },
    )
  })
})
