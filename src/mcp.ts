export {
  connectMcp,
  type ConnectMcpOptions,
  type McpConnect,
  type McpConnection,
  type McpConnectOptions,
} from './bridges/mcp/connect.ts'
export type { McpClient, McpServer, McpServerCore } from './bridges/mcp/peer.ts'
export { serveMcp, type ServeMcpOptions } from './bridges/mcp/serve.ts'
export {
  mcpTools,
  type McpToolInfo,
  type McpToolSettings,
  type McpToolsOptions,
  type RefusedMcpTool,
} from './bridges/mcp/tools.ts'
