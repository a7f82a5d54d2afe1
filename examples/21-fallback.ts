// Two providers, one of which is down: a fallback asks the other, and a circuit breaker stops asking the first.
import { createEngine, generate } from 'allm-ts'
import { circuitBreaker, fallback } from 'allm-ts/middleware'
import { fake } from 'allm-ts/testing'
import { choose } from './choose.ts'

const down = fake({ script: () => [['preflight_error', 'provider_unavailable', { status: 503 }]] })
const { adapter, model } = choose(() => [['text', 'Hello from the other one.']])
const breaker = circuitBreaker(down, { failures: 2, windowMs: 60_000, coolDownMs: 30_000 })
const engine = createEngine({ adapter: fallback([breaker, { adapter, model }]) })

for (const question of ['Hello?', 'Anybody there?', 'And now?']) {
  const { outputText } = await generate(engine, question)
  console.log(`${outputText} (the breaker is ${breaker.state}, ${down.calls.length} calls failed)`)
}
// => Hello from the other one. (the breaker is closed, 1 calls failed)
// => Hello from the other one. (the breaker is open, 2 calls failed)
// => Hello from the other one. (the breaker is open, 2 calls failed)
