/** `highkiq ordered` shows ordered queues and changes their waiting and dead ids. */

import type { Command } from 'commander'
import type { Highkiq, OrderedQueue, OrderedStats, ShardStats } from '../../index.ts'
import { quoted } from '../../job/shell.ts'
import { type AppOptions, withAppOptions, withExistingStore } from '../open-app.ts'
import { type Column, count, duration, pairs, plural, print, printJson, printResult, table } from '../output.ts'
import { type ShowOptions, show, withShowOptions } from '../show.ts'
import { confirm } from '../terminal.ts'
import { CliError, wholeNumber } from '../usage.ts'
import { registerPages } from './ordered-pages.ts'
import { registerPush } from './ordered-push.ts'

interface ActionOptions extends AppOptions {
  yes?: boolean
  all?: boolean
  dead?: boolean
}

type Named = OrderedStats & { name: string }

export function register(program: Command): void {
  const ordered = program.command('ordered').description('show ordered queues; change their waiting and dead ids')
  withShowOptions(ordered.command('list').description('list the ordered queues and their lag'))
    .addHelpText('after', '\nExamples:\n  highkiq ordered list\n  highkiq ordered list --watch\n')
    .action((options: ShowOptions) =>
      show(options, {
        get: all,
        text: (queues) => table(COLUMNS, queues, 'no ordered queues: the first push or worker creates one'),
      }),
    )

  withShowOptions(
    ordered
      .command('show')
      .description('show one ordered queue, shard by shard')
      .argument('<name>', 'name of the ordered queue'),
  )
    .addHelpText('after', '\nExamples:\n  highkiq ordered show SyncUser\n')
    .action((name: string, options: ShowOptions) =>
      show(options, {
        get: async (hq) => ({ name, ...(await (await hq.ordered(name).known()).stats()) }),
        text: shown,
      }),
    )

  registerPages(ordered)
  registerPush(ordered)

  registerAction(ordered, 'resurrect', 'bring ids back from the morgue, due now, with all their retries', {
    ids: true,
    all: 'all ids in the morgue',
    run: async (queue, ids) => {
      const n = await queue.morgue.resurrect(ids ?? 'all')
      return { resurrected: n, message: `${plural(n, 'id')} of ${queue.queue} resurrected` }
    },
    none: ({ queue }, ids) =>
      `${ids.join(', ')} is not in the morgue of ${queue}; highkiq ordered morgue ${quoted(queue)} lists its ids`,
  })
  registerAction(ordered, 'delete', 'delete the waiting payloads of these ids, or with --dead those in the morgue', {
    ids: true,
    all: 'all ids that failed and wait for a retry; with --dead all ids in the morgue',
    asks: async (queue, options) => {
      const { retries, morgueLength } = await queue.stats()
      return `delete ${options.dead ? `${plural(morgueLength, 'id')} in the morgue` : `${plural(retries, 'id')} waiting for a retry`} of ${queue.queue}`
    },
    run: async (queue, ids, { dead }) => {
      const n = dead
        ? await queue.morgue.delete(ids ?? 'all')
        : await (ids ? queue.waiting.delete(ids) : queue.waiting.deleteAllFailed())
      return { deleted: n, message: `${plural(n, 'id')} of ${queue.queue} deleted` }
    },
  }).option('--dead', 'delete from the morgue')
  registerAction(ordered, 'kill', 'move the waiting payloads of these ids to the morgue', {
    ids: true,
    all: 'all ids that failed and wait for a retry',
    asks: async (queue) => `move ${plural((await queue.stats()).retries, 'id')} of ${queue.queue} to the morgue`,
    run: async (queue, ids) => {
      const n = await (ids ? queue.waiting.kill(ids) : queue.waiting.killAllFailed())
      return { killed: n, message: `${plural(n, 'id')} of ${queue.queue} moved to the morgue` }
    },
  })
  registerAction(ordered, 'run-now', 'make these ids due now', {
    ids: true,
    all: 'all waiting ids',
    run: async (queue, ids) => {
      const n = await (ids ? queue.waiting.performNow(ids) : queue.waiting.performAllNow())
      return { due: n, message: `${plural(n, 'id')} of ${queue.queue} ${n === 1 ? 'is' : 'are'} due now` }
    },
  })
  registerAction(ordered, 'cancel', 'remove the waiting payloads of these ids and cancel their running batches', {
    ids: true,
    run: async (queue, ids) => {
      const answers = await queue.cancel(ids ?? [])
      return { answers, message: answers.map((answer, i) => `${ids?.[i]}: ${answer}`).join('\n') }
    },
  })
  registerAction(ordered, 'pause', 'start no more batches until resumed; pushes still work', {
    run: async (queue) => {
      await queue.pause()
      return { paused: true, message: `${queue.queue} is paused` }
    },
  })
  registerAction(ordered, 'resume', 'start batches of a paused queue again', {
    run: async (queue) => {
      await queue.resume()
      return { paused: false, message: `${queue.queue} is resumed` }
    },
  })
  withAppOptions(ordered.command('reshard').description('change the number of shards without stopping work'))
    .argument('<name>', 'name of the ordered queue')
    .argument('<shards>', 'number of shards', wholeNumber)
    .option('--json', 'as JSON')
    .addHelpText('after', '\nExamples:\n  highkiq ordered reshard SyncUser 10\n')
    .action((name: string, shards: number, options: ActionOptions) =>
      withExistingStore(options, async (hq) => {
        await (await hq.ordered(name).known()).reshard(shards)
        const message = `${name} has ${plural(shards, 'shard')} now; change its definition, too`
        printResult(options.json, { name, shards }, message)
      }),
    )
}

interface Action {
  ids?: boolean
  /** Help text of `--all`. */
  all?: string
  /** Question to confirm before `--all`, without its question mark. */
  asks?: (queue: OrderedQueue, options: ActionOptions) => Promise<string>
  /** Runs the action on `ids`, or on all of them when `ids` is undefined. */
  run: (queue: OrderedQueue, ids: string[] | undefined, options: ActionOptions) => Promise<{ message: string }>
  /** Error message when none of these ids was found; without it that is no error. */
  none?: (queue: OrderedQueue, ids: readonly string[]) => string
}

function registerAction(
  ordered: Command,
  name: string,
  description: string,
  { ids, all, asks, run, none }: Action,
): Command {
  const command = withAppOptions(ordered.command(name).description(description)).argument(
    '<name>',
    'name of the ordered queue',
  )
  if (ids) command.argument(all ? '[ids...]' : '<ids...>', 'ids of the entities')
  if (all) command.option('--all', all)
  if (asks) command.option('--yes', 'do not ask for confirmation')
  return command
    .option('--json', 'as JSON')
    .addHelpText('after', `\nExamples:\n  highkiq ordered ${name} SyncUser${ids ? ' 17' : ''}\n`)
    .action((queueName: string, ...rest: unknown[]) => {
      const list = ids ? (rest[0] as string[]) : []
      const options = (ids ? rest[1] : rest[0]) as ActionOptions
      if (all && (list.length === 0) === !options.all) {
        throw new CliError(`give ids, or use --all (${all})`, 2)
      }
      return withExistingStore(options, async (hq) => {
        const queue = await hq.ordered(queueName).known()
        if (options.all && asks) await confirm(await asks(queue, options), options.yes)
        const { message, ...result } = await run(queue, options.all ? undefined : list, options)
        const isNone = none !== undefined && !options.all && Object.values(result).every((n) => n === 0)
        if (options.json) printJson(result)
        else if (!isNone) print(message)
        if (isNone) throw new CliError(none(queue, list))
      })
    })
}

async function all(hq: Highkiq): Promise<Named[]> {
  const names = await hq.orderedQueues()
  return Promise.all(names.map(async (name) => ({ name, ...(await hq.ordered(name).stats()) })))
}

const COLUMNS: Column<Named>[] = [
  { title: 'QUEUE', of: ({ name }) => name },
  { title: 'SHARDS', of: ({ shards }) => count(shards.length), right: true },
  { title: 'WAITING', of: ({ length }) => count(length), right: true },
  { title: 'FAILED', of: ({ retries }) => count(retries), right: true },
  { title: 'BUSY', of: ({ busy }) => count(busy), right: true },
  { title: 'MORGUE', of: ({ morgueLength }) => count(morgueLength), right: true },
  { title: 'LAG', of: ({ lag }) => duration(lag), right: true },
  { title: '', of: ({ paused }) => (paused ? 'paused' : '') },
]

const SHARDS: Column<ShardStats>[] = [
  { title: 'SHARD', of: ({ shard }) => String(shard), right: true },
  { title: 'WAITING', of: ({ length }) => count(length), right: true },
  { title: 'FAILED', of: ({ retries }) => count(retries), right: true },
  { title: 'BUSY', of: ({ busy }) => count(busy), right: true },
  { title: 'LAG', of: ({ lag }) => duration(lag), right: true },
  { title: 'OWNER', of: ({ owner }) => owner ?? 'none' },
]

function shown({ name, shards, ...stats }: Named): string {
  const rows: [string, string][] = [
    ['queue', `${name}${stats.paused ? ' (paused)' : ''}`],
    ['waiting', `${count(stats.length)}, of which ${count(stats.retries)} have failed`],
    ['busy', count(stats.busy)],
    ['morgue', count(stats.morgueLength)],
    ['lag', duration(stats.lag)],
    ['processed', count(stats.processed)],
    ['failed', count(stats.failed)],
  ]
  return `${pairs(rows)}\n\n${table(SHARDS, shards)}`
}
