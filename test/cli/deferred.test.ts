import { Highkiq } from 'highkiq'
import { expect } from 'vitest'
import { test } from './command.ts'
import { runHere } from './in-process.ts'

const JOBS = `
import { Highkiq } from 'highkiq'
export const hq = new Highkiq()
hq.job('Pay', { track: true }, async (ctx) => {
  await ctx.defer()
  console.error('deferred', ctx.jid)
})
`

test('task show prints meta in the form that task list --meta accepts', async ({ folder }) => {
  const url = `sqlite:${folder.at('highkiq.db')}`
  const hq = new Highkiq({ url })
  const task = await hq.tasks.create(
    hq.job('Row', (_ctx, _n: number) => {}),
    [[1]],
    { meta: { tenant: 'acme', files: [1, 2] } },
  )
  await hq.close()
  const { stdout } = await runHere(['task', 'show', task.id, '--url', url])
  expect(stdout).toMatch(/^meta +tenant=acme, files=\[1,2\]$/m)
  const found = await runHere(['task', 'list', '--meta', 'tenant=acme', '--json', '--url', url])
  expect(JSON.parse(found.stdout)).toMatchObject([{ id: task.id }])
})

test('a deferred row is finished and failed on the command line', { timeout: 180_000 }, async ({ folder }) => {
  folder.write({ 'jobs.mjs': JOBS })
  const worker = folder.start(['work', '-r', 'jobs.mjs', '--no-banner'])
  const jids: string[] = []
  for (let n = 0; n < 2; n++) {
    const { jid } = await folder.json<{ jid: string }>('enqueue', 'Pay', '-r', 'jobs.mjs')
    await worker.waitFor(new RegExp(`deferred ${jid}`))
    jids.push(jid)
  }
  const [first = '', second = ''] = jids
  expect(await folder.json('task', 'finish', first, '{"id":7}')).toEqual({
    jid: first,
    changed: true,
    status: 'finished',
    code: null,
  })
  expect(await folder.run(['task', 'fail', second, 'no money', '--code', 'declined'])).toMatchObject({
    code: 0,
    stdout: `row ${second} is failed (declined)\n`,
  })
  expect(await folder.run(['task', 'finish', second])).toMatchObject({
    code: 1,
    stdout: `row ${second} had ended before: it is failed (declined)\n`,
    stderr: `highkiq: row ${second} was not changed\n`,
  })
  expect(await folder.run(['task', 'finish', 'x'])).toMatchObject({
    code: 1,
    stderr: 'highkiq: no row x: its task was deleted, or it was never tracked\n',
  })
  worker.kill('SIGTERM')
  await worker.ended
})
