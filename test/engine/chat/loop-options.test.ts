import { describe, expect, test } from 'vitest'
import { chat, createEngine, streamChat, type CallOptions } from '../../../src/index.ts'
import { collectEvents, fake, type Fake, type Script } from '../../../src/testing.ts'
import { call, done, echo, messages, named, run } from './support.ts'

describe('manual control', () => {
  test('in manual mode no tool runs and all calls are returned to the caller', async () => {
    const { result } = run([[call('c1'), call('c2')], done], { mode: 'manual' })
    expect(await result).toMatchObject({
      haltedReason: 'manual_tool_calls',
      manualToolCalls: [{ id: 'c1' }, { id: 'c2' }],
      steps: [{ toolResults: [], newMessages: [{ role: 'assistant' }] }],
    })
  })

  test('a manual tool waits for the caller, the others run', async () => {
    const hand = named('hand', () => 'never', { manual: true })
    const { result } = run([[call('c1'), call('c2', 'hand')], done], {}, [echo, hand])
    expect(await result).toMatchObject({
      haltedReason: 'manual_tool_calls',
      manualToolCalls: [{ id: 'c2' }],
      steps: [{ toolResults: [{ toolCallId: 'c1' }] }],
    })
  })

  test('a plain answer in manual mode is an answer', async () => {
    expect(await run([done], { mode: 'manual' }).result).toMatchObject({
      haltedReason: 'completed',
    })
  })
})

describe('toolChoice', () => {
  const choices = (adapter: Fake): unknown[] =>
    adapter.calls.map(({ request }) => request.toolChoice)

  test.each(['required', 'echo'])(
    '%s applies only to the first turn of a run, so that the loop can end',
    async (toolChoice) => {
      const { adapter, result } = run([[call('c1')], [call('c2')], done], { toolChoice })
      expect((await result).haltedReason).toBe('completed')
      expect(choices(adapter)).toEqual([toolChoice, undefined, undefined])
    },
  )

  test.each(['auto', 'none'])('%s applies to all turns', async (toolChoice) => {
    const { adapter, result } = run([[call('c1')], done], { toolChoice })
    await result
    expect(choices(adapter)).toEqual([toolChoice, toolChoice])
  })
})

describe('filters apply to the events that the consumer reads, never to the result', () => {
  test('emitTextDeltas and emitToolDeltas', async () => {
    const script: Script = [
      ['text', 'hm'],
      ['reasoning', 'so'],
      ['tool_call_delta', { id: 'c1', name: 'echo', argumentsDelta: '{}' }],
      call('c2'),
    ]
    const scripts = [script, done]
    const options = { emitTextDeltas: false, emitToolDeltas: false, requestId: 'r' }
    const engine = () => createEngine({ adapter: fake({ scripts }), tools: [echo] })
    const types = (await collectEvents(streamChat(engine(), messages, options))).map(
      ({ type }) => type,
    )
    expect(types.filter((type) => type.endsWith('delta'))).toEqual([])
    expect(types).toContain('text_completed')
    expect(await chat(engine(), messages, options)).toEqual(
      await chat(engine(), messages, { requestId: 'r' }),
    )
  })

  test('raw chunks are emitted only when they are requested', async () => {
    const script: Script = [['raw_chunk', { x: 1 }], ...done]
    const types = async (options: CallOptions) =>
      (
        await collectEvents(
          streamChat(createEngine({ adapter: fake({ script }) }), messages, options),
        )
      ).map(({ type }) => type)
    expect(await types({})).not.toContain('raw_chunk')
    expect(await types({ includeRawChunks: true })).toContain('raw_chunk')
  })

  test('onEvent sees every event, hidden ones too', async () => {
    const seen: string[] = []
    const engine = createEngine({ adapter: fake({ scripts: [[call('c1')], done] }), tools: [echo] })
    await chat(engine, messages, { emitTextDeltas: false, onEvent: ({ type }) => seen.push(type) })
    expect(seen).toContain('text_delta')
    expect(seen.at(-1)).toBe('chat_completed')
    expect(seen.filter((type) => type === 'tool_execution_started')).toHaveLength(1)
  })
})
