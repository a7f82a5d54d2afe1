/** Loads a package that only this folder has installed. */
export const peer = (name) => import(import.meta.resolve(name))
