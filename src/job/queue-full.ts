import { HighkiqError } from './errors.ts'
import { baseQueue } from './priority.ts'

/** @param what the job, or how many jobs of which kind, that were not pushed */
export function queueFull(what: string, name: string, maxLength: number, details: object = {}): HighkiqError {
  const queue = baseQueue(name)
  const message = `${what}: not pushed, because queue ${queue} has its maxLength of ${maxLength} jobs: push again later, or raise it in new Highkiq({ queues: { ${JSON.stringify(queue)}: { maxLength } } })`
  return new HighkiqError('QUEUE_FULL', message, { queue, maxLength, ...details })
}
