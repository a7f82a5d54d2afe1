import { validateScript } from '../testing/check-script.ts'
import type { Script } from '../testing/script.ts'
import { rechunk } from './chunking.ts'
import { planScript } from './plan-script.ts'
import { renderPlan } from './render-plan.ts'
import { renderers } from './renderers.ts'
import type { WireAnswer, WireFormat, WireOptions } from './wire-answer.ts'
import { wireEpoch } from './wire-renderer.ts'

/**
 * Renders a script as the bytes that a provider would send for it.
 *
 * The same script and options give the same bytes. A script that `validateScript` refuses throws the same
 * `ValidationError`. What a format has no place for is left out; `wireLimits` lists it.
 */
export function renderWire(
  format: WireFormat,
  script: Script,
  options: WireOptions = {},
): WireAnswer {
  validateScript({ script })
  const plan = planScript(script)
  const id = plan.id ?? `fake${options.id ?? '1'}`
  const answer = renderPlan(format, plan, {
    id,
    created: wireEpoch,
    stream: options.stream ?? false,
    model: plan.model ?? options.model ?? renderers[format].defaultModel,
    requestId: options.requestId ?? `req_${id}`,
    includeUsage: options.includeUsage ?? true,
    framing: options.framing ?? 'sse',
  })
  const { chunking } = options
  return chunking === undefined ? answer : { ...answer, frames: rechunk(answer.frames, chunking) }
}
