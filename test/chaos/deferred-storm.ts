import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Highkiq, type Task, type TaskEvent } from 'highkiq'
import { OverdueRows } from '#dist/tasks/deferred.js'
import { chance } from '../conformance/chance.js'
import type { SeedCrew } from './shared-crew.ts'

const SILENT = { debug() {}, info() {}, warn() {}, error() {} }
const PROCESSES = 2
const KILLS = 2
const TASKS = 2
const ROWS = 20
/** Some rows end by their deadline, those that nobody answers always do. */
const WITHIN = [0.3, '2h'] as const

type Answer = Awaited<ReturnType<Highkiq['tasks']['finish']>> & { by: 'finish' | 'fail' }

export interface DeferredOutcome {
  /** What was wrong when all tasks were done. */
  wrong: string[]
  /** Rows that an answer ended, rows that their deadline ended, and answers that came too late. */
  answered: number
  overdue: number
  late: number
}

/** Processes defer rows while they are killed. Another process answers each row several times, unless its deadline ends it. */
export async function deferredStorm(url: string, seed: number, crew: SeedCrew): Promise<DeferredOutcome> {
  const random = chance(seed)
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-deferred-'))
  const file = join(folder, 'done')
  writeFileSync(file, '')
  const hq = new Highkiq({ url, logger: SILENT })
  const answers = new Map<string, Answer[]>()
  const answering: Promise<void>[] = []
  const unanswered = new Set<string>()
  const answer = async (jid: string, by: Answer['by']) => {
    await sleep(random() * 100)
    const row = await (by === 'finish' ? hq.tasks.finish(jid, { by }) : hq.tasks.fail(jid, 'declined', 'declined'))
    answers.get(jid)?.push({ ...row, by })
  }
  const heard = (jid: string) => {
    if (unanswered.has(jid)) return
    if (!answers.has(jid)) answers.set(jid, [])
    const calls = random() < 0.5 ? (['finish', 'fail'] as const) : (['fail', 'finish', 'finish'] as const)
    answering.push(...calls.map((by) => answer(jid, by)))
  }
  const errors: string[] = []
  const overdue = new OverdueRows({
    store: hq.store,
    now: Date.now,
    report: (thrown) => void errors.push(String(thrown)),
  })
  let isOver = false
  // A worker does the same. After a kill the next one begins when the leader lock has ended, which takes a minute.
  const endOverdue = async () => {
    while (!isOver) {
      await overdue.endSome()
      await sleep(20)
    }
  }
  crew.heard = heard
  try {
    const Pay = hq.job('Pay', (_ctx, _within: number | string) => {})
    const onDone = hq.job('Done', (_ctx, _task: string, _run: number) => {})
    const tasks: Task[] = []
    for (let n = 0; n < TASKS; n++) {
      const rows = Array.from({ length: ROWS }, (_, i): [number | string] => [WITHIN[i % 2] as number | string])
      const task = await hq.tasks.create(Pay, rows, { onDone, window: 8 })
      // Every fourth row has a short deadline, and nobody answers it.
      for await (const { jid, index } of task.events()) if (index % 4 === 0) unanswered.add(jid)
      tasks.push(task)
    }
    for (let n = 0; n < PROCESSES; n++) await crew.start(url, file)
    const ending = endOverdue()
    for (let n = 0; n < KILLS; n++) {
      await sleep(random() * 400)
      await crew.kill()
      await crew.start(url, file)
    }
    await Promise.all(tasks.map((task) => task.wait()))
    await Promise.all(answering)
    const isIdle = async () => {
      const { enqueued, fetched, retries, scheduled } = await hq.store.metrics.totals()
      return enqueued + fetched + retries + scheduled === 0
    }
    while (!(await isIdle())) await sleep(20)
    isOver = true
    await ending
    const outcome = await outcomeOf(hq, tasks, answers, readFileSync(file, 'utf8'))
    outcome.wrong.push(...errors)
    return outcome
  } finally {
    isOver = true
    await hq.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function outcomeOf(
  hq: Highkiq,
  tasks: readonly Task[],
  answers: ReadonlyMap<string, Answer[]>,
  done: string,
): Promise<DeferredOutcome> {
  const outcome: DeferredOutcome = { wrong: [], answered: 0, overdue: 0, late: 0 }
  const { wrong } = outcome
  for (const task of tasks) {
    const counts = { enqueued: 0, working: 0, finished: 0, failed: 0, error: 0, cancelled: 0 }
    for await (const event of task.events()) {
      counts[event.status]++
      const all = answers.get(event.jid) ?? []
      const first = all.filter(({ changed }) => changed)
      if (first.length > 1) wrong.push(`row ${event.index} was ended by ${first.length} answers`)
      const fault = faultOf(event, first[0], all)
      if (fault) wrong.push(`row ${event.index} ${fault}: ${JSON.stringify({ event, all })}`)
      if (first.length > 0) outcome.answered++
      else outcome.overdue++
      outcome.late += all.length - first.length
    }
    const status = await task.status()
    if (JSON.stringify(status?.counts) !== JSON.stringify(counts))
      wrong.push(`counts ${JSON.stringify(status?.counts)}`)
    if (status?.deferred !== 0) wrong.push(`${status?.deferred} rows are deferred`)
    // A killed process may run a job twice: its jid is the same.
    const callbacks = new Set(done.split('\n').filter((line) => line.startsWith(task.id)))
    if (callbacks.size !== 1) wrong.push(`${callbacks.size} callbacks were pushed`)
  }
  const left = await hq.store.tasks.overdue(Number.MAX_SAFE_INTEGER, 100)
  if (left.length > 0) wrong.push(`${left.length} deadlines are left`)
  return outcome
}

/** Returns what is wrong with a row; undefined if it ended as its first answer says, or without one by its deadline. */
function faultOf(event: TaskEvent, first: Answer | undefined, all: readonly Answer[]): string | undefined {
  const { status, code, result } = event
  if (all.some((answer) => answer.status !== status || answer.code !== code))
    return 'answered differently than it ended'
  if (!first) return status === 'error' && code === 'deferred-timeout' ? undefined : 'ended without an answer'
  if (status !== (first.by === 'finish' ? 'finished' : 'failed')) return 'did not end as answered'
  return first.by === 'fail' || JSON.stringify(result) === '{"by":"finish"}' ? undefined : 'has another result'
}
