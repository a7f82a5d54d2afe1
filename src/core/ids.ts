/** Makes an id. The kind (`request`, `session`, `call`) is what it is for. */
export type NewId = (kind: string) => string

/** Random ids: 22 letters and digits, safe in addresses and file names. */
export const randomId: NewId = () => crypto.randomUUID().replaceAll('-', '')
