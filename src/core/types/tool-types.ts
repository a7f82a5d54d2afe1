import type { JsonObject, JsonValue } from './json.ts'
import type { ToolCall } from './message.ts'

/**
 * What the compiler knows about the calls of a tool. An engine has the union over its tools, and so its events and results narrow
 * by the name of the tool:
 *
 *     const engine = createEngine({ adapter, tools: [weather, mail] })
 *     for await (const event of streamChat(engine, 'How is Rome?')) {
 *       if (event.type === 'tool_execution_started' && event.name === 'weather') event.arguments.city
 *     }
 *
 * Of a tool whose name is any string nothing is known, and of a plain `Engine` neither: their events are those of `StreamEvent`. No
 * value has this type; it exists for the compiler alone.
 */
export interface ToolTypes<
  Name extends string = string,
  Arguments extends JsonObject = JsonObject,
  Result extends JsonValue = JsonValue,
  Choice extends string = Name,
> {
  readonly name: Name
  /** The arguments as a model writes them: the input of the schema. */
  readonly arguments: Arguments
  /** What a call that did not fail gives, as JSON. */
  readonly result: Result
  /** The name again, if the tool can be chosen. */
  readonly choice: Choice
}

/**
 * What is known about the tools of an engine that a tool leads to: those of an agent, whose approvals rise to the outer run, and those of
 * an engine that is handed the conversation. They cannot be chosen. Where a name is known twice, both are possible.
 */
export type Inside<Types extends ToolTypes> =
  Types extends ToolTypes<infer Name, infer Arguments, infer Result>
    ? ToolTypes<Name, Arguments, Result, never>
    : never

/** Marks a name that is none of the known ones. No value has it. */
declare const otherTool: unique symbol

/**
 * The name of any other tool: one that a model invented, or that a hook or a list of unknown tools added.
 *
 * It is a string, and differs from every literal. `string` itself would not do: it may equal a known name, so the comparison with one
 * would narrow nothing.
 */
// oxlint-disable-next-line typescript/no-unnecessary-template-expression
export type OtherName = `${string & { readonly [otherTool]: true }}`

/** The tools of a union whose names are known. */
export type Known<Types extends ToolTypes> = Types extends ToolTypes
  ? string extends Types['name']
    ? never
    : Types
  : never

/** A union of tools with others added. A tool of the same name is replaced; tools whose names are not known replace none. */
export type WithTools<Types extends ToolTypes, Added extends ToolTypes> = [Added] extends [never]
  ? Types
  : Exclude<Types, { readonly name: Known<Added>['name'] }> | Added

/** The names that may be chosen: those of the tools, or any if one of them is not known. */
export type NameOf<Types extends ToolTypes> = string extends Types['choice']
  ? string & {}
  : Types['choice']

/** A call whose arguments were checked. It narrows by its name; the last member is a call of any other tool. */
export type CallOf<Types extends ToolTypes> = CallOfKnown<Known<Types>>

type CallOfKnown<Types extends ToolTypes> = [Types] extends [never]
  ? ToolCall
  : KnownCall<Types> | ToolCall<OtherName>

type KnownCall<Types extends ToolTypes> = Types extends ToolTypes
  ? ToolCall<Types['name'], Types['arguments']>
  : never
