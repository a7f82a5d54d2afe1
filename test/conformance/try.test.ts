import { expect, test } from 'vitest'
import { adapterCases, runCases, streamAdapterCases } from '../../src/conformance.ts'
import { fakeAll, httpHarness } from './harnesses.ts'
test.each([['fake', fakeAll], ['oc', httpHarness('openai_chat')], ['or', httpHarness('openai_responses')], ['anthropic', httpHarness('anthropic')], ['gemini', httpHarness('gemini')]] as const)('%s', async (n, h) => {
  const t = performance.now()
  const { passed, failed } = await runCases(adapterCases, h)
  console.log(n, passed.length, failed.length, performance.now() - t)
  for (const { name, error } of failed) console.log(n, '|', name, '|', (error as Error).message.slice(0, 900))
}, 60000)
