import { describe, expect } from 'vitest'
import { test } from './command.ts'

const FILES = {
  'jobs.ts': `export { hq } from './jobs.mjs'\n`,
  'jobs.mjs': `
import { Highkiq } from 'highkiq'
export const hq = new Highkiq()
export const Sync = hq.ordered('Sync', { shards: 2, maxRetries: 0 }, async (_ctx, batch) => {
  for (const id of batch.keys()) if (Number(id) < 10) throw new Error('not today')
})
`,
  'push.mjs': `
import { hq, Sync } from './jobs.mjs'
await Sync.performAsync([7, 8, 17].map((id) => ({ id, payload: { v: id }, score: id })))
await Sync.performAsync([{ id: 20, performIn: 4e9 }])
await hq.close()
`,
}

/** Each command is a process: on a busy machine they take their time. */
const LIMIT = { timeout: 240_000 }

describe.concurrent('highkiq ordered', () => {
  test('ordered jobs run, are listed, and can be changed', LIMIT, async ({ folder }) => {
    folder.write(FILES)
    await folder.node('push.mjs')
    const worker = folder.start(['work', '-r', 'jobs.mjs', '-q', 'nobody', '--ordered-concurrency', '2'])
    const stats = () => folder.json<{ length: number; morgueLength: number }>('ordered', 'show', 'Sync')
    while ((await stats()).morgueLength < 2);
    expect((await folder.run(['ordered', 'list'])).stdout).toMatch(/^Sync +2 +1 +0 +0 +2 +0 s$/m)
    expect((await folder.run(['ordered', 'show', 'Sync'])).stdout).toMatch(/^morgue +2$/m)
    expect((await folder.run(['ordered', 'waiting', 'Sync'])).stdout).toMatch(/^20 +2096-10-02 .* 0 +1 +""@/m)
    expect((await folder.run(['ordered', 'morgue', 'Sync', '--by', 'id'])).stdout).toMatch(
      /^7 +\d{4}.* 1 +\{"v":7\}@7 +not today$/m,
    )
    worker.kill('SIGTERM')
    await worker.ended
    expect((await folder.run(['ordered', 'pause', 'Sync'])).stdout).toBe('Sync is paused\n')
    expect((await folder.run(['ordered', 'resurrect', 'Sync', '7'])).stdout).toBe('1 id of Sync resurrected\n')
    expect(await folder.run(['ordered', 'delete', 'Sync', '--all', '--dead'])).toMatchObject({
      code: 2,
      stderr: 'highkiq: delete 1 id in the morgue of Sync? Confirm with --yes\n',
    })
    expect(await folder.json('ordered', 'delete', 'Sync', '--all', '--dead', '--yes')).toEqual({ deleted: 1 })
    expect((await folder.run(['ordered', 'reshard', 'Sync', '3'])).stdout).toMatch(/^Sync has 3 shards/)
    expect(await stats()).toMatchObject({ length: 2, morgueLength: 0, paused: true, shards: [{}, {}, {}] })
  })

  test('missing ids and missing arguments are errors', LIMIT, async ({ folder }) => {
    folder.write(FILES)
    await folder.node('push.mjs')
    expect(await folder.run(['ordered', 'show', 'Other'])).toMatchObject({
      code: 1,
      stderr: 'highkiq: no ordered queue is named Other: there are Sync\n',
    })
    expect((await folder.run(['ordered', 'resurrect', 'Sync'])).stderr).toMatch(/^highkiq: give ids, or use --all/)
    expect(await folder.run(['ordered', 'resurrect', 'Sync', 'nope'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'highkiq: nope is not in the morgue of Sync; highkiq ordered morgue Sync lists its ids\n',
    })
    expect(await folder.run(['pause', 'Sync'])).toMatchObject({
      code: 1,
      stderr: 'highkiq: Sync is an ordered queue: highkiq ordered pause Sync\n',
    })
    expect(await folder.json('ordered', 'show', 'Sync')).toMatchObject({ paused: false })
    expect((await folder.run(['stats'])).stdout).toMatch(/ordered +4\n *ordered morgue +0\n *ordered lag +\d/)
    for (const from of [['-r', 'jobs.mjs'], []]) {
      const { code, stderr } = await folder.run(['enqueue', 'Sync', '7', ...from], { HIGHKIQ_URL: 'sqlite:highkiq.db' })
      expect([code, stderr].join(' '), from.join(' ')).toMatch(
        /^[12] highkiq: Sync is an ordered queue, .*: highkiq ordered push Sync ID \[PAYLOAD\]/,
      )
    }
  })

  test('jobs are pushed by hand and from a file, without the app', LIMIT, async ({ folder }) => {
    folder.write(FILES)
    await folder.node('push.mjs')
    const show = (...ids: string[]) =>
      folder.run(['ordered', 'waiting', 'Sync', '--by', 'id', '--from', ids[0] as string])
    expect((await folder.run(['ordered', 'push', 'Sync', '30', '{"v":3}', '--score', '3', '--in', '5m'])).stdout).toBe(
      '1 job pushed to Sync\n',
    )
    expect((await show('30')).stdout).toMatch(/^30 .*\{"v":3\}@3$/m)
    folder.write({ 'two.ndjson': '{"id":"x","payload":"a"}\n\n{"id":"y","performAt":"2096-10-02T00:00:00Z"}\n' })
    expect(await folder.json('ordered', 'push', 'Sync', '--file', 'two.ndjson')).toEqual({ pushed: 2 })
    expect((await show('x')).stdout).toMatch(/^y +2096-10-02/m)
    folder.write({ 'odd.ndjson': '{"id":"z"}\n{"id":""}\n' })
    expect(await folder.run(['ordered', 'push', 'Sync', '--file', 'odd.ndjson'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^highkiq: line 2: .*\(0 jobs were stored before the error\)\n$/),
    })
    expect((await folder.run(['ordered', 'push', 'Other', '1'])).stderr).toMatch(
      /^highkiq: no ordered queue is named Other/,
    )
    expect(await folder.run(['ordered', 'push', 'Sync'])).toMatchObject({ code: 2 })
    expect(await folder.run(['enqueue', 'Sync', '1'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('highkiq ordered push Sync ID [PAYLOAD]'),
    })
  })
})
