/** The texts of alerts in English, for the dashboard and for messages. */

import type { Phrase } from '../../i18n/phrase.js'

export const en = {
  'alerts.retries-share-error': { one: '{n} retry has one error', other: '{n} retries share one error' },
  'alerts.retries-share-error.what': '{error} in {class}, since {at}',
  'alerts.process-silent': 'Process {identity} is silent',
  'alerts.process-silent.what': {
    one: 'Last seen {at}; its {n} job returns {back}',
    other: 'Last seen {at}; its {n} jobs return {back}',
  },
  'alerts.process-silent.idle': 'Last seen {at} without a running job; jobs that it fetched after that return {back}',
  'alerts.queue-grows': 'Queue {queue} grows',
  'alerts.queue-grows.what': '+{n} a minute for {minutes} min; the oldest waits {time}',
  'alerts.queue-unserved': 'No process serves queue {queue}',
  'alerts.queue-unserved.what': {
    one: '{n} job waits in it. Start a worker with -q {queue}',
    other: '{n} jobs wait in it. Start a worker with -q {queue}',
  },
  'alerts.queue-without-worker.what': 'Your app defines jobs for it. Start a worker with -q {queue}',
  'alerts.task-stands-still': 'Task “{name}” makes no progress',
  'alerts.task-stands-still.what': 'No row has ended for {minutes} min',
  'alerts.task-paused': 'Task “{name}” is paused',
  'alerts.task-paused.what': 'too many rows were rejected: {rejected} of {ended} so far',
  'alerts.ordered-silent': 'Shard {shard} of {queue} has no owner',
  'alerts.ordered-silent.what': 'It lags {time}',
  'alerts.no-process': 'No worker is running',
  'alerts.no-process.what': {
    one: '{n} job waits. Start one: highkiq work -r ./jobs.ts',
    other: '{n} jobs wait. Start one: highkiq work -r ./jobs.ts',
  },
  'alerts.shard-unreachable': "The shard {store} can't be reached",
  'alerts.shard-unreachable.what': 'Its jobs wait, and are missing in all lists and figures',
} satisfies Record<string, Phrase>
