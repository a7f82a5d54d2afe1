import { expect, test } from 'vitest'
import { createEngine, generate, type RequestInput } from '../../../src/index.ts'
import { fake } from '../../../src/testing.ts'

test.each([undefined, null, 3])('generate refuses %o and says what it needs', async (input) => {
  const engine = createEngine({ adapter: fake({ script: [] }) })
  // A caller without types may pass anything.
  await expect(generate(engine, input as unknown as RequestInput)).rejects.toMatchObject({
    kind: 'validation',
    reason: 'invalid_request',
    message: expect.stringContaining(
      `must be a text, a list of messages such as [user("…")] or a modelRequest(…), not ${input}`,
    ),
  })
})
