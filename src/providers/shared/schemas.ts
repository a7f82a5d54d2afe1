import type { AnswerForms } from '../../core/answer/answer-text.ts'
import type { SchemaDialect } from '../../core/schema/dialects.ts'
import {
  lowerSchema,
  type LoweredSchema,
  type SchemaPlace,
} from '../../core/schema/lower-schema.ts'
import { merged } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { ToolSpec } from '../../core/types/request.ts'
import type { Warn } from '../../core/types/warning.ts'

/** Lowers the schemas of one request, and keeps what is needed to read the answer. */
export interface SchemaLowering {
  readonly forms: AnswerForms
  /** Lowers the arguments of a tool. `index` is its place in the request. */
  tool(spec: ToolSpec, index: number, dialect: SchemaDialect | 'plain'): LoweredSchema
  /** Lowers the schema of the answer. */
  answer(schema: JsonObject, dialect: SchemaDialect | 'plain'): LoweredSchema
}

/** Lowers the schemas of one request, also for an API whose answer can be the arguments of a tool. */
export interface RequestSchemas extends SchemaLowering {
  /** Declares a tool whose arguments are the answer. `tools` are the others, whose names are taken. */
  answerTool(wanted: string, tools: readonly ToolSpec[]): Pick<ToolSpec, 'name' | 'description'>
  /** Lowers the schema of the answer. `reason` says why it is not enforced, where it should be. */
  answer(schema: JsonObject, dialect: SchemaDialect | 'plain', reason?: unknown): LoweredSchema
}

/**
 * Lowers the schemas of one request. What cannot be enforced is sent all the same, with a warning. What can be neither
 * expressed nor left unenforced is an `AdapterError` `unsupported_feature`.
 */
export function requestSchemas(provider: string, warn: Warn): RequestSchemas {
  const lowering = schemaLowering(provider, warn)
  const forms: WritableForms = lowering.forms
  return merged(lowering, {
    answerTool(wanted: string, others: readonly ToolSpec[]) {
      let name = wanted.replaceAll(/[^\w-]/g, '_').slice(0, 60)
      while (others.some((tool) => tool.name === name)) name += '_'
      forms.answerTool = name
      const description =
        'Gives the final answer. Call it when the answer is ready, with the answer as its input.'
      return { name, description }
    },
    answer(schema: JsonObject, dialect: SchemaDialect | 'plain', reason?: unknown) {
      const lowered = lowering.answer(schema, dialect)
      if (reason instanceof Error) {
        warn('responseFormat.strict', `sent unenforced, as a tool: ${reason.message}`)
      }
      return lowered
    },
  })
}

type WritableForms = { -readonly [Key in keyof AnswerForms]: AnswerForms[Key] }

/** `requestSchemas` for an API that takes the schema of an answer. */
export function schemaLowering(provider: string, warn: Warn): SchemaLowering {
  const tools = new Map<string, LoweredSchema>()
  const forms: WritableForms = { tools }
  const warnings = (setting: string, lowered: LoweredSchema): void => {
    for (const { path, problem } of lowered.warnings) {
      warn(
        setting,
        `${provider} cannot enforce this schema, so it is sent unenforced: ${path} ${problem}`,
      )
    }
  }
  return {
    forms,
    tool({ name, schema }, index, dialect) {
      const path = `tools[${index}].schema`
      const lowered = loweredOnce(schema, dialect, { provider, path, use: 'tool' })
      warnings(`tools.${name}.strict`, lowered)
      if (lowered.restore !== undefined) tools.set(name, lowered)
      return lowered
    },
    answer(schema, dialect) {
      const lowered = lowerSchema(schema, dialect, { provider, path: 'responseFormat.schema' })
      warnings('responseFormat.strict', lowered)
      if (lowered.restore !== undefined) forms.answer = lowered
      return lowered
    },
  }
}

/** A schema in the form in which it was sent last, and its text at that time. */
interface SentSchema {
  readonly dialect: SchemaDialect | 'plain'
  readonly text: string
  readonly lowered: LoweredSchema
}

const sent = new WeakMap<JsonObject, SentSchema>()

/**
 * `lowerSchema` for the schema of a tool, which is sent at every step of a loop: it is rewritten once, as long as it says the same.
 * A warning names a place in the request, so a schema that has one is not kept.
 */
function loweredOnce(
  schema: JsonObject,
  dialect: SchemaDialect | 'plain',
  place: SchemaPlace,
): LoweredSchema {
  const text = JSON.stringify(schema)
  const last = sent.get(schema)
  if (last?.dialect === dialect && last.text === text) return last.lowered
  const lowered = lowerSchema(schema, dialect, place)
  if (lowered.warnings.length === 0) sent.set(schema, { dialect, text, lowered })
  return lowered
}
