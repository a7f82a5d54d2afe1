import { expect, test } from 'vitest'
import { createEngine, generate, type RequestInput } from '../../src/index.ts'
import { fake } from '../../src/testing.ts'

test.each([undefined, null, 'hello', 3])(
  'generate refuses %o and says that it needs a request or messages',
  async (input) => {
    const engine = createEngine({ adapter: fake({ script: [] }) })
    // A caller without types may pass anything.
    await expect(generate(engine, input as unknown as RequestInput)).rejects.toMatchObject({
      kind: 'validation',
      reason: 'invalid_request',
      message: expect.stringContaining('must be a request or a list of messages'),
    })
  },
)
