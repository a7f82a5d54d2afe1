/** Makes an id. The kind (`request`, `session`, `call`) is what it is for. */
export type NewId = (kind: string) => string

/** Random ids: 32 hexadecimal digits, safe in URLs and file names. */
export const randomId: NewId = () => crypto.randomUUID().replaceAll('-', '')
