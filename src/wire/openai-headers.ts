/** The headers of every answer of OpenAI. */
export function openaiHeaders(requestId: string): Readonly<Record<string, string>> {
  return {
    'x-request-id': requestId,
    'openai-version': '2020-10-01',
    'openai-processing-ms': '1',
  }
}
