import { parseArgs } from 'node:util'
import type { ChatAdapter, ImageAdapter } from 'allm-ts'
import { anthropic } from 'allm-ts/anthropic'
import { gemini, geminiImages } from 'allm-ts/gemini'
import { openai, openaiImages } from 'allm-ts/openai'
import {
  fake,
  fakeImages,
  type ImageScriptEntry,
  type Script,
  type ScriptFunction,
} from 'allm-ts/testing'

/**
 * The adapter of an example: the fake with the example's own scripts, unless a provider is named.
 *
 *     npm run example 03 -- --provider openai --model gpt-5-mini [--base-url …]
 *     ALLM_PROVIDER=anthropic ALLM_MODEL=claude-haiku-4-5 npm run example 03
 */
export function choose(scripts: readonly Script[] | ScriptFunction): {
  adapter: ChatAdapter
  model?: string
} {
  const { provider, model, baseUrl } = wishes()
  if (provider === 'openai') return { adapter: openai({ baseUrl }), model: model ?? 'gpt-5-mini' }
  if (provider === 'anthropic') {
    return { adapter: anthropic({ baseUrl }), model: model ?? 'claude-haiku-4-5' }
  }
  if (provider === 'gemini') {
    return { adapter: gemini({ baseUrl }), model: model ?? 'gemini-2.5-flash' }
  }
  return { adapter: fake(typeof scripts === 'function' ? { script: scripts } : { scripts }) }
}

/** The same for examples that generate images. */
export function chooseImages(script: readonly ImageScriptEntry[]): {
  imageAdapter: ImageAdapter
  imageModel?: string
} {
  const { provider, model, baseUrl } = wishes()
  if (provider === 'openai') {
    return { imageAdapter: openaiImages({ baseUrl }), imageModel: model ?? 'gpt-image-1' }
  }
  if (provider === 'gemini') {
    return {
      imageAdapter: geminiImages({ baseUrl }),
      imageModel: model ?? 'gemini-2.5-flash-image',
    }
  }
  return { imageAdapter: fakeImages({ script }) }
}

interface Wishes {
  readonly provider: string | undefined
  readonly model: string | undefined
  readonly baseUrl: string | undefined
}

function wishes(): Wishes {
  const { values } = parseArgs({
    strict: false,
    options: {
      provider: { type: 'string' },
      model: { type: 'string' },
      'base-url': { type: 'string' },
    },
  })
  const wish = (option: keyof typeof values, variable: string): string | undefined => {
    const value = values[option]
    return (typeof value === 'string' ? value : process.env[variable]) || undefined
  }
  return {
    provider: wish('provider', 'ALLM_PROVIDER'),
    model: wish('model', 'ALLM_MODEL'),
    baseUrl: wish('base-url', 'ALLM_BASE_URL'),
  }
}
