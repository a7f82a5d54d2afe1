import { describe, expect, test } from 'vitest'
import {
  adapterCases,
  embeddingAdapterCases,
  imageAdapterCases,
  moderationAdapterCases,
  rerankAdapterCases,
  runCases,
  runStoreCases,
  sessionStoreCases,
  speechAdapterCases,
  streamAdapterCases,
  toolExecutorCases,
  toolResultEncoderCases,
  transcriptionAdapterCases,
  type ConformanceCase,
  type Declares,
} from '../../../src/conformance.ts'
import { speechMutants, transcriptionMutants } from './mutants/audio-mutants.ts'
import { countingMutants } from './mutants/counting-mutants.ts'
import { embeddingMutants, rerankMutants } from './mutants/embedding-mutants.ts'
import { encoderMutants, executorMutants } from './mutants/executor-mutants.ts'
import { failingMutants } from './mutants/failing-mutants.ts'
import { generateMutants } from './mutants/generate-mutants.ts'
import { imageMutants } from './mutants/image-mutants.ts'
import { moderationMutants } from './mutants/moderation-mutants.ts'
import type { Mutant } from './mutants/mutant.ts'
import { requestMutants } from './mutants/request-mutants.ts'
import { runStoreMutants, unchangedRunStore } from './mutants/run-store-mutants.ts'
import { sayingMutants } from './mutants/saying-mutants.ts'
import { stoppingMutants } from './mutants/stopping-mutants.ts'
import { storeMutants } from './mutants/store-mutants.ts'
import { toolMutants } from './mutants/tool-mutants.ts'
import { heronBugs } from './planted/heron-bugs.ts'
import { wrenBugs } from './planted/wren-bugs.ts'
import { withoutRunner } from './without-runner.ts'

const streamMutants = [
  ...sayingMutants,
  ...toolMutants,
  ...countingMutants,
  ...failingMutants,
  ...stoppingMutants,
  ...requestMutants,
]

describe('a chat adapter in which', () => hunt(streamAdapterCases, streamMutants))
describe('a chat adapter whose generate is wrong:', () => hunt(adapterCases, generateMutants))
describe('an image adapter in which', () => hunt(imageAdapterCases, imageMutants))
describe('a moderation adapter in which', () => hunt(moderationAdapterCases, moderationMutants))
describe('an embedding adapter in which', () => hunt(embeddingAdapterCases, embeddingMutants))
describe('a rerank adapter in which', () => hunt(rerankAdapterCases, rerankMutants))
describe('a speech adapter in which', () => hunt(speechAdapterCases, speechMutants))
describe('a transcription adapter in which', () =>
  hunt(transcriptionAdapterCases, transcriptionMutants))
describe('a tool executor in which', () => hunt(toolExecutorCases, executorMutants))
describe('an encoder in which', () => hunt(toolResultEncoderCases, encoderMutants))
describe('a session store in which', () => hunt(sessionStoreCases, storeMutants))
describe('a run store in which', () => hunt(runStoreCases, runStoreMutants))

test('a run store that is made like the mutants, but without a defect, passes every case', async () => {
  const { failed } = await withoutRunner(() => runCases(runStoreCases, unchangedRunStore))
  expect(failed).toEqual([])
})

test.each([
  { list: 'session store', cases: sessionStoreCases, mutants: storeMutants },
  { list: 'run store', cases: runStoreCases, mutants: runStoreMutants },
])('every case of a $list has a mutant', ({ cases, mutants }) => {
  const caught = new Set(mutants.map((mutant) => mutant.caught))
  expect(cases.map(({ name }) => name).filter((name) => !caught.has(name))).toEqual([])
})

test('every case for chat adapters is failed by some defect', () => {
  const defects = [...streamMutants, ...generateMutants].map(({ caught }) => caught)
  const caught = new Set([...defects, ...Object.keys(heronBugs), ...Object.keys(wrenBugs)])
  const names = [...streamAdapterCases, ...adapterCases].map(({ name }) => name)
  expect(names.filter((name) => !caught.has(name))).toEqual([])
  expect([...caught].filter((name) => !names.includes(name))).toEqual([])
})

test.each([
  ['image adapters', imageAdapterCases, imageMutants],
  ['moderation adapters', moderationAdapterCases, moderationMutants],
  ['embedding adapters', embeddingAdapterCases, embeddingMutants],
  ['rerank adapters', rerankAdapterCases, rerankMutants],
  ['speech adapters', speechAdapterCases, speechMutants],
  ['transcription adapters', transcriptionAdapterCases, transcriptionMutants],
  ['tool executors', toolExecutorCases, executorMutants],
  ['encoders', toolResultEncoderCases, encoderMutants],
] as const)('every case for %s is failed by some defect', (_, cases, mutants) => {
  const caught = new Set<string>(mutants.map((mutant) => mutant.caught))
  expect(cases.map(({ name }) => name).filter((name) => !caught.has(name))).toEqual([])
})

/** Every mutant fails the case that was made for it. The adapters without a defect pass all of them, in other tests. */
function hunt<Harness extends Declares>(
  cases: readonly ConformanceCase<Harness>[],
  mutants: readonly Mutant<Harness>[],
): void {
  test.each(mutants)('$defect fails its case', async ({ caught, harness }) => {
    const own = cases.filter(({ name }) => name === caught)
    const { failed } = await withoutRunner(() => runCases(own, harness))
    expect(failed.map(({ name }) => name)).toEqual([caught])
  })
}
