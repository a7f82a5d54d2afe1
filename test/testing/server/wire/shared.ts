import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'vitest'
import type { WireFormat } from '../../../../src/server.ts'
import { root } from '../../../support/root.ts'

/** Where the providers' published descriptions are, beside the repository. */
const oraclesFolder: string = join(root, '../shared/oracles')

export const hasOracles: boolean = existsSync(join(oraclesFolder, 'validate.mjs'))

/** Checks a value against a provider's published description; gives the errors. */
export type Oracle = (kind: string, value: unknown) => readonly string[]

/** Loads the oracles. A strict one refuses unknown members as well. */
export async function loadOracle(
  mode: 'default' | 'loose',
  strict: boolean = false,
): Promise<Oracle> {
  const { validate } = await import(pathToFileURL(join(oraclesFolder, 'validate.mjs')).href)
  return (kind, value) => validate(kind, value, { mode, strict }).errors ?? []
}

/** The kind of a format's requests. */
export const requestKinds: Readonly<Record<WireFormat, string>> = {
  openai_chat: 'openai.chat.request',
  openai_responses: 'openai.responses.request',
  anthropic: 'anthropic.messages.request',
  gemini: 'gemini.generate.request',
}

/** A body that was sent, in a format. */
export type SentBody = readonly [WireFormat, unknown]

/** Every body is what the provider's description allows, and has no member that it does not know. */
export async function expectStrictValid(bodies: readonly SentBody[]): Promise<void> {
  const validate = await loadOracle('default', true)
  expect(bodies.length).toBeGreaterThan(0)
  for (const [format, body] of bodies) {
    expect(validate(requestKinds[format], body), JSON.stringify(body)).toEqual([])
  }
}
