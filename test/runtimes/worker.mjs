// What workerd runs, as a bundle. It asks itself for the runs that it serves.
import { runAll } from './run-all.mjs'
import { handle, servedCases } from './served-cases.mjs'

export default {
  fetch: handle,
  test: (_controller, { self }) =>
    runAll(servedCases((path) => self.fetch(`http://worker.test${path}`))),
}
