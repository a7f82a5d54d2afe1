import { demand } from '../conformance-failure.ts'
import { demandNoKey, plainKey } from '../demand-no-key.ts'
import type { ImageCase } from '../image-harness.ts'
import { pixel, playImages } from '../image-scene.ts'
import { runId } from '../read-stream.ts'
import { json } from '../../schema/checks.ts'
import { sameJson } from '../../schema/json-schema.ts'
import type { JsonObject } from '../../types/json.ts'

/** What an image response says. */
export const responseCases: readonly ImageCase[] = [
  {
    name: 'a response has the id of its run and the name of its provider',
    run: (harness) =>
      playImages(harness, [['ok', [pixel]]], async (scene) => {
        const { requestId, provider } = await scene.draw()
        demand(requestId === runId && provider === scene.adapter.provider, {
          expected: `requestId ${runId} and provider ${scene.adapter.provider}`,
          received: { requestId, provider },
          contract: 'imageResponse',
        })
      }),
  },
  {
    name: 'the metadata of a request is on its response',
    run: (harness) =>
      playImages(harness, [['ok', [pixel]]], async (scene) => {
        const asked: JsonObject = { trace: 'trace-1', user: { name: 'Ada' } }
        const { metadata } = await scene.draw({ metadata: asked })
        const kept = Object.keys(asked).every((key) => sameJson(metadata[key], asked[key]))
        demand(kept, {
          expected: `metadata with ${JSON.stringify(asked)}`,
          received: metadata,
          contract: 'imageResponse',
        })
      }),
  },
  {
    name: 'usage counts the images',
    run: (harness) =>
      playImages(harness, [['ok', [pixel]]], async (scene) => {
        const { usage } = await scene.draw()
        demand(usage.images === 1, {
          expected: 'usage.images 1, whether or not the provider counts',
          received: usage,
          contract: 'imageResponse',
        })
      }),
  },
  {
    name: 'several images arrive, all of them',
    capability: 'several_images',
    run: (harness) =>
      playImages(harness, [['ok', [pixel, pixel, pixel]]], async (scene) => {
        const { images, usage } = await scene.draw({ n: 3 })
        demand(images.length === 3 && usage.images === 3, {
          expected: 'three images, and usage.images 3',
          received: { images: images.length, usage },
          contract: 'imageResponse',
        })
      }),
  },
  {
    name: 'a response is plain JSON',
    run: (harness) =>
      playImages(harness, [['ok', [pixel]]], async (scene) => {
        const issues = json(await scene.draw())
        demand(issues.length === 0, {
          expected: 'a response of plain JSON',
          received: issues.map(({ path, problem }) => `${path} ${problem}`.trim()).join('; '),
          contract: 'plainData',
        })
      }),
  },
  {
    name: 'an image call does not change the request',
    run: (harness) =>
      playImages(harness, [['ok', [pixel]]], async (scene) => {
        const request = scene.request({ metadata: { trace: 'trace-1' } })
        const before = structuredClone(request)
        await scene.call(request)
        demand(sameJson(request, before), {
          expected: 'the request as it was before the call',
          received: request,
          contract: 'isolated',
        })
      }),
  },
  {
    name: 'the prompt is sent',
    capability: 'requests',
    run: (harness) =>
      playImages(harness, [['ok', [pixel]]], async (scene) => {
        await scene.draw({ prompt: 'an owl on a bicycle' })
        const sent = JSON.stringify(scene.requests())
        demand(sent.includes('an owl on a bicycle'), {
          expected: 'the prompt "an owl on a bicycle" in the request',
          received: sent,
          contract: 'conversation',
        })
      }),
  },
  {
    name: 'the key is in no response',
    run: (harness) =>
      playImages(harness, [['ok', [pixel]]], async (scene) => {
        const { response, failure } = await scene.call(scene.request(), { apiKey: plainKey })
        demandNoKey(plainKey, [response, failure?.thrown])
      }),
  },
]
