import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Script } from '../../../../src/testing.ts'
import type { WireFormat } from '../../../../src/testing/server/wire-format.ts'
import {
  recordedCases,
  recordingRoots,
  type RecordedCase,
  type RecordingRoot,
} from '../../../support/recordings.ts'
import { wireBody, wireEvents } from './decode.ts'

/** A script that makes every kind of event that the recordings have, and that a script can say. */
const script: Script = [
  ['reasoning', 'Hm.', { opaque: 'c2ln' }],
  ['text', 'Hello'],
  ['tool_call', { id: 'c1', name: 'f', arguments: { x: 1 } }],
  ['usage', { inputTokens: 9, outputTokens: 4, cachedInputTokens: 2, cacheWriteInputTokens: 0 }],
  ['finish', 'tool_calls'],
]

const endpoints: Readonly<Record<WireFormat, readonly string[]>> = {
  openai_chat: ['openai/chat/completions'],
  openai_responses: ['openai/responses'],
  anthropic: ['anthropic/messages'],
  gemini: ['gemini/generateContent', 'gemini/streamGenerateContent'],
}

describe.each(recordingRoots)('beside the recorded traffic in $name', (recordings) => {
  test.each(Object.keys(endpoints) as WireFormat[])(
    'an event of %s has every member that all recorded ones have',
    (format) => {
      const recorded = groups(recordedEvents(recordings, format))
      for (const [name, members] of groups(wireEvents(format, script))) {
        // Padding of random length, so that the size of a packet tells nothing; a fake has nothing to hide.
        const common = recorded.get(name)?.filter((member) => member !== 'obfuscation')
        if (common !== undefined) expect([name, ...members]).toEqual(expect.arrayContaining(common))
      }
    },
  )

  test.each(Object.keys(endpoints) as WireFormat[])(
    'a body of %s has every member that all recorded ones have',
    (format) => {
      const [common] = [
        ...groups(
          recordedBodies(recordings, format).map((body) => ({ ...body, type: '' })),
        ).values(),
      ]
      const body = wireBody(format, script) as object
      expect(['type', ...Object.keys(body)]).toEqual(expect.arrayContaining(common ?? []))
    },
  )
})

/** The members that all events of a type have. */
function groups(events: readonly unknown[]): Map<string, string[]> {
  const common = new Map<string, string[]>()
  for (const event of events as { type?: string }[]) {
    const name = event.type ?? ''
    const members = Object.keys(event)
    const before = common.get(name)
    common.set(name, before?.filter((member) => members.includes(member)) ?? members)
  }
  return common
}

function cases(from: RecordingRoot, format: WireFormat): readonly RecordedCase[] {
  return recordedCases([from]).filter(
    ({ provider, endpoint, status }) =>
      status === 200 && endpoints[format].includes(`${provider}/${endpoint}`),
  )
}

function recordedEvents(from: RecordingRoot, format: WireFormat): readonly unknown[] {
  return cases(from, format).flatMap(({ folder, streaming }) => (streaming ? eventsIn(folder) : []))
}

function eventsIn(folder: string): readonly unknown[] {
  const text = readFileSync(join(folder, 'response.sse'), 'utf8')
  return text.split(/\r?\n\r?\n/).flatMap((event) => {
    const [, data] = /^data: ?(.*)$/m.exec(event) ?? []
    if (data === undefined || data === '[DONE]' || data.includes('"error":{')) return []
    try {
      return [JSON.parse(data)]
    } catch {
      return []
    }
  })
}

function recordedBodies(from: RecordingRoot, format: WireFormat): readonly object[] {
  return cases(from, format).flatMap(({ folder, streaming }) => {
    if (streaming) return []
    const body = JSON.parse(readFileSync(join(folder, 'response.json'), 'utf8')) as object
    return Array.isArray(body) ? (body as object[]) : [body]
  })
}
