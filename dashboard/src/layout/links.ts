/** The pages, in the order of the navigation. */

import type { LiveStats } from '../api/types.ts'
import type { IconName } from '../components/icon.tsx'
import type { Word } from '../i18n/index.ts'

export interface NavLink {
  path: string
  icon: IconName
  title: Word
  /** The key after `g` that opens the page. */
  key: string
  /** The count that the navigation shows. */
  count?: (now: LiveStats) => number
  /** True when the count needs attention. */
  isHot?: (now: LiveStats) => boolean
}

export const LINKS: readonly (readonly NavLink[])[] = [
  [
    { path: '/', icon: 'overview', title: 'nav.overview', key: 'o' },
    { path: '/tasks', icon: 'tasks', title: 'nav.tasks', key: 't', count: ({ tasks }) => tasks },
    { path: '/queues', icon: 'queues', title: 'nav.queues', key: 'q', count: ({ queues }) => queues },
    { path: '/busy', icon: 'busy', title: 'nav.busy', key: 'b', count: ({ stats }) => stats.busy },
  ],
  [
    { path: '/jobs', icon: 'search', title: 'nav.jobs', key: 'a' },
    {
      path: '/retries',
      icon: 'retries',
      title: 'nav.retries',
      key: 'r',
      count: ({ stats }) => stats.retries,
      isHot: ({ alerts }) => alerts.some(({ kind }) => kind === 'retries-share-error'),
    },
    { path: '/scheduled', icon: 'scheduled', title: 'nav.scheduled', key: 's', count: ({ stats }) => stats.scheduled },
    { path: '/dead', icon: 'dead', title: 'nav.dead', key: 'd', count: ({ stats }) => stats.dead },
    { path: '/finished', icon: 'check', title: 'nav.finished', key: 'f' },
  ],
  [
    { path: '/ordered', icon: 'ordered', title: 'nav.ordered', key: 'n', count: ({ orderedQueues }) => orderedQueues },
    { path: '/batches', icon: 'tasks', title: 'nav.batches', key: 'h' },
    { path: '/limits', icon: 'group', title: 'nav.limits', key: 'l', count: ({ stats }) => stats.limited },
    { path: '/locks', icon: 'copy', title: 'nav.locks', key: 'u' },
    { path: '/cron', icon: 'cron', title: 'nav.cron', key: 'c', count: ({ crons }) => crons },
    { path: '/events', icon: 'play', title: 'nav.events', key: 'e' },
    { path: '/metrics', icon: 'metrics', title: 'nav.metrics', key: 'm' },
    { path: '/deploys', icon: 'flag', title: 'nav.deploys', key: 'v' },
    { path: '/doctor', icon: 'doctor', title: 'nav.doctor', key: 'x' },
  ],
]
