/** Figures as a table for a terminal: one row for each thing that was measured, one column for each contestant. */
export function tableOf(figures, cell = (value) => JSON.stringify(value)) {
  const rows = Object.entries(figures)
  if (rows.length === 1 && rows[0][0] === 'allm') return listOf(rows[0][1])
  const ids = [...new Set(rows.flatMap(([, row]) => Object.keys(row)))]
  const cells = rows.map(([name, row]) => [
    name,
    ...ids.map((id) => (row[id] === undefined ? '–' : cell(row[id]))),
  ])
  const lines = [['', ...ids], ...cells]
  const widths = lines[0].map((_, column) => Math.max(...lines.map((line) => line[column].length)))
  return lines
    .map((line) => line.map((text, column) => text.padEnd(widths[column])).join('  '))
    .join('\n')
}

const listOf = (values) =>
  Object.entries(values)
    .map(([name, value]) => `${name}: ${typeof value === 'object' ? value.median : value}`)
    .join('\n')
