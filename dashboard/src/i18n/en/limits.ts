/** The texts of limits in English. */

import type { Phrase } from '../index.ts'

export const limits = {
  'limits.title': 'Limits',
  'limits.none': 'No limit in use',
  'limits.noneWhat': 'A limit says how many jobs run at the same time, or start within a time:',
  'limits.limit': 'Limit',
  'limits.used': 'Running',
  'limits.usedOf': '{n} of {most}',
  'limits.rate': 'Rate',
  'limits.ratePer': '{n} in {time}',
  'limits.waiting': 'Waiting',
  'limits.next': 'Next start',
  'limits.now': 'now',
  'limits.in': 'in {time}',
  'limits.kind.job': 'job {name}',
  'limits.kind.shared': 'limit {name}',
  'limits.kind.queue': 'queue {name}',
  'limits.kind.app': 'all jobs',
} satisfies Record<string, Phrase>
