/** The texts of cron entries in English. */

import type { Phrase } from '../index.ts'

export const cron = {
  'cron.title': 'Cron',
  'cron.none': 'No cron entry',
  'cron.noneWhat': 'An entry appears when a worker of the app that defines it starts:',
  'cron.name': 'Entry',
  'cron.when': 'When',
  'cron.next': 'Next',
  'cron.last': 'Last',
  'cron.run': 'Run now',
  'cron.paused': 'paused',
  'cron.undefined': 'no live process defines it',
  'cron.byFunction': 'computed by a function',
  'cron.did.run': '{name} runs now',
  'cron.did.pause': '{name} is paused; it stays paused after deploys',
  'cron.did.resume': '{name} is resumed from now on',
} satisfies Record<string, Phrase>
