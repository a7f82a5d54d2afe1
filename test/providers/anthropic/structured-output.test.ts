import { describe, expect, test } from 'vitest'
import { collectEventsSync } from '../../../src/core/answer/fold-answer.ts'
import type { JsonObject } from '../../../src/core/types/json.ts'
import type { ModelRequest } from '../../../src/core/types/request.ts'
import {
  decode,
  eventsOf,
  fold,
  head,
  named,
  request,
  stubbed,
  tail,
  text,
  toolUse,
} from './support.ts'

const schema = { type: 'object', properties: { name: { type: 'string' } } }
const old = 'claude-3-5-haiku-latest'

function asking(fields: Partial<ModelRequest> = {}, form: JsonObject = schema): ModelRequest {
  const responseFormat = { type: 'json_schema', name: 'dog', schema: form, strict: true } as const
  return request({ model: old, responseFormat, ...fields })
}

const byTool = named(
  head(),
  ...toolUse(0, 't', 'respond_with_dog', '', '{"name":', '"Rex"}'),
  ...tail('tool_use'),
)
const native = named(head(), ...text(0, '{"name":', '"Rex"}'), ...tail('end_turn'))

describe('an answer by a forced tool', () => {
  test('has the same events as an answer by the API’s own field', async () => {
    const ours = await decode(byTool, asking())
    const theirs = await decode(native, asking({ model: 'claude-haiku-4-5' }))
    expect(ours.slice(0, -1)).toEqual(theirs.slice(0, -1))
    const last = ours.at(-1)
    expect(last).toEqual({
      ...theirs.at(-1),
      rawFinishReason: 'tool_use',
      metadata: { structuredOutput: 'tool' },
    })
    expect(last).toMatchObject({
      message: { role: 'assistant', content: '{"name":"Rex"}' },
      finishReason: 'stop',
    })
    expect(last).not.toHaveProperty('message.toolCalls')
  })

  test('gives the same response when it is not streamed', async () => {
    const whole = {
      id: 'msg_1',
      type: 'message',
      model: 'claude-haiku-4-5',
      content: [{ type: 'tool_use', id: 't', name: 'respond_with_dog', input: { name: 'Rex' } }],
      stop_reason: 'tool_use',
      usage: { input_tokens: 3, output_tokens: 9 },
    }
    const { adapter } = stubbed({ body: JSON.stringify(whole) })
    expect(await adapter.generate?.(asking(), { requestId: 'run' })).toEqual(
      await fold(byTool, asking()),
    )
  })

  test('that was cut ends with length and the text so far', async () => {
    const cut = named(head(), ...toolUse(0, 't', 'respond_with_dog', '{"na'), ...tail('max_tokens'))
    expect(await fold(cut, asking())).toMatchObject({
      outputText: '{"na',
      toolCalls: [],
      finishReason: 'length',
    })
  })

  test('that is not an object is unwrapped', async () => {
    const body = named(
      head(),
      ...toolUse(0, 't', 'respond_with_dog', '{"value": [1,', ' 2]}'),
      ...tail('tool_use'),
    )
    const events = await decode(body, asking({}, { type: 'array' }))
    expect(events.slice(1, 4)).toEqual([
      { type: 'text_delta', delta: '[1,', index: 0 },
      { type: 'text_delta', delta: ' 2]', index: 0 },
      { type: 'text_completed', text: '[1, 2]', index: 0 },
    ])
    const cut = named(
      head(),
      ...toolUse(0, 't', 'respond_with_dog', '{"value": [1'),
      ...tail('max_tokens'),
    )
    expect((await fold(cut, asking({}, { type: 'array' }))).outputText).toBe('[1')
  })

  test('does not affect the calls of other tools', async () => {
    const tools = [{ name: 'weather', description: '', schema: { type: 'object' } }]
    const body = named(head(), ...toolUse(0, 't', 'weather', '{}'), ...tail('tool_use'))
    const response = collectEventsSync(await eventsOf(stubbed({ body }).adapter, asking({ tools })))
    expect(response).toMatchObject({
      finishReason: 'tool_calls',
      toolCalls: [{ name: 'weather' }],
      metadata: {},
    })
  })
})
