/** Commands that show a set of jobs – retries, scheduled, dead – and act on them: one by one, or on all of them. */

import { type Command, Option } from 'commander'
import type { BulkResult, Highkiq, JobSet, SetEntry, SweepOptions } from '../index.ts'
import { stringifyJson } from '../job/json.ts'
import { confirm } from './confirm.ts'
import { count, plural } from './figures.ts'
import { onInterrupt } from './interrupt.ts'
import { type LookOptions, look, withLookOptions } from './look.ts'
import { withExistingStore } from './open-app.ts'
import { type Column, print, printJson, table } from './output.ts'
import { CliError, wholeNumber } from './usage.ts'

const CHARACTERS = 60

export const cut = (text: string) => (text.length > CHARACTERS ? `${text.slice(0, CHARACTERS - 1)}…` : text)

/** Columns that all sets have. */
export const JID: Column<SetEntry> = { title: 'JID', of: ({ jid }) => jid }
export const JOB: Column<SetEntry>[] = [
  { title: 'QUEUE', of: ({ queue }) => queue },
  { title: 'JOB', of: ({ displayClass }) => displayClass },
  { title: 'ARGUMENTS', of: ({ displayArgs }) => cut(displayArgs.map((one) => stringifyJson(one)).join(', ')) },
]
export const ERROR: Column<SetEntry> = {
  title: 'ERROR',
  of: ({ errorClass, errorMessage }) => cut([errorClass, errorMessage].filter((one) => one !== null).join(': ')),
}

export interface Act {
  /** `send 5 retry jobs to their queues` */
  ask: (jobs: string) => string
  /** What was done to them, `sent to their queues`. */
  done: string
  one: (entry: SetEntry) => Promise<boolean>
  all: (set: JobSet, options: SweepOptions) => Promise<BulkResult>
}

export interface SetCommand {
  description: string
  /** What one of them is called. */
  noun: string
  set: (hq: Highkiq) => JobSet
  columns: readonly Column<SetEntry>[]
  /** The highest score comes first. */
  desc: boolean
  /** By the name of their subcommands. */
  acts: Record<string, Act>
}

export const RETRY: Act = {
  ask: (jobs) => `send ${jobs} to their queues`,
  done: 'sent to their queues',
  one: (entry) => entry.retry(),
  all: (set, options) => set.retryAll(options),
}
export const ENQUEUE: Act = {
  ask: (jobs) => `send ${jobs} to their queues`,
  done: 'sent to their queues',
  one: (entry) => entry.addToQueue(),
  all: (set, options) => set.addAllToQueue(options),
}
export const KILL: Act = {
  ask: (jobs) => `put ${jobs} into the dead set`,
  done: 'put into the dead set',
  one: (entry) => entry.kill(),
  all: (set, options) => set.killAll(options),
}
export const DELETE: Act = {
  ask: (jobs) => `delete ${jobs}`,
  done: 'deleted',
  one: (entry) => entry.delete(),
  all: (set, options) => set.deleteAll(options),
}

interface ListOptions extends LookOptions {
  limit: number
  matching?: string
}

interface ActOptions extends LookOptions {
  all?: boolean
  matching?: string
  yes?: boolean
}

const MATCHING = 'only those whose text contains this, or matches it (* ? [a-z])'

export function registerSet(program: Command, name: string, about: SetCommand): void {
  const command = withLookOptions(program.command(name))
    .description(about.description)
    .addOption(new Option('--limit <n>', 'how many').argParser(wholeNumber).default(25))
    .option('--matching <pattern>', MATCHING)
    .addHelpText('after', `\nExamples:\n  highkiq ${name}\n${examples(name, about)}`)
    .allowExcessArguments()
    .action((options: ListOptions, { args: [verb] }: Command) => {
      if (verb !== undefined) {
        throw new CliError(`no "highkiq ${name} ${verb}": there are ${Object.keys(about.acts).join(', ')}`, 2)
      }
      return look(options, { get: (hq) => list(about, hq, options), text: (entries) => textOf(about, entries) })
    })
  for (const [verb, act] of Object.entries(about.acts)) {
    command
      .command(`${verb} [jids...]`)
      .description(act.ask('these jobs'))
      .option('--all', 'all of them')
      .option('--matching <pattern>', MATCHING)
      .option('--yes', 'do not ask')
      .action((jids: string[], _: object, self: Command) => {
        const options = self.optsWithGlobals() as ActOptions
        return withExistingStore(options, (hq) => perform(about, act, about.set(hq), jids, options))
      })
  }
}

async function list(about: SetCommand, hq: Highkiq, { limit, matching }: ListOptions): Promise<SetEntry[]> {
  const set = about.set(hq)
  if (matching === undefined) return (await set.page({ limit, desc: about.desc })).items
  const found: SetEntry[] = []
  let after: string | null = null
  do {
    const page: Awaited<ReturnType<JobSet['scan']>> = await set.scan(matching, { after, limit: limit - found.length })
    found.push(...page.items)
    after = page.next
  } while (after !== null && found.length < limit)
  return found.slice(0, limit).sort((a, b) => (about.desc ? b.score - a.score : a.score - b.score))
}

function textOf(about: SetCommand, entries: readonly SetEntry[]): string {
  return entries.length > 0 ? table(about.columns, entries) : `no ${about.noun} jobs`
}

async function perform(
  about: SetCommand,
  act: Act,
  set: JobSet,
  jids: readonly string[],
  { all, matching, yes, json }: ActOptions,
): Promise<void> {
  const isBulk = all === true || matching !== undefined
  if (isBulk === jids.length > 0) throw new CliError('name the jids of jobs, or say --all or --matching PATTERN', 2)
  const result = isBulk ? await performAll(about, act, set, matching, yes) : await performEach(act, set, jids)
  if (json) printJson({ done: result.done, refused: result.refused })
  else print(`${plural(result.done, `${about.noun} job`)} ${act.done}`)
  if (result.refused === 0) return
  const why = result.error instanceof Error ? `: ${result.error.message}` : ''
  throw new CliError(`${count(result.refused)} could not be moved${why}`)
}

async function performAll(
  about: SetCommand,
  act: Act,
  set: JobSet,
  matching: string | undefined,
  yes: boolean | undefined,
): Promise<BulkResult> {
  const which = matching === undefined ? `all ${count(await set.size())}` : 'all matching'
  await confirm(act.ask(`${which} ${about.noun} jobs`), yes)
  const { signal, release } = onInterrupt()
  try {
    return await act.all(set, { signal, ...(matching === undefined ? {} : { matching }) })
  } finally {
    release()
  }
}

async function performEach(act: Act, set: JobSet, jids: readonly string[]): Promise<BulkResult> {
  const result: BulkResult = { done: 0, refused: 0 }
  for (const jid of jids) {
    const entry = await set.find(jid)
    if (entry && (await act.one(entry))) {
      result.done++
    } else {
      result.refused++
      result.error ??= new Error(`no job ${jid} is there`)
    }
  }
  return result
}

function examples(name: string, { acts }: SetCommand): string {
  const lines = Object.keys(acts).map((verb) => `  highkiq ${name} ${verb} 4f2c81d3a09b5e7762f1c0aa\n`)
  const [first] = Object.keys(acts)
  return `${lines.join('')}  highkiq ${name} ${first} --matching '"ImportProduct"'\n  highkiq ${name} ${first} --all --yes\n`
}
