import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript-6'
import type { ChatCapability } from '../../../../src/conformance.ts'
import type { Usage } from '../../../../src/core/types/response.ts'
import * as library from '../../../../src/index.ts'
import type { ChatAdapter } from '../../../../src/index.ts'
import { root } from '../../../support/root.ts'
import type { Format, Species } from './harness.ts'
import { heron } from './heron.ts'
import { wren } from './wren.ts'

const both: readonly ChatCapability[] = [
  'requests',
  'connections',
  'several_calls',
  'chunking',
  'timeouts',
  'detailed_errors',
  'retry_after',
  'stream_failures',
  'stream_retry_after',
  'finish_reasons',
  'text_blocks',
  'tools',
  'parallel_tools',
  'streamed_tools',
  'interleaved_tools',
  'raw_arguments',
  'reasoning',
  'reasoning_echo',
  'usage',
  'cached_usage',
  'cache_write_usage',
  'reasoning_usage',
  'raw_chunks',
  'images',
  'keys',
  'settings',
  'call_headers',
  'image_input',
  'clean_end',
  'reset',
  'stays_open',
  'early_headers',
  'redirects',
  'left_reads',
]

export type SpeciesName = 'heron' | 'wren'

/** The two invented providers: one sends server-sent events, the other JSON lines. */
export const species: Readonly<Record<SpeciesName, Species>> = {
  heron: {
    name: 'heron',
    key: 'a plain key of heron',
    capabilities: [...both, 'statuses', 'file_input'],
    format: heronFormat,
    make: ({ key, fetch }) => heron({ apiKey: key, fetch }),
  },
  wren: {
    name: 'wren',
    key: 'a plain token of wren',
    capabilities: both,
    statuses: {
      authentication_failed: 460,
      rate_limited: 461,
      invalid_request: 462,
      context_length_exceeded: 462,
      content_filter: 462,
      timeout: 470,
      provider_unavailable: 560,
      unknown: 499,
    },
    format: wrenFormat,
    make: ({ key, fetch }) => wren({ token: key, fetch }),
  },
}

/** A change of an adapter's text: what stands there, once, and what stands there instead. */
export type Patch = readonly [find: string, replace: string]

/** Bugs by the name of the case that has to find them, and then by what is wrong. */
export type Bugs = Readonly<Record<string, Readonly<Record<string, readonly Patch[]>>>>

/** The same provider with an adapter whose text was changed. */
export function patched(name: SpeciesName, patches: readonly Patch[]): Species {
  const make = load(name, patches)
  return {
    ...species[name],
    make: ({ key, fetch }) => make({ apiKey: key, token: key, fetch }),
  }
}

type Make = (own: {
  apiKey?: string
  token?: string
  fetch: typeof globalThis.fetch
}) => ChatAdapter

const texts = new Map<SpeciesName, string>()

/** Compiles the text of an adapter, with changes. Throws when a change does not fit exactly once. */
function load(name: SpeciesName, patches: readonly Patch[]): Make {
  const file = join(root, 'test/testing/conformance/planted', `${name}.ts`)
  const original = texts.get(name) ?? readFileSync(file, 'utf8')
  texts.set(name, original)
  let text = original
  for (const [find, replace] of patches) {
    const count = text.split(find).length - 1
    if (count !== 1) throw new Error(`${name}: ${JSON.stringify(find)} is there ${count} times`)
    text = text.replace(find, () => replace)
  }
  const { outputText } = ts.transpileModule(text, {
    compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2023 },
  })
  const exported: Partial<Record<SpeciesName, Make>> = {}
  // The text is ours: it is a file of this folder.
  // oxlint-disable-next-line typescript/no-implied-eval
  const run = new Function('require', 'exports', outputText) as (
    require: () => unknown,
    exports: object,
  ) => void
  run(() => library, exported)
  const made = exported[name]
  if (made === undefined) throw new Error(`${name} exports nothing`)
  return made
}

function heronFormat(): Format {
  const event = (data: unknown): string => `: ping\nevent: part\ndata: ${JSON.stringify(data)}\n\n`
  const streamed = new Set<string>()
  return {
    contentType: 'text/event-stream; charset=utf-8',
    keyOf: (headers) => headers.get('authorization')?.replace('Bearer ', ''),
    malformed: 'data: {"type": "te\n\n',
    write(said) {
      switch (said.type) {
        case 'text_delta':
          return event({ type: 'text', text: said.delta })
        case 'text_completed':
          return event({ type: 'text_stop' })
        case 'reasoning_delta':
          return event({ type: 'thought', text: said.delta })
        case 'reasoning_completed':
          return event({ type: 'thought_stop', seal: said.opaque })
        case 'tool_call_started':
          return event({ type: 'call', id: said.id, name: said.name })
        case 'tool_call_delta':
          streamed.add(said.id)
          return event({ type: 'call_json', id: said.id, json: said.argumentsDelta })
        case 'tool_call_completed': {
          const { id, rawArguments, arguments: args } = said.call
          const json = rawArguments ?? JSON.stringify(args)
          const piece = streamed.has(id) ? '' : event({ type: 'call_json', id, json })
          return piece + event({ type: 'call_stop', id })
        }
        case 'image_completed': {
          const { image } = said
          return image.type === 'base64'
            ? event({ type: 'image', mime: image.mimeType, data: image.base64 })
            : ''
        }
        case 'raw_chunk':
          return event(said.chunk)
      }
    },
    finish(reason, usage) {
      const words = { stop: 'end', length: 'limit', tool_calls: 'call', content_filter: 'blocked' }
      const word = Object.entries(words).find(([ours]) => ours === reason)?.[1] ?? 'whim'
      const counted = usage === undefined ? '' : event({ type: 'usage', ...heronCounts(usage) })
      return counted + event({ type: 'stop', reason: word })
    },
    fail: ({ reason, message, retryAfterMs }) =>
      event({ type: 'error', code: heronCodes[reason] ?? 'odd', message, wait_ms: retryAfterMs }),
    refuse({ reason, message, retryAfterMs }) {
      const wait = retryAfterMs === undefined ? undefined : String(retryAfterMs / 1000)
      return {
        headers: wait === undefined ? {} : { 'retry-after': wait },
        body: JSON.stringify({ error: { code: heronCodes[reason] ?? 'odd', message } }),
      }
    },
  }
}

const heronCodes: Readonly<Record<string, string>> = {
  authentication_failed: 'bad_key',
  rate_limited: 'too_fast',
  invalid_request: 'bad_request',
  context_length_exceeded: 'too_long',
  content_filter: 'blocked',
  provider_unavailable: 'overloaded',
  timeout: 'slow',
}

function heronCounts(usage: Usage): Record<string, number | undefined> {
  return {
    input: usage.inputTokens,
    output: usage.outputTokens,
    cached: usage.cachedInputTokens,
    cache_write: usage.cacheWriteInputTokens,
    thinking: usage.reasoningTokens,
  }
}

function wrenFormat(): Format {
  const line = (data: unknown): string => `${JSON.stringify(data)}\n`
  const asks = new Map<string, number>()
  const streamed = new Set<string>()
  let position = 0
  let open: number | undefined
  const grow = (kind: string, add: string): string => {
    const opening = open === undefined ? line({ at: (open = position++), open: kind }) : ''
    return opening + line({ at: open, add })
  }
  const close = (seal?: unknown): string => {
    const at = open
    open = undefined
    return at === undefined ? '' : line({ at, close: true, seal })
  }
  return {
    contentType: 'application/x-ndjson',
    keyOf: (headers) => headers.get('x-wren-token') ?? undefined,
    malformed: '{"at": 0, "add": \n',
    write(said) {
      switch (said.type) {
        case 'text_delta':
          return grow('words', said.delta)
        case 'reasoning_delta':
          return grow('musing', said.delta)
        case 'text_completed':
          return close()
        case 'reasoning_completed':
          return close(said.opaque)
        case 'tool_call_started':
          asks.set(said.id, position)
          return line({ at: position++, open: 'ask', ref: said.id, skill: said.name })
        case 'tool_call_delta':
          streamed.add(said.id)
          return line({ at: asks.get(said.id), add: said.argumentsDelta })
        case 'tool_call_completed': {
          const { id, rawArguments, arguments: args } = said.call
          const at = asks.get(id)
          const add = rawArguments ?? JSON.stringify(args)
          return (streamed.has(id) ? '' : line({ at, add })) + line({ at, close: true })
        }
        case 'image_completed': {
          const { image } = said
          return image.type === 'base64'
            ? line({ picture: { kind: image.mimeType, bytes: image.base64 } })
            : ''
        }
        case 'raw_chunk':
          return line(said.chunk)
      }
    },
    finish(reason, usage) {
      const words = { stop: 'done', tool_calls: 'done', length: 'full', content_filter: 'hushed' }
      const end = Object.entries(words).find(([ours]) => ours === reason)?.[1] ?? 'flown'
      return (usage === undefined ? '' : line({ count: wrenCounts(usage) })) + line({ end })
    },
    fail: ({ reason, message, retryAfterMs }) =>
      line({
        fail: { code: wrenCodes[reason] ?? 'odd', note: message, wait: seconds(retryAfterMs) },
      }),
    refuse: ({ reason, message, retryAfterMs }) => ({
      headers: {},
      body: line({ code: wrenCodes[reason] ?? 'odd', note: message, wait: seconds(retryAfterMs) }),
    }),
  }
}

const wrenCodes: Readonly<Record<string, string>> = {
  authentication_failed: 'who',
  rate_limited: 'fast',
  invalid_request: 'what',
  context_length_exceeded: 'long',
  content_filter: 'rude',
  provider_unavailable: 'away',
  timeout: 'slow',
}

function seconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1000
}

/** Wren counts what it reused and stored, and what it mused, beside the rest. */
function wrenCounts(usage: Usage): Record<string, number | undefined> {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteInputTokens, reasoningTokens } =
    usage
  const parts = (cachedInputTokens ?? 0) + (cacheWriteInputTokens ?? 0)
  return {
    read: inputTokens === undefined ? undefined : inputTokens - parts,
    reused: cachedInputTokens,
    stored: cacheWriteInputTokens,
    wrote: outputTokens === undefined ? undefined : outputTokens - (reasoningTokens ?? 0),
    mused: reasoningTokens,
  }
}
