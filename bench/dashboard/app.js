// Makes an app that logs nothing, and measures memory and time.
import { Highkiq } from 'highkiq'

const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent }

export const appOn = (url, options = {}) => new Highkiq({ url, logger: silent, ...options })

export function memory() {
  let most = 0
  const timer = setInterval(look, 50)
  function look() {
    most = Math.max(most, process.memoryUsage.rss())
  }
  return () => {
    look()
    clearInterval(timer)
    return Math.round(most / 2 ** 20)
  }
}

export async function seconds(work) {
  const began = performance.now()
  await work()
  return Number(((performance.now() - began) / 1000).toFixed(2))
}

/** Returns the average milliseconds of a call. */
export async function each(times, work) {
  const began = performance.now()
  for (let i = 0; i < times; i++) await work(i)
  return Number(((performance.now() - began) / times).toFixed(3))
}
