import { keysOf } from '../../core/types/guards.ts'
import type { ModelRequest } from '../../core/types/request.ts'
import type { ConnectionDefaults } from '../shared/call.ts'
import { leaveOut } from '../shared/request-body.ts'
import type { OpenAiCompat } from './model-family.ts'
import { renderChat } from './render-chat.ts'
import type { RenderOptions } from './render-options.ts'

/** What is known of a server that speaks Chat Completions, where it differs from what an unknown model gets. */
interface Preset extends Pick<ConnectionDefaults, 'baseUrl' | 'needsKey'> {
  readonly compat?: OpenAiCompat
  /** The settings that it refuses or ignores. They are left out, with a warning. */
  readonly refuses?: readonly (keyof ModelRequest)[]
  /** It takes no schema for an answer. */
  readonly schemaless?: true
  /** It takes no names of messages. */
  readonly nameless?: true
  /** The name of the seed. */
  readonly seedField?: string
  /** Makes the ids of the tool calls of one request. */
  readonly callIds?: () => RenderOptions['callId']
}

/** The name of a server whose settings are ready. */
export type OpenAiPreset =
  | 'openrouter'
  | 'groq'
  | 'deepseek'
  | 'xai'
  | 'mistral'
  | 'together'
  | 'fireworks'
  | 'cerebras'
  | 'ollama'
  | 'lmstudio'
  | 'vllm'
  | 'llamacpp'

const newer: OpenAiCompat = { maxTokensField: 'max_completion_tokens' }

/** The settings of each server. */
export const presets: Readonly<Record<OpenAiPreset, Preset>> = {
  openrouter: { baseUrl: 'https://openrouter.ai/api/v1' },
  groq: {
    baseUrl: 'https://api.groq.com/openai/v1',
    compat: newer,
    refuses: ['topK', 'promptCache'],
    nameless: true,
  },
  deepseek: { baseUrl: 'https://api.deepseek.com/v1', refuses: ['topK'], schemaless: true },
  xai: { baseUrl: 'https://api.x.ai/v1', compat: newer, refuses: ['topK'] },
  mistral: {
    baseUrl: 'https://api.mistral.ai/v1',
    // A stream has its usage without being asked.
    compat: { streamOptions: false },
    refuses: ['topK', 'promptCache'],
    seedField: 'random_seed',
    callIds: nineDigits,
  },
  together: { baseUrl: 'https://api.together.xyz/v1' },
  fireworks: { baseUrl: 'https://api.fireworks.ai/inference/v1' },
  cerebras: {
    baseUrl: 'https://api.cerebras.ai/v1',
    compat: newer,
    refuses: ['topK', 'promptCache', 'presencePenalty', 'frequencyPenalty'],
  },
  ollama: { baseUrl: 'http://127.0.0.1:11434/v1', needsKey: false },
  lmstudio: { baseUrl: 'http://127.0.0.1:1234/v1', needsKey: false },
  vllm: { baseUrl: 'http://127.0.0.1:8000/v1', needsKey: false },
  llamacpp: { baseUrl: 'http://127.0.0.1:8080/v1', needsKey: false },
}

/** The servers whose settings are ready. */
export const presetNames: readonly OpenAiPreset[] = keysOf<typeof presets>(presets)

/** Renders requests for a server: what it refuses is left out, or said in another way. */
export function renderFor(server: Preset): typeof renderChat {
  const { refuses = [], schemaless, nameless, needsKey, callIds, seedField } = server
  return (asked, options) => {
    leaveOut(asked, refuses, options)
    const request: Changing = { ...asked }
    for (const setting of refuses) request[setting] = undefined
    const { responseFormat, toolChoice, tools, messages } = asked
    if (nameless) request.messages = messages.map(({ name: _name, ...rest }) => rest)
    const chosen = tools.filter(({ name }) => name === toolChoice)
    // Local servers ignore or refuse the name of a tool.
    if (needsKey === false && chosen.length > 0) {
      request.tools = chosen
      request.toolChoice = 'required'
    }
    if (schemaless && responseFormat?.type === 'json_schema') {
      options.warn('responseFormat', 'the schema is sent as text')
      const content = `Answer with JSON of this schema: ${JSON.stringify(responseFormat.schema)}`
      request.messages = [{ role: 'system', content }, ...messages]
      request.responseFormat = { type: 'json_object' }
    }
    return renderChat(request as ModelRequest, { ...options, seedField, callId: callIds?.() })
  }
}

type Changing = { -readonly [Key in keyof ModelRequest]: ModelRequest[Key] | undefined }

/** Mistral takes ids of nine letters or digits. */
function nineDigits(): () => string {
  let count = 0
  return () => `${++count}`.padStart(9, '0')
}
