/** `highkiq retries | scheduled | dead | finished` list the jobs of a set, and retry, kill or delete some or all of them. */

import { type Command, InvalidArgumentError, Option } from 'commander'
import type { BulkResult, Highkiq, JobSet, SetEntry, SweepOptions } from '../../index.ts'
import { stringifyJson } from '../../job/json.ts'
import { failuresOf } from '../job-text.ts'
import { OPTIONS_OF_PARENT, refuseOptionsOfParent, withExistingStore } from '../open-app.ts'
import { type Column, count, plural, printResult, shortTime, table, time } from '../output.ts'
import { type FirstItems, type ShowOptions, showFirst, withShowOptions } from '../show.ts'
import { confirm, onInterrupt } from '../terminal.ts'
import { CliError, wholeNumber } from '../usage.ts'

/** Columns of every job set. */
const JID: Column<SetEntry> = { title: 'JID', of: ({ jid }) => jid }
const JOB: Column<SetEntry>[] = [
  { title: 'QUEUE', of: ({ queue, priority }) => (priority > 0 ? `${queue} (${priority})` : queue) },
  { title: 'JOB', of: ({ displayClass }) => displayClass },
]
const ARGUMENTS: Column<SetEntry> = {
  title: 'ARGUMENTS',
  of: ({ displayArgs }) => displayArgs.map((one) => stringifyJson(one)).join(', '),
  flexible: true,
  optional: true,
}
/** Returns a column with the time of an entry. */
const TIME = (title: string): Column<SetEntry> => ({
  title,
  of: ({ at }) => time(at),
  short: ({ at }) => shortTime(at),
})
const ERROR: Column<SetEntry> = {
  title: 'ERROR',
  of: ({ errorClass, errorMessage }) => [errorClass, errorMessage].filter((one) => one !== null).join(': '),
  flexible: true,
}

interface SetAction {
  /** Question to confirm, given `5 retry jobs`: `move 5 retry jobs to their queues`. */
  ask: (jobs: string) => string
  /** Result to print, such as `moved to their queues`. */
  done: string
  one: (entry: SetEntry) => Promise<boolean>
  all: (set: JobSet, options: SweepOptions) => Promise<BulkResult>
}

interface SetCommand {
  description: string
  /** Adjective for a job of this set, as in `5 retry jobs`. */
  noun: string
  set: (hq: Highkiq) => JobSet
  columns: readonly Column<SetEntry>[]
  /** Whether the highest score comes first. */
  desc: boolean
  /** Actions by the name of their subcommand. */
  actions: Record<string, SetAction>
}

export const MOVE = { ask: (jobs: string) => `move ${jobs} to their queues`, done: 'moved to their queues' }
const RETRY: SetAction = { ...MOVE, one: (entry) => entry.retry(), all: (set, options) => set.retryAll(options) }
const ENQUEUE: SetAction = {
  ...MOVE,
  one: (entry) => entry.addToQueue(),
  all: (set, options) => set.addAllToQueue(options),
}
const KILL: SetAction = {
  ask: (jobs) => `move ${jobs} to the dead set`,
  done: 'moved to the dead set',
  one: (entry) => entry.kill(),
  all: (set, options) => set.killAll(options),
}
const DELETE: SetAction = {
  ask: (jobs) => `delete ${jobs}`,
  done: 'deleted',
  one: (entry) => entry.delete(),
  all: (set, options) => set.deleteAll(options),
}

interface ListOptions extends ShowOptions {
  limit: number
  matching?: string
}

interface ActionOptions extends ShowOptions {
  all?: boolean
  matching?: string
  yes?: boolean
}

const MATCHING = 'only jobs whose JSON contains this text, or matches this pattern (with *; then also ? and [a-z])'

/** Refuses an empty pattern, which would match all jobs: it comes from a variable that is not set. */
function pattern(text: string): string {
  if (text !== '') return text
  throw new InvalidArgumentError('It must not be empty, because that means all jobs.')
}

function registerSet(program: Command, name: string, about: SetCommand): void {
  const command = withShowOptions(program.command(name))
    .description(about.description)
    .addOption(new Option('--limit <n>', 'show at most n').argParser(wholeNumber).default(25))
    .option('--matching <pattern>', MATCHING, pattern)
    .addHelpText('after', `\nExamples:\n  highkiq ${name}\n${examples(name, about)}`)
    .allowExcessArguments()
    .action((options: ListOptions, { args: [verb] }: Command) => {
      if (verb !== undefined) {
        const commands = Object.keys(about.actions).join(', ')
        throw new CliError(`there is no command "highkiq ${name} ${verb}" (commands: ${commands})`, 2)
      }
      return showFirst(options, {
        get: (hq) => list(about, hq, options),
        text: (entries) => table(about.columns, entries, `no ${about.noun} jobs`),
      })
    })
  for (const [verb, action] of Object.entries(about.actions)) {
    command
      .command(`${verb} [jids...]`)
      .description(action.ask('these jobs'))
      .option('--all', 'all jobs of the set')
      .option('--matching <pattern>', MATCHING, pattern)
      .option('--yes', 'do not ask for confirmation')
      .addHelpText('after', OPTIONS_OF_PARENT)
      .action((jids: string[], _: object, self: Command) => {
        refuseOptionsOfParent(self, 'limit', 'watch')
        const options = self.optsWithGlobals() as ActionOptions
        return withExistingStore(options, (hq) => perform(about, action, about.set(hq), jids, options))
      })
  }
}

async function list(about: SetCommand, hq: Highkiq, { limit, matching }: ListOptions): Promise<FirstItems<SetEntry>> {
  const set = about.set(hq)
  if (matching === undefined) {
    const { items, next } = await set.page({ limit, desc: about.desc })
    return { items, more: next !== null }
  }
  const found: SetEntry[] = []
  let after: string | null = null
  do {
    const page: Awaited<ReturnType<JobSet['scan']>> = await set.scan(matching, { after, limit: limit - found.length })
    found.push(...page.items)
    after = page.next
  } while (after !== null && found.length < limit)
  const items = found.slice(0, limit).sort((a, b) => (about.desc ? b.score - a.score : a.score - b.score))
  return { items, more: after !== null || found.length > limit }
}

async function perform(
  about: SetCommand,
  action: SetAction,
  set: JobSet,
  jids: readonly string[],
  { all, matching, yes, json }: ActionOptions,
): Promise<void> {
  const isBulk = all === true || matching !== undefined
  if (isBulk === jids.length > 0) throw new CliError('give jids, --all or --matching PATTERN', 2)
  const result = isBulk ? await performAll(about, action, set, matching, yes) : await performEach(action, set, jids)
  const { done, refused } = result
  printResult(json, { done, refused }, `${plural(done, `${about.noun} job`)} ${action.done}`)
  if (refused === 0) return
  const why = result.error instanceof Error ? `: ${result.error.message}` : ''
  throw new CliError(`${count(refused)} could not be ${action.done}${why}`)
}

async function performAll(
  about: SetCommand,
  action: SetAction,
  set: JobSet,
  matching: string | undefined,
  yes: boolean | undefined,
): Promise<BulkResult> {
  const which = matching === undefined ? `all ${count(await set.size())}` : 'all matching'
  await confirm(action.ask(`${which} ${about.noun} jobs`), yes)
  const { signal, release } = onInterrupt()
  try {
    return await action.all(set, { signal, ...(matching === undefined ? {} : { matching }) })
  } finally {
    release()
  }
}

async function performEach(action: SetAction, set: JobSet, jids: readonly string[]): Promise<BulkResult> {
  const result: BulkResult = { done: 0, refused: 0 }
  for (const jid of jids) {
    const entry = await set.find(jid)
    if (entry && (await action.one(entry))) {
      result.done++
    } else {
      result.refused++
      result.error ??= new Error(`there is no job ${jid} in this set`)
    }
  }
  return result
}

function examples(name: string, { actions }: SetCommand): string {
  const lines = Object.keys(actions).map((verb) => `  highkiq ${name} ${verb} 4f2c81d3a09b5e7762f1c0aa\n`)
  const [first] = Object.keys(actions)
  return `${lines.join('')}  highkiq ${name} ${first} --matching '"ImportProduct"'\n  highkiq ${name} ${first} --all --yes\n`
}

const SETS: Record<string, SetCommand> = {
  retries: {
    description: 'jobs that failed and wait for a retry, next due first',
    noun: 'retry',
    set: (hq) => hq.retries,
    columns: [JID, TIME('NEXT RETRY'), { title: 'FAILURES', of: failuresOf, right: true }, ...JOB, ERROR, ARGUMENTS],
    desc: false,
    actions: { retry: RETRY, kill: KILL, delete: DELETE },
  },
  scheduled: {
    description: 'jobs that run later, next due first',
    noun: 'scheduled',
    set: (hq) => hq.scheduled,
    columns: [JID, TIME('WHEN'), ...JOB, ARGUMENTS],
    desc: false,
    actions: { enqueue: ENQUEUE, kill: KILL, delete: DELETE },
  },
  dead: {
    description: 'jobs that used up their retries, newest first',
    noun: 'dead',
    set: (hq) => hq.dead,
    columns: [JID, TIME('DIED'), ...JOB, ERROR, ARGUMENTS],
    desc: true,
    actions: { retry: RETRY, delete: DELETE },
  },
  finished: {
    description: 'jobs that are done and have keepFinished, newest first',
    noun: 'finished',
    set: (hq) => hq.finished,
    columns: [
      JID,
      TIME('FINISHED'),
      ...JOB,
      { title: 'RESULT', of: ({ result }) => (result === undefined ? '' : stringifyJson(result)), flexible: true },
      ARGUMENTS,
    ],
    desc: true,
    actions: { enqueue: ENQUEUE, delete: DELETE },
  },
}

export function register(program: Command): void {
  for (const [name, about] of Object.entries(SETS)) registerSet(program, name, about)
}
