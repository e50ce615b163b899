/** Which pushes stored no job, because another job has their lock. They answered the jid of that job. */

const existing = new WeakSet<object>()

export function noteExisting(request: object): void {
  existing.add(request)
}

/** Whether a request that was pushed stored no job. */
export function isExisting(request: object): boolean {
  return existing.has(request)
}
