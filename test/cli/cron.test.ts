import { describe, expect } from 'vitest'
import { test } from './command.ts'

const JOBS = `
import { Highkiq } from 'highkiq'
export const hq = new Highkiq()
const Clean = hq.job('Clean', async () => {})
hq.cron('nightly', '30 3 * * mon-fri', Clean, { timeZone: 'Europe/Berlin', args: ['all'] })
hq.cron('made', '@hourly', Clean, { args: (tick) => [tick.getTime()] })
`

/** Each command is a process: on a busy machine they take their time. */
const LIMIT = { timeout: 240_000 }

describe.concurrent('highkiq cron', () => {
  test('entries are shown, run now, paused, resumed and removed', LIMIT, async ({ folder }) => {
    folder.write({ 'jobs.mjs': JOBS })
    const worker = folder.start(['work', '-r', 'jobs.mjs', '-q', 'nobody'])
    await worker.waitFor(/is working/)
    const find = async (name: string) =>
      (await folder.json<{ name: string }[]>('cron', 'list')).find((one) => one.name === name)
    while (!(await find('made')));
    const { jid } = await folder.json<{ jid: string }>('cron', 'run', 'nightly')
    expect(await find('nightly')).toMatchObject({
      spec: '30 3 * * mon-fri',
      timeZone: 'Europe/Berlin',
      job: 'Clean',
      args: ['all'],
      paused: false,
      defined: true,
      lastJid: jid,
    })
    expect((await folder.run(['cron', 'pause', 'nightly'])).stdout).toBe('nightly is paused\n')
    const { stdout } = await folder.run(['cron', 'list'])
    expect(stdout).toMatch(/^NAME +SPEC +ZONE +JOB +LAST +NEXT$/m)
    expect(stdout).toMatch(
      /^nightly +30 3 \* \* mon-fri +Europe\/Berlin +Clean +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0[12]:00 +paused$/m,
    )
    expect(stdout).toMatch(/^made +@hourly +UTC +Clean +never +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/m)
    expect(await folder.json('cron', 'resume', 'nightly')).toMatchObject({ name: 'nightly', paused: false })

    expect(await folder.run(['cron', 'remove', 'made'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^highkiq: a running worker defines made and would add it again as new\. .*--yes/),
    })
    worker.kill('SIGTERM')
    await worker.ended
    expect((await folder.run(['cron', 'remove', 'made', '--yes'])).stdout).toBe('made is removed\n')
    expect(await find('made')).toBe(undefined)
  })

  test('running an entry whose arguments come from a function needs -r', LIMIT, async ({ folder }) => {
    folder.write({ 'jobs.mjs': JOBS })
    await folder.run(['enqueue', 'Clean'])
    expect((await folder.run(['cron', 'run', 'made', '-r', 'jobs.mjs'])).stdout).toMatch(/^[0-9a-f]{24}$/m)
    const { code, stderr } = await folder.run(['cron', 'run', 'made'])
    expect(stderr).toContain('made by the app that defines it: run it there (-r FILE)')
    expect(code).toBe(2)
  })

  test('an unknown name prints one line and exits with 1', LIMIT, async ({ folder }) => {
    folder.write({ 'jobs.mjs': JOBS })
    await folder.run(['enqueue', 'Clean'])
    const none = 'no entries: a worker adds those of its app when it starts\n'
    expect((await folder.run(['cron', 'list'])).stdout).toBe(none)
    for (const act of ['run', 'remove']) {
      const { code, stderr } = await folder.run(['cron', act, 'nighty'])
      expect(stderr).toMatch(/^highkiq: no cron entry is named "nighty".*\n$/)
      expect(code).toBe(1)
    }
  })
})
