/** `highkiq jobs` searches the jobs of all states, counts them, and acts on all that match. */

import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Highkiq, JobAction, JobHit, JobsFilter, SearchedState, StateCount } from '../../index.ts'
import { checkAction, SEARCHED_STATES } from '../../inspect/all-jobs.ts'
import { errorOf } from '../../inspect/filter.ts'
import { seconds } from '../../job/duration.ts'
import { messageOf } from '../../job/errors.ts'
import { stringifyJson } from '../../job/json.ts'
import { given } from '../../job/options.ts'
import { OPTIONS_OF_PARENT, refuseOptionsOfParent, withExistingStore } from '../open-app.ts'
import { type Column, count, plural, printResult, shortTime, table, time } from '../output.ts'
import { type FirstItems, type ShowOptions, show, showFirst, withShowOptions } from '../show.ts'
import { confirm, onInterrupt } from '../terminal.ts'
import { CliError, collect, someOf, wholeNumber } from '../usage.ts'
import { date } from './enqueue.ts'
import { MOVE } from './job-sets.ts'

interface FilterOptions
  extends Pick<JobsFilter, 'class' | 'queue' | 'tag' | 'error' | 'errorClass' | 'jid' | 'search'> {
  state?: SearchedState[]
  where?: string[]
  meta?: string[]
  from?: Date
  until?: Date
}

interface ListOptions extends ShowOptions, FilterOptions {
  limit: number
  count?: boolean
}

interface ActionOptions extends ShowOptions, FilterOptions {
  yes?: boolean
}

const COLUMNS: Column<JobHit>[] = [
  { title: 'STATE', of: ({ state }) => state },
  { title: 'JID', of: ({ job }) => job.jid },
  { title: 'TIME', of: ({ at }) => (at ? time(at) : ''), short: ({ at }) => (at ? shortTime(at) : '') },
  { title: 'QUEUE', of: ({ job }) => job.queue },
  { title: 'JOB', of: ({ job }) => job.displayClass },
  { title: 'ERROR', of: ({ job }) => errorOf(job), flexible: true },
  {
    title: 'ARGUMENTS',
    of: ({ job }) => job.displayArgs.map((one) => stringifyJson(one)).join(', '),
    flexible: true,
    optional: true,
  },
]
const COUNTS: Column<StateCount>[] = [
  { title: 'STATE', of: ({ state }) => state },
  { title: 'JOBS', of: ({ size }) => (size === null ? '' : count(size)), right: true },
  {
    title: 'MATCHING',
    of: ({ matching, complete }) => `${complete ? '' : 'at least '}${count(matching)}`,
    right: true,
  },
]

interface Verb {
  action: JobAction
  /** The question, given `5 jobs`. */
  ask: (jobs: string) => string
  /** The end of `5 jobs …`. */
  done: string
  /** The end of `5 could not be …`; default `done`. */
  refused?: string
}

/** The subcommands. */
const VERBS: Record<string, Verb> = {
  retry: { action: 'retry', ...MOVE },
  enqueue: { action: 'addToQueue', ...MOVE },
  kill: { action: 'kill', ask: (jobs) => `move ${jobs} to the dead set`, done: 'moved to the dead set' },
  delete: { action: 'delete', ask: (jobs) => `delete ${jobs}`, done: 'deleted' },
  cancel: { action: 'cancel', ask: (jobs) => `cancel ${jobs}`, done: 'asked to stop', refused: 'cancelled' },
}

const EXAMPLES = `
Examples:
  highkiq jobs --state dead,retry --where 0.customer=4711
  highkiq jobs --class Mail --from 2h --count
  highkiq jobs retry --state dead --where '*.customer=4711'
  highkiq jobs cancel --state running --queue images --yes
  highkiq jobs retry --state retry --class Mail -r jobs.ts      (beside Sidekiq 7 or 6: -r names the app, whose wire applies)
`

export function register(program: Command): void {
  const jobs = withFilter(withShowOptions(program.command('jobs')))
    .description('search the jobs of all states, or act on all that match')
    .addOption(new Option('--limit <n>', 'show at most n').argParser(wholeNumber).default(25))
    .option('--count', 'count the jobs of each state instead')
    .addHelpText('after', EXAMPLES)
    .allowExcessArguments()
    .action((options: ListOptions, { args: [verb] }: Command) => {
      if (verb !== undefined) {
        const commands = Object.keys(VERBS).join(', ')
        throw new CliError(`there is no command "highkiq jobs ${verb}" (commands: ${commands})`, 2)
      }
      const filter = filterOf(options)
      if (options.count) {
        return show(options, { get: (hq) => hq.jobs.count(filter), text: (counts) => table(COUNTS, counts) })
      }
      return showFirst(options, {
        async get(hq) {
          const { items, more } = await found(hq, filter, options.limit)
          return { items: items.map((hit) => new Hit(hit)), more }
        },
        text: (hits) =>
          table(
            COLUMNS,
            hits.map(({ hit }) => hit),
            'no jobs match',
          ),
      })
    })
  for (const [verb, { action, ask, done, refused = done }] of Object.entries(VERBS)) {
    withFilter(jobs.command(verb).description(ask('all jobs that match')))
      .option('--yes', 'do not ask for confirmation')
      .addHelpText('after', OPTIONS_OF_PARENT)
      .action((_: object, self: Command) => {
        refuseOptionsOfParent(self, 'limit', 'count', 'watch')
        const { yes, json, ...options } = self.optsWithGlobals() as ActionOptions
        const filter = filterOf(options)
        checkAction(action, filter)
        return withExistingStore(options, async (hq) => {
          await confirm(ask(await counted(hq, filter)), yes)
          const { signal, release } = onInterrupt()
          try {
            const result = await hq.jobs.act(action, filter, { signal })
            printResult(json, { done: result.done, refused: result.refused }, `${plural(result.done, 'job')} ${done}`)
            if (result.refused > 0) {
              throw new CliError(`${count(result.refused)} could not be ${refused}: ${messageOf(result.error)}`)
            }
          } finally {
            release()
          }
        })
      })
  }
}

function withFilter(command: Command): Command {
  return command
    .option('--state <states>', `only these, with commas: ${SEARCHED_STATES.join(', ')}`, someOf(SEARCHED_STATES))
    .option('--class <name>', 'only jobs of this class')
    .option('-q, --queue <name>', 'only jobs of this queue')
    .option('--where <path=value>', 'only jobs with this value in their arguments; can be repeated', collect)
    .option('--tag <tag>', 'only jobs with this tag')
    .option(
      '--error <text>',
      'only jobs with this text in their error, or matching this pattern (with *; then also ? and [a-z])',
    )
    .option('--error-class <name>', 'only jobs with an error of this class')
    .option('--jid <jid>', 'only the job with this id')
    .option('--meta <name=value>', 'only rows of tasks with this value in their meta; can be repeated', collect)
    .option(
      '--search <text>',
      'only jobs whose JSON contains this text, or matches this pattern (with *; then also ? and [a-z])',
    )
    .option(
      '--from <time>',
      'only jobs due, enqueued, started or ended since then: ISO 8601, or how long ago (2h)',
      ago,
    )
    .option('--until <time>', 'only jobs due, enqueued, started or ended before then', ago)
}

function filterOf(options: FilterOptions): JobsFilter {
  const { state: states, where, meta, ...rest } = options
  const names = ['class', 'queue', 'tag', 'error', 'errorClass', 'jid', 'search', 'from', 'until'] as const
  return given({
    ...given(rest, names),
    states,
    args: where && membersOf('--where', where),
    meta: meta && membersOf('--meta', meta),
  }) as JobsFilter
}

/** Reads `name=value` pairs. @throws CliError */
function membersOf(flag: string, texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? []
      if (name !== undefined && value !== undefined) return [name.trim(), value]
      const example = flag === '--where' ? '0.customer=4711' : 'user=7'
      throw new CliError(`${flag} must be a name and a value, such as ${example} (got ${JSON.stringify(text)})`, 2)
    }),
  )
}

function ago(text: string): Date {
  try {
    return /^\d{4}-/.test(text) ? date(text) : new Date(Date.now() - seconds(text) * 1000)
  } catch {
    throw new InvalidArgumentError('It must be a time in ISO 8601, or how long ago, such as 2h.')
  }
}

async function found(hq: Highkiq, filter: JobsFilter, limit: number): Promise<FirstItems<JobHit>> {
  const hits: JobHit[] = []
  let after: string | null = null
  do {
    const page: Awaited<ReturnType<typeof hq.jobs.search>> = await hq.jobs.search(filter, {
      after,
      limit: limit - hits.length,
    })
    hits.push(...page.items)
    after = page.next
  } while (after !== null && hits.length < limit)
  return { items: hits, more: after !== null }
}

/** Names the number of the jobs that match: `12 jobs`, or `at least 12 jobs`. */
async function counted(hq: Highkiq, filter: JobsFilter): Promise<string> {
  const counts = await hq.jobs.count(filter)
  const all = plural(
    counts.reduce((sum, { matching }) => sum + matching, 0),
    'job',
  )
  return counts.every(({ complete }) => complete) ? all : `at least ${all}`
}

/** A found job as JSON shows it. */
class Hit {
  readonly hit: JobHit

  constructor(hit: JobHit) {
    this.hit = hit
  }

  toJSON(): Record<string, unknown> {
    const { state, job, at } = this.hit
    return { state, ...job.toJSON(), at }
  }
}
