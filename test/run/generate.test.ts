import { expect, test } from 'vitest'
import { createEngine, generate, type RequestInput } from '../../src/index.ts'
import { fake } from '../../src/testing.ts'

test.each([undefined, null, 'hello', 3])(
  'generate refuses %o, which is neither a request nor messages, and says what it takes',
  async (input) => {
    const engine = createEngine({ adapter: fake({ script: [] }) })
    // A caller without types may give anything.
    await expect(generate(engine, input as unknown as RequestInput)).rejects.toMatchObject({
      kind: 'validation',
      reason: 'invalid_request',
      message: expect.stringContaining('must be a request or a list of messages'),
    })
  },
)
