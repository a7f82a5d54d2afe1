import { isAllmError } from '../errors/allm-error.ts'
import type { Batch } from '../events/event.ts'
import { checkRequest, startCall } from '../stream/start-call.ts'
import { answerCalls } from './answer-calls.ts'
import { completeStep } from './complete-step.ts'
import type { Decide } from './halted.ts'
import { say, type Loop } from './loop.ts'
import { turnRequest } from './turn-request.ts'

/**
 * One step: a model call, the tools that it asked for, and `step_completed`. A step that was cut is taken up where it was.
 *
 * What fails before the run's first event throws; what fails later is the last event.
 */
export async function* stepBatches(loop: Loop, decide?: Decide): AsyncGenerator<Batch, void> {
  const { state } = loop
  try {
    if (!state.active) yield* modelBatches(loop)
    if (state.error !== undefined) return
    yield* answerCalls(loop)
    yield await completeStep(loop, decide)
  } catch (error) {
    if (state.count === 0 || !isAllmError(error)) throw error
    yield say(loop, { type: 'error', error: error.toJSON() })
  }
}

async function* modelBatches(loop: Loop): AsyncGenerator<Batch, void> {
  const { scene, state } = loop
  const request = turnRequest(loop)
  // Later requests are made of parts that were checked or made here.
  if (loop.turns === 0) checkRequest(scene, request)
  loop.turns++
  const call = startCall(scene, request, state)
  try {
    for (let step = await call.next(); step.done !== true; step = await call.next()) {
      yield step.value
    }
  } finally {
    await call.return()
  }
}
