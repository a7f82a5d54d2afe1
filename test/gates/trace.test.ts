import { expect, test } from 'vitest'
import { root } from '../support/root.ts'
import { sourceFiles } from '../support/source-tree.ts'

interface Trace {
  readonly calls: readonly { readonly name: string; readonly files: readonly string[] }[]
  readonly layout: { readonly files: number }
}

test('the tracer counts every source file, and the files that a call crosses', async () => {
  const path: string = '../../scripts/trace.mjs'
  const { measure } = (await import(path)) as { measure: (root: string) => Promise<Trace> }
  const { calls, layout } = await measure(root)
  expect(layout.files).toBe(sourceFiles.length)
  const chat = calls.find(({ name }) => name === 'chat')
  expect(chat?.files).toContain('engine/chat/loop.ts')
  expect(chat?.files).toContain('providers/openai/decode-chat.ts')
})
