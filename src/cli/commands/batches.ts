/** `highkiq batches` lists batches, shows one, cancels its jobs, and pushes one. */

import { type Command, Option } from 'commander'
import { BATCH_STATES } from '../../batches/batches.ts'
import type { Batch, BatchState, Highkiq } from '../../index.ts'
import { given } from '../../job/options.ts'
import { type AppOptions, withAppOptions, withExistingStore } from '../open-app.ts'
import { type Column, count, pairs, plain, printResult, table, time } from '../output.ts'
import { type ShowOptions, show, showFirst, withShowOptions } from '../show.ts'
import { CliError, wholeNumber } from '../usage.ts'
import { registerPush } from './batch-push.ts'

/** The most dead jobs that `show` names. */
const MOST_DEAD = 10

/** A dead job of a batch. */
interface DeadJob {
  jid: string
  class: string
  error: string
}

const DEAD_COLUMNS: Column<DeadJob>[] = [
  { title: 'DEAD JOB', of: ({ jid }) => jid },
  { title: 'CLASS', of: (job) => job.class },
  { title: 'ERROR', of: ({ error }) => error, flexible: true },
]

const COLUMNS: Column<Batch>[] = [
  { title: 'BID', of: ({ bid }) => bid },
  { title: 'STATE', of: ({ state }) => state },
  { title: 'TOTAL', of: ({ total }) => count(total), right: true },
  { title: 'PENDING', of: ({ pending }) => count(pending), right: true },
  { title: 'DEAD', of: ({ dead }) => count(dead), right: true },
  { title: 'FAILED', of: ({ failed }) => count(failed), right: true },
  { title: 'CREATED', of: ({ createdAt }) => time(createdAt) },
  { title: 'DESCRIPTION', of: ({ description }) => plain(description ?? ''), flexible: true },
]

interface ListOptions extends ShowOptions {
  state?: BatchState
  search?: string
  limit?: number
}

export function register(program: Command): void {
  const batches = program
    .command('batches')
    .description('list batches of jobs, show one, cancel its jobs, and push one')
  withShowOptions(batches.command('list').description('list batches, newest first'))
    .addOption(new Option('--state <state>', 'only batches in this state').choices(BATCH_STATES))
    .option('--search <text>', 'only batches and flows whose description contains this text')
    .option('--limit <n>', 'how many at most (default: 25)', wholeNumber)
    .addHelpText(
      'after',
      '\nExamples:\n  highkiq batches list\n  highkiq batches list --state failed --limit 100 --json\n  highkiq batches list --search "nightly import"\n',
    )
    .action(({ state, search, limit = 25, ...options }: ListOptions) =>
      showFirst(options, {
        async get(hq) {
          const items: Batch[] = []
          let cursor: string | undefined
          do {
            const page = await hq.batches.page(given({ state, search, cursor, limit: limit - items.length }))
            items.push(...page.items)
            cursor = page.next ?? undefined
          } while (cursor !== undefined && items.length < limit)
          return { items, more: cursor !== undefined }
        },
        text: (items) => table(COLUMNS, items, 'no batches'),
      }),
    )
  withShowOptions(
    batches
      .command('show')
      .description(`show the counts and times of a batch, and up to ${MOST_DEAD} of its dead jobs`)
      .argument('<bid>'),
  ).action((bid: string, options: ShowOptions) =>
    show(options, {
      async get(hq) {
        const batch = await found(hq, bid)
        return { ...batch, deadJobs: batch.dead > 0 ? await deadJobs(hq, bid) : [] }
      },
      text: ({ deadJobs: dead, ...batch }) =>
        dead.length > 0 ? `${textOf(batch)}\n\n${table(DEAD_COLUMNS, dead)}` : textOf(batch),
    }),
  )
  withAppOptions(
    batches
      .command('cancel')
      .description('cancel the pending jobs of a batch: remove the waiting ones, and stop those that run')
      .argument('<bid>'),
  )
    .option('--json', 'as JSON')
    .action((bid: string, options: AppOptions & { json?: boolean }) =>
      withExistingStore(options, async (hq) => {
        await found(hq, bid)
        const cancelled = await hq.batches.cancel(bid)
        printResult(options.json, { cancelled }, `${count(cancelled)} jobs are cancelled`)
      }),
    )
  registerPush(batches)
}

async function found(hq: Highkiq, bid: string): Promise<Batch> {
  const batch = await hq.batches.get(bid)
  if (batch) return batch
  throw new CliError(`no batch ${bid}: it has ended and is kept no longer, or the bid is wrong`)
}

/** Returns the dead jobs of a batch that died last. */
async function deadJobs(hq: Highkiq, bid: string): Promise<DeadJob[]> {
  const dead: DeadJob[] = []
  let after: string | null = null
  do {
    const { items, next }: Awaited<ReturnType<typeof hq.dead.scan>> = await hq.dead.scan(bid, { after })
    for (const job of items) {
      if (job.bid !== bid || dead.length === MOST_DEAD) continue
      const error = [job.errorClass, job.errorMessage].filter((part) => part !== null).join(': ')
      dead.push({ jid: job.jid, class: job.displayClass, error })
    }
    after = next
  } while (after !== null && dead.length < MOST_DEAD)
  return dead
}

function textOf({ bid, description, state, waiting, ...batch }: Batch): string {
  const { total, pending, retrying, dead, failed, succeeded, createdAt, completedAt, succeededAt } = batch
  return pairs([
    ['bid', bid],
    ['description', plain(description ?? '–')],
    ['state', waiting ? `${state}, job ${waiting.jid} waits` : state],
    ['total', count(total)],
    ['pending', `${count(pending)}, ${count(retrying)} of them retrying`],
    ['dead', count(dead)],
    ['failed', count(failed)],
    ['succeeded', count(succeeded)],
    ['created', time(createdAt)],
    ['complete', completedAt ? time(completedAt) : '–'],
    ['success', succeededAt ? time(succeededAt) : '–'],
  ])
}
