/** Lists on a terminal, as tables that fit into it. */

import { Highkiq } from 'highkiq'
import { expect } from 'vitest'
import { test } from './command.ts'
import { runHere } from './in-process.ts'

const LONG = 'x'.repeat(200)

async function scheduled(url: string, ...args: unknown[]): Promise<string> {
  const hq = new Highkiq({ url })
  const jid = await hq.push({ class: 'Import', args, at: Date.now() / 1000 + 3600 })
  await hq.close()
  return String(jid)
}

const list = (url: string, columns?: number, ...more: string[]) =>
  runHere(['scheduled', '--url', url, ...more], {}, columns === undefined ? undefined : { columns })

test('a table is cut to the terminal at its long columns, and keeps the jid', async ({ folder }) => {
  const url = `sqlite:${folder.at('jobs.db')}`
  const jid = await scheduled(url, LONG, '漢字'.repeat(50))
  const { stdout } = await list(url, 100)
  const [title, line] = stdout.split('\n') as [string, string]
  expect(line).toMatch(new RegExp(`^${jid} .* Import +"x+…$`))
  expect(line).toHaveLength(100)
  expect(title).toMatch(/^JID .*ARGUMENTS$/)
  const wide = await list(url, 100, '--wide')
  expect(wide.stdout).toContain(LONG)
  expect((await list(url)).stdout).toBe(wide.stdout)
})

test('on 80 columns the error of a retry is shown before its arguments, behind a short time', async ({ folder }) => {
  const url = `sqlite:${folder.at('jobs.db')}`
  const hq = new Highkiq({ url })
  const error = { error_class: 'TypeError', error_message: 'no price for this product', retry_count: 0, failed_at: 1 }
  const jid = await hq.retries.schedule(Date.now() / 1000 + 60, { class: 'Import', args: [LONG], ...error })
  await hq.close()
  const { stdout } = await runHere(['retries', '--url', url], {}, { columns: 80 })
  const [title, line = ''] = stdout.split('\n')
  expect(title).toMatch(/^JID +NEXT RETRY +FAILURES +QUEUE +JOB +ERROR/)
  expect(line).toMatch(new RegExp(`^${jid} +\\d\\d-\\d\\d \\d\\d:\\d\\d +1 +default +Import +TypeError: no…$`))
  expect(line).toHaveLength(80)
})

test('characters that take two columns count twice', async ({ folder }) => {
  const url = `sqlite:${folder.at('jobs.db')}`
  await scheduled(url, '漢字'.repeat(50))
  const [, line = ''] = (await list(url, 90)).stdout.split('\n')
  const wide = line.match(/[漢字]/g)?.length ?? 0
  expect(line.endsWith('…')).toBe(true)
  expect(line.length + wide).toBeGreaterThanOrEqual(89)
  expect(line.length + wide).toBeLessThanOrEqual(90)
})

test('lines end at the edge of a terminal that is too narrow for the other columns', async ({ folder }) => {
  const url = `sqlite:${folder.at('jobs.db')}`
  const jid = await scheduled(url, LONG)
  const lines = (await list(url, 40)).stdout.trimEnd().split('\n')
  expect(lines.map((line) => line.length)).toEqual([40, 40])
  expect(lines[1]).toMatch(new RegExp(`^${jid} .*…$`))
})

test('highkiq tasks is another word for highkiq task list', async ({ folder }) => {
  const url = `sqlite:${folder.at('jobs.db')}`
  const hq = new Highkiq({ url })
  const { id } = await hq.tasks.create(
    hq.job('Row', (_ctx, _n: number) => {}),
    [[1]],
    { name: 'Rows' },
  )
  await hq.close()
  const { stdout } = await runHere(['tasks', '--url', url])
  expect(stdout).toMatch(new RegExp(`^ID +NAME .*\n${id} +Rows +Row +running`))
  expect((await runHere(['task', 'list', '--url', url])).stdout).toBe(stdout)
})

test('tasks, and the ids of an ordered queue, can be watched', async ({ folder }) => {
  const hq = new Highkiq({ url: `sqlite:${folder.at('highkiq.db')}` })
  const queue = hq.ordered('Sync', () => {})
  await queue.performAsync({ id: 'a', payload: 1 })
  await hq.close()
  for (const [args, text] of [
    [['tasks'], '[]'],
    [['ordered', 'waiting', 'Sync'], '"id":"a"'],
  ] as const) {
    const watching = folder.start([...args, '--watch', '--json'])
    while (watching.stdout.split(text).length < 3) await new Promise((resume) => setTimeout(resume, 20))
    watching.kill('SIGINT')
    await watching.ended
  }
})
