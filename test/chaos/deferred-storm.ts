import { setTimeout as sleep } from 'node:timers/promises'
import { Highkiq, type Task, type TaskEvent } from 'highkiq'
import { OverdueRows } from '#dist/tasks/deferred.js'
import { chance } from '../conformance/chance.js'
import { isBusy, quiet } from './seed-workers.js'
import { awaitedLater, type StormOutcome, untilIdle } from './seeds.ts'
import type { SeedCrew } from './shared-crew.ts'

const TASKS = 2
const ROWS = 20
/** Some rows end by their deadline, those that nobody answers always do. */
const WITHIN = [0.3, '2h'] as const

type Answer = Awaited<ReturnType<Highkiq['tasks']['finish']>> & { by: 'finish' | 'fail' }

/** Processes defer rows while they are killed. Another process answers each row several times, unless its deadline ends it. */
export async function deferredStorm(url: string, seed: number, crew: SeedCrew): Promise<StormOutcome> {
  const random = chance(seed)
  const hq = new Highkiq({ url, logger: quiet })
  const answers = new Map<string, Answer[]>()
  const answering: Promise<void>[] = []
  const unanswered = new Set<string>()
  const answer = async (jid: string, by: Answer['by']) => {
    await sleep(random() * 100)
    const row = await (by === 'finish' ? hq.tasks.finish(jid, { by }) : hq.tasks.fail(jid, 'declined', 'declined'))
    answers.get(jid)?.push({ ...row, by })
  }
  /** By task, the jobs that were pushed as its callback. */
  const callbacks = new Map<string, Set<string>>()
  crew.onOutput = (line) => {
    const [what, id = '', callback = ''] = line.split(' ')
    if (what === 'done') callbacks.set(id, (callbacks.get(id) ?? new Set()).add(callback))
    else deferred(id)
  }
  const deferred = (jid: string) => {
    if (unanswered.has(jid)) return
    if (!answers.has(jid)) answers.set(jid, [])
    const calls = random() < 0.5 ? (['finish', 'fail'] as const) : (['fail', 'finish', 'finish'] as const)
    answering.push(...calls.map((by) => awaitedLater(answer(jid, by))))
  }
  const errors: string[] = []
  const overdue = new OverdueRows({
    store: hq.store,
    now: Date.now,
    report: (thrown) => {
      if (!isBusy(thrown)) errors.push(String(thrown))
    },
  })
  let isOver = false
  // A worker does the same. After a kill the next one begins when the leader lock has ended, which takes a minute.
  const endOverdue = async () => {
    while (!isOver) {
      await overdue.endSome()
      await sleep(20)
    }
  }
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
    await crew.start(url)
    const ending = awaitedLater(endOverdue())
    await crew.killSome(url)
    await Promise.all(tasks.map((task) => task.wait()))
    await untilIdle(hq)
    await crew.killAll()
    await Promise.all(answering)
    isOver = true
    await ending
    const outcome = await outcomeOf(hq, tasks, answers, callbacks)
    outcome.wrong.push(...errors)
    return outcome
  } finally {
    isOver = true
    await hq.close()
  }
}

async function outcomeOf(
  hq: Highkiq,
  tasks: readonly Task[],
  answers: ReadonlyMap<string, Answer[]>,
  callbacks: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<StormOutcome> {
  const wrong: string[] = []
  // Rows that an answer ended, rows that their deadline ended, and answers that came too late.
  const happened = { answered: 0, overdue: 0, late: 0 }
  for (const task of tasks) {
    const counts = { enqueued: 0, working: 0, finished: 0, failed: 0, error: 0, cancelled: 0 }
    for await (const event of task.events()) {
      counts[event.status]++
      const all = answers.get(event.jid) ?? []
      const first = all.filter(({ changed }) => changed)
      if (first.length > 1) wrong.push(`row ${event.index} was ended by ${first.length} answers`)
      const fault = faultOf(event, first[0], all)
      if (fault) wrong.push(`row ${event.index} ${fault}: ${JSON.stringify({ event, all })}`)
      if (first.length > 0) happened.answered++
      else happened.overdue++
      happened.late += all.length - first.length
    }
    const status = await task.status()
    if (JSON.stringify(status?.counts) !== JSON.stringify(counts))
      wrong.push(`counts ${JSON.stringify(status?.counts)}`)
    if (status?.deferred !== 0) wrong.push(`${status?.deferred} rows are deferred`)
    // A killed process may run a job twice: its jid is the same.
    const pushed = callbacks.get(task.id)?.size ?? 0
    if (pushed !== 1) wrong.push(`${pushed} callbacks were pushed`)
  }
  const left = await hq.store.tasks.overdue(Number.MAX_SAFE_INTEGER, 100)
  if (left.length > 0) wrong.push(`${left.length} deadlines are left`)
  return { wrong, happened }
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
