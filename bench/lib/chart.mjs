const names = {
  floor: 'raw fetch',
  allm: 'allm-ts',
  'pi-ai': 'pi-ai',
  'openai-sdk': 'openai SDK',
  'anthropic-sdk': 'Anthropic SDK',
  langchain: 'LangChain',
  'tanstack-ai': 'TanStack AI',
  'openai-agents': 'OpenAI Agents',
  'ai-sdk': 'AI SDK',
}

/** The cost of a delta as bars, for OpenAI chat with one event a write. It has its own background, so it is readable on any page. */
export function chartOf({ sections, environment }) {
  const row = sections.deltas.figures['openai-chat, 1 a write']
  const bars = Object.entries(row)
    .filter(([id]) => names[id] !== undefined)
    .toSorted(([, a], [, b]) => a.ratio.median - b.ratio.median)
  const longest = Math.max(...bars.map(([, { ratio }]) => ratio.median))
  const height = 64 + bars.length * 30
  const lines = bars.map(([id, { ratio }], index) => bar(id, ratio.median, index, longest))
  return `<svg xmlns="http://www.w3.org/2000/svg" width="720" height="${height}" viewBox="0 0 720 ${height}" font-family="system-ui, sans-serif" font-size="14" role="img" aria-label="CPU for one streamed text delta, as a multiple of raw fetch">
<rect width="720" height="${height}" rx="6" fill="#ffffff"/>
<text x="16" y="26" fill="#1f2328" font-weight="600">CPU for one streamed text delta, × raw fetch + SSE + JSON.parse</text>
<text x="16" y="${height - 10}" fill="#59636e" font-size="11">OpenAI chat over loopback, one event a write; Node ${environment.node}, medians of rounds</text>
${lines.join('\n')}
</svg>
`
}

function bar(id, value, index, longest) {
  const y = 42 + index * 30
  const width = Math.max(2, (value / longest) * 500)
  const colour = id === 'allm' ? '#1a7f37' : '#8c959f'
  const weight = id === 'allm' ? ' font-weight="600"' : ''
  return `<text x="140" y="${y + 15}" text-anchor="end" fill="#1f2328"${weight}>${names[id]}</text>
<rect x="150" y="${y}" width="${width.toFixed(1)}" height="20" rx="2" fill="${colour}"/>
<text x="${(156 + width).toFixed(1)}" y="${y + 15}" fill="#1f2328"${weight}>${value}</text>`
}
