import { assertNever } from '../types/guards.ts'
import type { JsonValue } from '../types/json.ts'
import { frameWriter, jsonArrayWriter, type FrameWriter } from './frame-writer.ts'
import type { PlanFailure, PlanStep, WirePlan } from './plan.ts'
import { renderFailure } from './render-failure.ts'
import { renderers } from './renderers.ts'
import type { WireAnswer, WireFormat } from './wire-answer.ts'
import type { RenderContext, WireStream } from './wire-renderer.ts'

/** The settled facts of one answer, and whether it is streamed. */
export interface PlanOptions extends RenderContext {
  readonly stream: boolean
}

/** Renders a plan: a refusal, a body, or a stream, as the plan ends and as the options ask. */
export function renderPlan(format: WireFormat, plan: WirePlan, options: PlanOptions): WireAnswer {
  const { end } = plan
  if (end.type === 'refused') return refusal(format, plan, end.failure, options.requestId)
  return options.stream ? streamed(format, plan, options) : whole(format, plan, options)
}

const html = '<html><body><h1>502 Bad Gateway</h1></body></html>'

/** An HTTP refusal. Reasons that no status stands for are shown as the transport shows them. */
function refusal(
  format: WireFormat,
  plan: WirePlan,
  failure: PlanFailure,
  requestId: string,
): WireAnswer {
  const writer = waitedWriter(plan)
  if (failure.status === undefined) {
    if (failure.reason === 'timeout') return silence('stall')
    if (failure.reason === 'network_error') return silence('cut')
    if (failure.reason === 'malformed_response') {
      writer.text(html)
      return {
        status: 200,
        headers: { 'content-type': 'text/html' },
        frames: writer.frames,
        end: 'normal',
      }
    }
  }
  const id = failure.requestId ?? requestId
  const { status, body, headers } = renderFailure(format, failure, id)
  writer.text(JSON.stringify(body))
  return {
    status,
    headers: { ...renderers[format].headers(id), 'content-type': jsonType(format), ...headers },
    frames: writer.frames,
    end: 'normal',
  }
}

function silence(end: 'cut' | 'stall'): WireAnswer {
  return { status: 0, headers: {}, frames: [], end }
}

/** One JSON body. What would have failed in the middle of a stream is a refusal here. */
function whole(format: WireFormat, plan: WirePlan, options: PlanOptions): WireAnswer {
  const { end } = plan
  if (end.type === 'failed') return refusal(format, plan, end.failure, options.requestId)
  if (end.type === 'broken' && end.how === 'stall') return silence('stall')
  const writer = waitedWriter(plan)
  const text = JSON.stringify(renderers[format].body(plan, options))
  // A body without its second half can not be read, whether or not the connection is closed there.
  writer.text(end.type === 'broken' ? text.slice(0, text.length / 2) : text)
  const headers = {
    ...renderers[format].headers(options.requestId),
    'content-type': jsonType(format),
  }
  const cut = end.type === 'broken' && end.how === 'cut'
  return { status: 200, headers, frames: writer.frames, end: cut ? 'cut' : 'normal' }
}

function streamed(format: WireFormat, plan: WirePlan, options: PlanOptions): WireAnswer {
  const array = options.framing === 'json_array'
  const writer = array ? jsonArrayWriter() : frameWriter()
  const renderer = renderers[format]
  // A leading wait holds back the answer as a whole, its first event included.
  const waits = plan.steps.findIndex((step) => step.type !== 'wait')
  const lead = waits === -1 ? plan.steps.length : waits
  for (const step of plan.steps.slice(0, lead)) if (step.type === 'wait') writer.wait(step.ms)
  const stream = renderer.stream(plan, options, writer)
  for (const step of plan.steps.slice(lead)) take(step, stream, writer, renderer.namedEvents)
  const end = endStream(plan, stream, writer)
  return {
    status: 200,
    headers: {
      ...renderer.headers(options.requestId),
      'content-type': array ? jsonType(format) : 'text/event-stream; charset=utf-8',
    },
    frames: writer.frames,
    end,
  }
}

function take(step: PlanStep, stream: WireStream, writer: FrameWriter, named: boolean): void {
  switch (step.type) {
    case 'open':
      return stream.open(step.block)
    case 'delta':
      return stream.delta(step.block, step.text)
    case 'close':
      return stream.close(step.block)
    case 'raw':
      return rawEvent(step.chunk, writer, named)
    case 'wait':
      return writer.wait(step.ms)
    default:
      return assertNever(step)
  }
}

/** An object goes out as it is; what no provider would send as an event is wrapped. */
function rawEvent(chunk: JsonValue, writer: FrameWriter, named: boolean): void {
  const event =
    typeof chunk === 'object' && chunk !== null && !Array.isArray(chunk)
      ? chunk
      : { type: 'raw_chunk', chunk }
  const type = 'type' in event ? event.type : undefined
  writer.event(event, named ? (typeof type === 'string' ? type : 'raw_chunk') : undefined)
}

function endStream(plan: WirePlan, stream: WireStream, writer: FrameWriter): WireAnswer['end'] {
  const { end } = plan
  switch (end.type) {
    case 'finished':
      stream.finish()
      writer.end()
      return 'normal'
    case 'failed':
      stream.fail(end.failure)
      writer.end()
      return 'normal'
    case 'broken':
      stream.begin()
      if (end.how === 'malformed') writer.text('data: {"malformed": \n\n')
      return end.how === 'malformed' ? 'normal' : end.how
    case 'refused':
      return 'normal'
    default:
      return assertNever(end)
  }
}

/** A writer whose first frame waits for all that the script waits. */
function waitedWriter(plan: WirePlan): FrameWriter {
  const writer = frameWriter()
  for (const step of plan.steps) if (step.type === 'wait') writer.wait(step.ms)
  return writer
}

function jsonType(format: WireFormat): string {
  return format === 'gemini' ? 'application/json; charset=UTF-8' : 'application/json'
}
