import { describe, expect, test } from 'vitest'
import { createEngine, modelRequest, streamGenerate, user } from '../../../src/index.ts'
import { collectEvents, fake, type Script } from '../../../src/testing.ts'

const script: Script = [
  ['text', 'a'],
  ['text', 'b'],
]
const types = ['message_started', 'text_delta', 'text_delta', 'text_completed', 'message_completed']

describe('collectEvents', () => {
  test('reads the batches of an adapter', async () => {
    const events = await collectEvents(fake({ script }).stream(modelRequest([user('hi')])))
    expect(events.map(({ type }) => type)).toEqual(types)
  })

  test('reads the single events of a run', async () => {
    const engine = createEngine({ adapter: fake({ script }) })
    const events = await collectEvents(streamGenerate(engine, [user('hi')]))
    expect(events.map(({ type }) => type)).toEqual(types)
  })

  test('rejects with what the stream throws', async () => {
    await expect(collectEvents(fake().stream(modelRequest([user('hi')])))).rejects.toThrow(
      /no scripted response/,
    )
  })
})
