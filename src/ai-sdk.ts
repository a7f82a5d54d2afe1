export { fromAiSdk } from './bridges/ai-sdk/from-ai-sdk.ts'
export type { AiSdkModel, AiSdkOptions } from './bridges/ai-sdk/model.ts'
