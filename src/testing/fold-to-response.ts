import { collectEventsSync } from '../run/collect.ts'
import { compileScript } from './compile-script.ts'
import { renderSection } from './render-section.ts'
import type { Script } from './script-entry.ts'
import { scriptedFailure } from './scripted-failure.ts'
import { validateScript } from './validate-script.ts'
import type { ModelResponse } from '../types/response.ts'

/** What a script does not say about its response. */
export interface FoldOptions {
  readonly requestId?: string | undefined
  readonly provider?: string | undefined
}

/**
 * The response that a script makes, without waiting for its delays: the fold of the events that a fake would give.
 *
 * A script that fails throws its error; one that fails after its first event has what came before as the error's `partial`. A
 * script that is not legal throws a `ValidationError`.
 */
export function foldToResponse(script: Script, options: FoldOptions = {}): ModelResponse {
  validateScript({ script })
  const { requestId = 'fake-request-1', provider = 'fake' } = options
  const compiled = compileScript(script, { provider })
  if (compiled.preflight !== undefined) {
    throw scriptedFailure(compiled.preflight, { provider, requestId })
  }
  const call = { requestId, provider, model: undefined }
  const { sections } = compiled
  return collectEventsSync(
    sections.flatMap((_, index) => renderSection(compiled, sections, index, call)),
  )
}
