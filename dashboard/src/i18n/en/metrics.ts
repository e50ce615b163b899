/** The texts of metrics in English. */

import type { Phrase } from '../index.ts'

export const metrics = {
  'metrics.title': 'Metrics',
  'metrics.search': 'Class name',
  'metrics.span': 'from {from} to {to}',
  'metrics.hours': { one: '{n} hour', other: '{n} hours' },
  'metrics.none': 'No job ended in this period',
  'metrics.nothingRan': 'No job of this class ended in this period',
  'metrics.noneWhat': 'Every run is counted by class and minute, at most ten seconds after it ends.',
  'metrics.job': 'Class',
  'metrics.runs': 'Runs',
  'metrics.failed': 'Failed',
  'metrics.total': 'Total time',
  'metrics.retriesOf': 'its retries',
  'metrics.perMinute': 'Runs per minute',
  'metrics.runTimes': 'Run times',
  'metrics.heatWhat': 'the darker the colour, the more runs took this long',
} satisfies Record<string, Phrase>
