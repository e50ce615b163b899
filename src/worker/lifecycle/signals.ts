/** The signals and uncaught errors of a process whose only purpose is a worker. */

/** The orders that a worker obeys, named like the process signals without SIG. */
export type Order = 'TERM' | 'INT' | 'TSTP' | 'TTIN' | 'USR2'

const ORDERS: readonly Order[] = ['TERM', 'INT', 'TSTP', 'TTIN', 'USR2']

/** Handles signals and uncaught errors until the returned function is called. */
export function handleSignals(obey: (order: Order) => void, fatal: (error: unknown) => void): () => void {
  const handlers = ORDERS.map((order) => [`SIG${order}`, () => obey(order)] as const)
  for (const [signal, handler] of handlers) process.on(signal, handler)
  // Node raises this event for unhandled rejections, too.
  process.on('uncaughtException', fatal)
  return () => {
    for (const [signal, handler] of handlers) process.off(signal, handler)
    process.off('uncaughtException', fatal)
  }
}
