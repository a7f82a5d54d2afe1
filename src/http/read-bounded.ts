/** The text of a body, cut at `maxBytes`; what is beyond is not read and the connection is closed. */
export async function readBounded(response: Response, maxBytes: number): Promise<string> {
  const reader = response.body?.getReader()
  if (reader === undefined) return ''
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  try {
    while (size < maxBytes) {
      const { done, value } = await reader.read()
      if (done) return text + decoder.decode()
      text += decoder.decode(value.subarray(0, maxBytes - size), { stream: true })
      size += value.byteLength
    }
    return text
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
