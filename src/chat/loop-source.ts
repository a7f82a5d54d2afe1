import { say, sayAll, type Loop } from './loop.ts'
import type { Place } from './place.ts'
import { proceed } from './proceed.ts'
import { isAllmError } from '../errors/errors.ts'
import { toResponse } from '../run/collector.ts'
import type { BatchSource } from '../run/run-stream.ts'
import type { Batch } from '../types/events.ts'

type Read = IteratorResult<Batch, void>

const over: Read = { done: true, value: undefined }

/**
 * A loop as a source of batches: one step, or with `chat` steps until one of them halts, and then `chat_completed`.
 *
 * What fails before the run's first event throws; what fails later is the last event, and what was received stays in the fold.
 * Leaving closes whatever is read just then, also while a `next()` waits for it.
 */
export function loopSource(loop: Loop, kind: Place['kind']): BatchSource {
  const place: Place = {
    loop,
    kind,
    stage: 'start',
    source: undefined,
    answer: toResponse(loop.state),
    left: false,
  }
  let reading: Promise<Read> | undefined
  return {
    next: () => {
      reading = read(place)
      return reading
    },
    return: async () => {
      place.left = true
      await place.source?.return()
      await reading?.catch(() => undefined)
      place.stage = 'over'
      place.source = undefined
      return over
    },
  }
}

/** Reads on from where the loop is. It is one function for all stages, so that a batch does not cost promises for each layer. */
async function read(place: Place): Promise<Read> {
  const { loop } = place
  try {
    while (place.stage !== 'over') {
      if (place.source !== undefined) {
        const result = await place.source.next()
        if (result.done !== true) {
          // A model call folds its events by itself.
          if (place.stage === 'tools') sayAll(loop, result.value)
          return result
        }
        place.source = undefined
      }
      const said = proceed(place)
      const value = said instanceof Promise ? await said : said
      if (value !== undefined) return { done: false, value }
    }
    return over
  } catch (error) {
    place.stage = 'over'
    await place.source?.return()
    if (loop.state.count === 0 || !isAllmError(error)) throw error
    return { done: false, value: say(loop, { type: 'error', error: error.toJSON() }) }
  }
}
