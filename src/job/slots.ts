/** The options that change how many jobs a capsule of a worker runs at the same time, and their check. */

import { invalidOption } from './errors.ts'
import { checkOptions, shown } from './options.ts'

export interface SlotOptions {
  /** The number of jobs that run at the same time. */
  concurrency: number
  /** Default: the worker's own capsule, `default`. */
  capsule?: string
}

/** @throws INVALID_OPTION for a wrong value, and for a capsule that is not among `capsules` */
export function checkSlots(where: string, options: SlotOptions, capsules: readonly string[]): Required<SlotOptions> {
  checkOptions(where, options, { concurrency: 'count', capsule: 'text' })
  const { concurrency, capsule = 'default' } = options
  if (concurrency === undefined) throw invalidOption(`${where}: concurrency is missing, as in { concurrency: 20 }`)
  if (capsules.includes(capsule)) return { concurrency, capsule }
  throw invalidOption(`${where}: there is no capsule ${shown(capsule)}; there are ${capsules.join(', ')}`)
}
