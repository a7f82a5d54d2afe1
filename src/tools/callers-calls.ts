import type { Tool } from '../contracts/tool.ts'
import type { ToolCall } from '../types/message.ts'

/** The tools with a handler of which some calls are the caller's, and which. */
const partly = /* @__PURE__ */ new WeakMap<Tool, (call: ToolCall) => boolean>()

/** The tool, of which the caller answers the calls that pass the test: a tool that knows the answers to some of its calls. */
export function leaveToCaller(tool: Tool, test: (call: ToolCall) => boolean): Tool {
  partly.set(tool, test)
  return tool
}

/** Whether the caller answers a call. */
export function isCallersCall(tool: Tool | undefined, call: ToolCall): boolean {
  return tool !== undefined && (tool.manual || partly.get(tool)?.(call) === true)
}
