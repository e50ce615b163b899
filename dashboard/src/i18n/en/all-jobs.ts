/** The texts of the page of all jobs in English. */

import type { Phrase } from '../index.ts'

export const allJobs = {
  'jobs.title': 'Jobs',
  'jobs.states': 'States',
  'jobs.state': 'State',
  'jobs.state.running': 'Running',
  'jobs.state.queued': 'Queued',
  'jobs.state.limited': 'Limited',
  'jobs.backlog': 'Task rows',
  'jobs.search': 'Search all jobs',
  'jobs.filter.args': 'argument',
  'jobs.filter.tag': 'tag',
  'jobs.filter.errorClass': 'error class',
  'jobs.filter.jid': 'jid',
  'jobs.filter.meta': 'meta',
  'jobs.filter.from': 'since',
  'jobs.filter.until': 'until',
  'jobs.hint.args': 'customer = 4711',
  'jobs.hint.time': '2h, or 2026-11-24 09:30',
  'jobs.at': 'Time',
  'jobs.again': 'Search again',
  'jobs.further': 'Look further',
  'jobs.searching': { one: 'Searching: {n} searched so far', other: 'Searching: {n} searched so far' },
  'jobs.more': 'More filters',
  'jobs.delete': { one: 'Delete {n} job', other: 'Delete {n} jobs' },
  'jobs.none': 'No jobs',
  'jobs.none.what': 'No job waits, runs or has failed.',
} satisfies Record<string, Phrase>
