/** The texts of events in English. */

import type { Phrase } from '../index.ts'

export const events = {
  'events.since': 'since {at}',
  'events.begins': 'begins with new events, in about two seconds',
  'events.pause': 'Pause',
  'events.continue': 'Continue',
  'events.paused': 'paused',
  'events.kind': 'Event',
  'events.allKinds': 'All events',
  'events.none': 'No event yet',
  'events.noneWhat':
    'Recording begins with the first reader, such as this page, and ends an hour after the last one. Rows of tasks and ordered queues have no events here.',
  'events.why': 'Reason',
  'events.due': 'runs',
  'events.attempt': 'Attempt',
  'events.at': 'Time',
  'events.kind.pushed': 'pushed',
  'events.kind.started': 'started',
  'events.kind.progress': 'progress',
  'events.kind.succeeded': 'succeeded',
  'events.kind.failed': 'failed',
  'events.kind.retried': 'retried',
  'events.kind.died': 'died',
  'events.kind.cancelled': 'cancelled',
} satisfies Record<string, Phrase>
