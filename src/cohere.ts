export type { Fetch } from './http/call.ts'
export { cohereRerank, type CohereRerankOptions } from './providers/cohere/rerank.ts'
