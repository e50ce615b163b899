/** The texts of unique locks in English. */

import type { Phrase } from '../index.ts'

export const locks = {
  'locks.title': 'Unique locks',
  'locks.search': 'Key or jid',
  'locks.none': 'No unique job waits or runs',
  'locks.noneWhat': 'A unique job is pushed once while it waits or runs:',
  'locks.holder': 'Job that has the lock',
  'locks.ends': 'Ends',
  'locks.withJob': 'with its job',
  'locks.orWithJob': 'or with its job',
  'locks.release': 'Release',
  'locks.released': 'Lock {key} is released; job {jid} stays',
  'locks.gone': 'Lock {key} was free already',
} satisfies Record<string, Phrase>
