import { expect } from 'vitest'
import { isSendable, type StreamEvent } from '../../src/index.ts'
export function plain(x: unknown, path = '$'): void {
  const walk = (v: unknown, p: string): void => {
    if (v === undefined) throw new Error(`undefined at ${p}`)
    if (v === null || typeof v === 'string' || typeof v === 'boolean') return
    if (typeof v === 'number') { if (!Number.isFinite(v)) throw new Error(`non finite at ${p}`); return }
    if (typeof v !== 'object') throw new Error(`${typeof v} at ${p}`)
    if (Array.isArray(v)) { v.forEach((y, i) => walk(y, `${p}[${i}]`)); return }
    const proto = Object.getPrototypeOf(v)
    if (proto !== Object.prototype && proto !== null) throw new Error(`instance ${proto?.constructor?.name} at ${p}`)
    if (Object.getOwnPropertySymbols(v).length > 0) throw new Error(`symbol at ${p}`)
    for (const [k, y] of Object.entries(v)) walk(y, `${p}.${k}`)
  }
  walk(x, path)
  expect(JSON.parse(JSON.stringify(x))).toEqual(x)
}
export async function all(s: AsyncIterable<StreamEvent>): Promise<StreamEvent[]> {
  const out: StreamEvent[] = []
  for await (const e of s) { plain(e, e.type); out.push(e) }
  return out
}
export async function caught(p: Promise<unknown> | (() => unknown)): Promise<any> {
  try { await (typeof p === 'function' ? p() : p) } catch (e) { return e }
  throw new Error('did not throw')
}
export const types = (es: readonly StreamEvent[]) => es.map((e) => e.type)
export const sendable = (t: any) => expect(isSendable(t)).toBe(true)
