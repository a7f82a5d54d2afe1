/** Where the page is: the part of its address after `#`. */
export type Route =
  | { readonly view: 'list'; readonly search?: string; readonly status?: string }
  | {
      readonly view: 'run'
      readonly id: string
      /** The selected event or command, by its number. Absent: the end. */
      readonly event?: number
      readonly command?: number
      readonly tab?: string
    }
  | { readonly view: 'compare'; readonly left: string; readonly right: string }

/** The place that a fragment names. A fragment that names none is the list. */
export function parseRoute(fragment: string): Route {
  const [path = '', query = ''] = fragment.replace(/^#/, '').split('?', 2)
  const params = new URLSearchParams(query)
  const [, kind, first, second] = path.split('/').map(decoded)
  if (kind === 's' && first) {
    const event = whole(params.get('event'))
    const command = whole(params.get('command'))
    const tab = params.get('tab') ?? undefined
    return {
      view: 'run',
      id: first,
      ...(event !== undefined && { event }),
      ...(command !== undefined && { command }),
      ...(tab !== undefined && { tab }),
    }
  }
  if (kind === 'compare' && first && second) return { view: 'compare', left: first, right: second }
  const [search, status] = [params.get('search'), params.get('status')]
  return { view: 'list', ...(search !== null && { search }), ...(status !== null && { status }) }
}

/** The fragment of a place. `parseRoute` gives the place back. */
export function routeFragment(route: Route): string {
  switch (route.view) {
    case 'list':
      return `#/${queryOf({ search: route.search, status: route.status })}`
    case 'run': {
      const { id, event, command, tab } = route
      return `#/s/${encodeURIComponent(id)}${queryOf({ event, command, tab })}`
    }
    case 'compare':
      return `#/compare/${encodeURIComponent(route.left)}/${encodeURIComponent(route.right)}`
  }
}

function queryOf(values: Readonly<Record<string, string | number | undefined>>): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== '') params.set(name, String(value))
  }
  return params.size === 0 ? '' : `?${params}`
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return ''
  }
}

function whole(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

/** The token in a fragment such as `#token=abc` or `#/s/id?token=abc`, and the fragment without it. */
export function takeToken(fragment: string): { readonly token?: string; readonly rest: string } {
  const text = fragment.replace(/^#/, '')
  const found = /(^|[?&])token=([^&]*)(?:&|$)/.exec(text)
  if (found === null) return { rest: fragment }
  const [whole, before = '', value = ''] = found
  const after = text.slice(found.index + whole.length)
  const lead = after === '' ? '' : before
  const rest = text.slice(0, found.index) + lead + after
  return { token: decoded(value), rest: rest === '' ? '' : `#${rest}` }
}
