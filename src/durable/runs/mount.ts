import { refuse, type Check } from '../../core/schema/checks.ts'

/** The mounts of requests, as a router told them. They are kept apart from the requests, so that no client can name one. */
const mounts = /* @__PURE__ */ new WeakMap<Request, string>()

/** Keeps the path under which a router has mounted the handler of this request. */
export function setMount(request: Request, mount: string): void {
  mounts.set(request, mount)
}

/** How many segments a mount may have that nobody has told. */
const mostInferred = 2

/** The end of a path, as far as the mount is known. */
export interface MountedPath {
  /** The segments behind the mount as they are written; of the whole path if the mount is not known. */
  readonly segments: readonly string[]
  /** How many of them may come before a route: none if the mount is known. */
  readonly spare: number
}

/** The path of a request behind its mount: the one that is given, or that of the router. `undefined` if it is elsewhere. */
export function pathOf(request: Request, given: string | undefined): MountedPath | undefined {
  const { pathname } = new URL(request.url)
  const mount = given ?? mounts.get(request)
  if (mount === undefined) return { segments: pathname.split('/').slice(1), spare: mostInferred }
  const base = `${mount.replace(/\/$/, '')}/`
  if (!pathname.startsWith(base)) return undefined
  return { segments: pathname.slice(base.length).split('/'), spare: 0 }
}

/** A path as it is written in a request, from its slash at the beginning. */
export const mountCheck: Check = (value) => {
  const isPath =
    typeof value === 'string' &&
    value.startsWith('/') &&
    !value.includes('//') &&
    !/\/:|[*{}]/.test(value) &&
    URL.canParse(value, 'http://localhost') &&
    new URL(value, 'http://localhost').pathname === value
  return isPath
    ? []
    : refuse('a path as it is written in a request, such as "/api/runs", and not a pattern', value)
}

/** Why a path has no route, for the people who mount the service. */
export function noRoute(path: MountedPath | undefined, spared: number | undefined): string {
  if (path === undefined) return 'the path is not under the mount of this service'
  if (path.spare === 0 || spared === undefined || spared <= path.spare)
    return 'there is nothing here'
  return `there is nothing here: the path has ${spared} segments before its route, and without the option mount at most ${path.spare} are read`
}
