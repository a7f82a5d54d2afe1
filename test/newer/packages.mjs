// The packages that the other files use are there, in the versions that need a newer Node, beside the library as it is published.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { createEngine, streamGenerate, user } from 'allm-ts'
import { fake } from 'allm-ts/testing'

test('Node is newer than the oldest one that the library supports', () => {
  assert.match(process.versions.node, /^24\./)
})

test('the library runs here', async () => {
  const engine = createEngine({ adapter: fake({ script: [['text', 'Hello']] }) })
  const { message } = await streamGenerate(engine, [user('hi')]).result
  assert.equal(message.content, 'Hello')
})

for (const [name, major] of [
  ['ai', 7],
  ['@ai-sdk/react', 4],
  ['@ai-sdk/openai', 4],
  ['@ai-sdk/anthropic', 4],
  ['@ai-sdk/google', 4],
  ['@ai-sdk/groq', 4],
  ['@ai-sdk/mistral', 4],
  ['@modelcontextprotocol/client', 2],
  ['@modelcontextprotocol/server', 2],
  ['@opentelemetry/sdk-trace', 3],
]) {
  test(`${name} can be imported, in version ${major}`, async () => {
    const path = new URL(`../node_modules/${name}/package.json`, import.meta.url)
    const { version } = JSON.parse(readFileSync(path, 'utf8'))
    assert.ok(version.startsWith(`${major}.`), version)
    assert.ok(Object.keys(await import(name)).length > 0)
  })
}
