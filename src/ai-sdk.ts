export { fromAiSdk } from './ai-sdk/from-ai-sdk.ts'
export type { AiSdkModel, AiSdkOptions } from './ai-sdk/model.ts'
