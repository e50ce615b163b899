// Measures the dashboard: the first load, the live page, long lists, and many queues, processes and tasks.
//   node bench/dashboard.js [OPTIONS]      see --help
// Ends with 1 when a figure of `scale` or `tasks` is above its limit (dashboard/limits.js), and with 2 for a wrong option.
import { onEachStore } from './dashboard/each-store.js'
import { checkLimits } from './dashboard/limits.js'
import { helpText, parseOptions, UsageError } from './dashboard/options.js'

let options
try {
  options = parseOptions(process.argv.slice(2))
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  console.error(error.message)
  process.exit(2)
}
if (options.help) {
  console.log(helpText())
  process.exit(0)
}
const programs = new URL('dashboard/', import.meta.url).pathname
const table = await onEachStore({ ...options, programs })
const { closest, exceeded } = checkLimits(table)
for (const line of closest) console.log(line)
for (const line of exceeded) console.error(`above its limit: ${line}`)
process.exitCode = exceeded.length > 0 ? 1 : 0
