/** `highkiq ordered waiting | morgue` lists pages of an ordered queue. */

import { type Command, Option } from 'commander'
import type { DeadId, OrderedQueue, ScoredValue, WaitingId } from '../../index.ts'
import { stringifyJson } from '../../job/json.ts'
import { type Column, count, table, time } from '../output.ts'
import { type ShowOptions, show, withShowOptions } from '../show.ts'
import { wholeNumber } from '../usage.ts'

interface PageOptions extends ShowOptions {
  by: string
  desc?: boolean
  from?: string
  limit: number
}

export function registerPages(ordered: Command): void {
  page(ordered, 'waiting', ['performIn', 'id', 'retryCount'], {
    description: 'waiting ids, next due first',
    get: (queue, { by, ...options }) => queue.waiting.list({ by: by as 'id', ...options }),
    columns: WAITING,
    none: 'no ids are waiting',
  })
  page(ordered, 'morgue', ['updatedAt', 'id'], {
    description: 'ids whose payloads used up their retries',
    get: (queue, { by, ...options }) => queue.morgue.list({ by: by as 'id', ...options }),
    columns: DEAD,
    none: 'the morgue is empty',
  })
}

interface Page<Item> {
  description: string
  get: (
    queue: OrderedQueue,
    options: { by: string; desc: boolean; from?: string; limit: number },
  ) => Promise<{ items: Item[]; next: string | null }>
  columns: Column<Item>[]
  none: string
}

function page<Item>(ordered: Command, name: string, sorts: string[], { description, get, columns, none }: Page<Item>) {
  withShowOptions(ordered.command(name).description(description))
    .argument('<name>', 'name of the ordered queue')
    .addOption(new Option('--by <what>', 'sort by').choices(sorts).default(sorts[0]))
    .option('--desc', 'sort in descending order')
    .option('--from <value>', 'start at this value: an id, seconds since 1970, or a number of retries')
    .option('--limit <n>', 'show at most n ids', wholeNumber, 20)
    .addHelpText('after', `\nExamples:\n  highkiq ordered ${name} SyncUser --by id --from 17\n`)
    .action((queueName: string, { by, desc = false, from, limit, ...options }: PageOptions) =>
      show(options, {
        get: async (hq) => {
          const queue = await hq.ordered(queueName).known()
          const { items, next } = await get(queue, { by, desc, limit, ...(from === undefined ? {} : { from }) })
          return { items, next }
        },
        text: ({ items, next }) =>
          table(columns, items, none) + (next === null ? '' : '\n… and more; use --limit and --from'),
      }),
    )
}

function payloadsOf(payloads: readonly ScoredValue[]): string {
  return payloads.map(({ payload, score }) => `${stringifyJson(payload)}@${score}`).join(' ')
}

const WAITING: Column<WaitingId>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'DUE', of: ({ performIn }) => time(new Date(performIn * 1000)) },
  { title: 'RETRIES', of: ({ retryCount }) => String(Math.max(retryCount + 1, 0)), right: true },
  { title: 'PAYLOADS', of: ({ size }) => count(size), right: true },
  { title: '', of: ({ payloads }) => payloadsOf(payloads), flexible: true },
  { title: 'ERROR', of: ({ error }) => error ?? '', flexible: true },
]

const DEAD: Column<DeadId>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'DIED', of: ({ updatedAt }) => time(new Date(updatedAt * 1000)) },
  { title: 'TIMES', of: ({ deaths }) => count(deaths), right: true },
  { title: '', of: ({ payloads }) => payloadsOf(payloads), flexible: true },
  { title: 'ERROR', of: ({ error }) => error ?? '', flexible: true },
]
