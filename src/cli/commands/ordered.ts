/** `highkiq ordered`: the ordered queues, what waits in them, and what has died. */

import type { Command } from 'commander'
import type { Highkiq, OrderedQueue, OrderedStats, ShardStats } from '../../index.ts'
import { confirm } from '../confirm.ts'
import { count, duration, plural } from '../figures.ts'
import { type LookOptions, look, withLookOptions } from '../look.ts'
import { type AppOptions, withAppOptions, withExistingStore } from '../open-app.ts'
import { type Column, pairs, print, printJson, table } from '../output.ts'
import { CliError, wholeNumber } from '../usage.ts'
import { registerPages } from './ordered-pages.ts'
import { registerPush } from './ordered-push.ts'

interface ActOptions extends AppOptions {
  json?: boolean
  yes?: boolean
  all?: boolean
  dead?: boolean
}

type Named = OrderedStats & { name: string }

export function register(program: Command): void {
  const ordered = program.command('ordered').description('ordered queues: see them, act on what waits and what died')
  withLookOptions(ordered.command('list').description('the ordered queues, and how far behind they are'))
    .addHelpText('after', '\nExamples:\n  highkiq ordered list\n  highkiq ordered list --watch\n')
    .action((options: LookOptions) => look(options, { get: all, text: (queues) => listed(queues) }))

  withLookOptions(
    ordered.command('show').description('one of them, shard by shard').argument('<name>', 'of the ordered queue'),
  )
    .addHelpText('after', '\nExamples:\n  highkiq ordered show SyncUser\n')
    .action((name: string, options: LookOptions) =>
      look(options, {
        get: async (hq) => ({ name, ...(await (await hq.ordered(name).known()).stats()) }),
        text: shown,
      }),
    )

  registerPages(ordered)
  registerPush(ordered)

  act(ordered, 'resurrect', 'back from the morgue, fresh and due now', {
    ids: true,
    all: 'all that is in the morgue',
    run: async (queue, ids) => {
      const n = await queue.morgue.resurrect(ids ?? 'all')
      return { resurrected: n, said: `${plural(n, 'id')} of ${queue.queue} came back` }
    },
    none: ({ queue }, ids) =>
      `${ids.join(', ')}: not in the morgue of ${queue}; what is there: highkiq ordered morgue ${queue}`,
  })
  act(ordered, 'delete', 'what waits of these ids, or with --dead what is in the morgue', {
    ids: true,
    all: 'all that has failed and waits for its retry; with --dead all that is in the morgue',
    asks: async (queue, options) => {
      const { retries, morgueLength } = await queue.stats()
      return `delete ${options.dead ? `${plural(morgueLength, 'id')} in the morgue` : `${plural(retries, 'id')} that failed`} of ${queue.queue}`
    },
    run: async (queue, ids, { dead }) => {
      const n = dead
        ? await queue.morgue.delete(ids ?? 'all')
        : await (ids ? queue.waiting.delete(ids) : queue.waiting.deleteAllFailed())
      return { deleted: n, said: `${plural(n, 'id')} of ${queue.queue} deleted` }
    },
  }).option('--dead', 'in the morgue')
  act(ordered, 'kill', 'what waits of these ids goes to the morgue', {
    ids: true,
    all: 'all that has failed and waits for its retry',
    asks: async (queue) => `put ${plural((await queue.stats()).retries, 'id')} of ${queue.queue} into the morgue`,
    run: async (queue, ids) => {
      const n = await (ids ? queue.waiting.kill(ids) : queue.waiting.killAllFailed())
      return { killed: n, said: `${plural(n, 'id')} of ${queue.queue} went to the morgue` }
    },
  })
  act(ordered, 'run-now', 'makes these ids due now, whatever they wait for', {
    ids: true,
    all: 'all that waits',
    run: async (queue, ids) => {
      const n = await (ids ? queue.waiting.performNow(ids) : queue.waiting.performAllNow())
      return { due: n, said: `${plural(n, 'id')} of ${queue.queue} ${n === 1 ? 'is' : 'are'} due now` }
    },
  })
  act(ordered, 'cancel', 'removes what waits of these ids, and tells what runs to end', {
    ids: true,
    run: async (queue, ids) => {
      const answers = await queue.cancel(ids ?? [])
      return { answers, said: answers.map((answer, i) => `${ids?.[i]}: ${answer}`).join('\n') }
    },
  })
  act(ordered, 'pause', 'takes nothing more until resumed; pushes go on', {
    run: async (queue) => {
      await queue.pause()
      return { paused: true, said: `${queue.queue} is paused` }
    },
  })
  act(ordered, 'resume', 'goes on', {
    run: async (queue) => {
      await queue.resume()
      return { paused: false, said: `${queue.queue} goes on` }
    },
  })
  withAppOptions(ordered.command('reshard').description('changes the number of shards while all goes on'))
    .argument('<name>', 'of the ordered queue')
    .argument('<shards>', 'how many', wholeNumber)
    .option('--json', 'as JSON')
    .addHelpText('after', '\nExamples:\n  highkiq ordered reshard SyncUser 10\n')
    .action((name: string, shards: number, options: ActOptions) =>
      withExistingStore(options, async (hq) => {
        await (await hq.ordered(name).known()).reshard(shards)
        if (options.json) printJson({ name, shards })
        else print(`${name} has ${plural(shards, 'shard')}; say so in its definition, too`)
      }),
    )
}

interface Act {
  ids?: boolean
  /** What --all means. */
  all?: string
  /** Before it is done to all, without its mark. */
  asks?: (queue: OrderedQueue, options: ActOptions) => Promise<string>
  /** `ids` undefined: all. */
  run: (queue: OrderedQueue, ids: string[] | undefined, options: ActOptions) => Promise<{ said: string }>
  /** It is a failure when there was none of these ids. */
  none?: (queue: OrderedQueue, ids: readonly string[]) => string
}

function act(ordered: Command, name: string, description: string, { ids, all, asks, run, none }: Act): Command {
  const command = withAppOptions(ordered.command(name).description(description)).argument(
    '<name>',
    'of the ordered queue',
  )
  if (ids) command.argument(all ? '[ids...]' : '<ids...>', 'what it is about')
  if (all) command.option('--all', all)
  if (asks) command.option('--yes', 'do not ask')
  return command
    .option('--json', 'as JSON')
    .addHelpText('after', `\nExamples:\n  highkiq ordered ${name} SyncUser${ids ? ' 17' : ''}\n`)
    .action((queueName: string, ...rest: unknown[]) => {
      const list = ids ? (rest[0] as string[]) : []
      const options = (ids ? rest[1] : rest[0]) as ActOptions
      if (all && (list.length === 0) === !options.all) {
        throw new CliError(`name the ids, or say --all (${all})`, 2)
      }
      return withExistingStore(options, async (hq) => {
        const queue = await hq.ordered(queueName).known()
        if (options.all && asks) await confirm(await asks(queue, options), options.yes)
        const { said, ...result } = await run(queue, options.all ? undefined : list, options)
        const isNone = none !== undefined && !options.all && Object.values(result).every((n) => n === 0)
        if (options.json) printJson(result)
        else if (!isNone) print(said)
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
  { title: 'OWNER', of: ({ owner }) => owner ?? 'nobody' },
]

function listed(queues: Named[]): string {
  return queues.length > 0 ? table(COLUMNS, queues) : 'no ordered queues: they begin with a push, or a worker of theirs'
}

function shown({ name, shards, ...stats }: Named): string {
  const rows: [string, string][] = [
    ['queue', `${name}${stats.paused ? ' (paused)' : ''}`],
    ['waiting', `${count(stats.length)}, of which ${count(stats.retries)} failed before`],
    ['busy', count(stats.busy)],
    ['morgue', count(stats.morgueLength)],
    ['lag', duration(stats.lag)],
    ['processed', count(stats.processed)],
    ['failed', count(stats.failed)],
  ]
  return `${pairs(rows)}\n\n${table(SHARDS, shards)}`
}
