export type { Fetch } from './providers/http/call.ts'
export { cohereRerank, type CohereRerankOptions } from './providers/cohere/rerank.ts'
