export {
  connectMcp,
  type ConnectMcpOptions,
  type McpConnect,
  type McpConnection,
  type McpConnectOptions,
} from './mcp/connect.ts'
export type { McpClient, McpServer, McpServerCore } from './mcp/peer.ts'
export { serveMcp, type ServeMcpOptions } from './mcp/serve.ts'
export {
  mcpTools,
  type McpToolInfo,
  type McpToolSettings,
  type McpToolsOptions,
  type RefusedMcpTool,
} from './mcp/tools.ts'
