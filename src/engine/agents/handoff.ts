import type { Engine } from '../../core/contracts/engine.ts'
import type { ApprovalNeed, Tool } from '../../core/contracts/tool.ts'
import { assertOptions, assertValid, must, within } from '../../core/schema/checks.ts'
import type { AnySchema } from '../../core/schema/derive-schema.ts'
import { keysOf } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { NeedsJsonSchema } from '../../core/types/standard-schema.ts'
import type { Inside, ToolTypes } from '../../core/types/tool-types.ts'
import { engineParts } from '../model-call/context.ts'
import { tool, type ArgsOf, type WrittenFor } from '../tools/tool.ts'

/** The options of `handoff`. */
export interface HandoffOptions<
  Schema extends AnySchema = AnySchema,
  Name extends string = string,
> {
  /** The name of the tool (`handoff`). An engine that can hand over to several others needs a name for each. */
  readonly name?: Name | undefined
  /** When to hand over, and to whom, written for the model. */
  readonly description?: string | undefined
  /** The schema of the arguments, such as a reason. The engine that goes on reads them in the thread. By default there are none. */
  readonly input?: (Schema & NeedsJsonSchema<Schema>) | undefined
  /** What the call is answered with, for the engine that goes on (`handed over`). */
  readonly result?: string | undefined
  /** The call waits for approval before the conversation is handed over. A function decides by the arguments. */
  readonly needsApproval?: ApprovalNeed<ArgsOf<Schema>> | undefined
}

const optionKeys = /* @__PURE__ */ keysOf<HandoffOptions>({
  name: true,
  description: true,
  input: true,
  result: true,
  needsApproval: true,
})

const noArguments = { type: 'object', properties: {}, additionalProperties: false } as const

/**
 * A tool by which a model hands the conversation to another engine. The turn of the first one ends with the step of the call; the other one
 * goes on with the thread in the same run, with its own model, instructions, tools and settings, and answers from then on.
 *
 * Who goes on is in the thread (`metadata.handoff` of the result), so it holds after a crash and for later replies; always pass the engine that
 * the conversation began with. Of the options of a call, those that say what the model is hold for the first engine only. Of several
 * handoffs in one answer, the first one that may run counts.
 *
 * An engine can be given as a function, for two engines that hand over to each other.
 */
export function handoff<
  const Schema extends AnySchema = typeof noArguments,
  const Name extends string = 'handoff',
  Next extends ToolTypes = ToolTypes,
>(
  engine: Engine<object, Next> | (() => Engine<object, Next>),
  options: HandoffOptions<Schema, Name> = {},
): HandoffTool<Schema, Name, Next> {
  assertOptions('invalid_tool', options, optionKeys)
  const { name, description, input, result = 'handed over', needsApproval } = options
  if (typeof engine !== 'function') engineParts(engine)
  assertValid('invalid_tool', within('result', resultText(result)))
  const target = (): Engine => (typeof engine === 'function' ? engine() : engine)
  const made: Tool = tool<JsonObject>({
    name: name ?? 'handoff',
    description:
      description ?? 'Hands the conversation over to another agent, which goes on with it.',
    schema: input ?? noArguments,
    // The same schema types the arguments of both.
    needsApproval: needsApproval as ApprovalNeed | undefined,
    idempotent: true,
    handler: () => {
      // A function that does not give an engine fails here, and the model stays.
      engineParts(target())
      return result
    },
  })
  // The options say what its name and its arguments are.
  const over: Tool = Object.freeze({ ...made, handoff: Object.freeze({ engine: target }) })
  return over as HandoffTool<Schema, Name, Next>
}

/** A tool that hands over. The tools of the next engine are called in the same run. */
type HandoffTool<Schema, Name extends string, Next extends ToolTypes> = Tool<
  JsonObject,
  object,
  ToolTypes<Name, WrittenFor<Schema>, string> | Inside<Next>
> & { readonly name: Name }

const resultText = /* @__PURE__ */ must('a text', (value) => typeof value === 'string')
