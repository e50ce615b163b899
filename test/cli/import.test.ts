import { describe, expect } from 'vitest'
import { readSheet } from '../../src/tasks/sheet/sheet.ts'
import { test } from './command.ts'

const JOBS = `
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { BusinessFailure, Highkiq } from 'highkiq'
export const hq = new Highkiq()
hq.job('ImportProduct', async (ctx, { sku, price }) => {
  if (Number.isNaN(Number(price))) throw new BusinessFailure('is no number: ' + price, { code: 'bad_price', field: 'price' })
})
hq.job('Slow', async () => { while (!existsSync('go')) await sleep(10) })
`

/** Every tenth of the rows has a price that is none. */
function products(rows: number, wrong = true): string {
  const lines = Array.from({ length: rows }, (_, i) => `sku-${i + 1},${wrong && i % 10 === 9 ? 'abc' : i}`)
  return ['sku,price', ...lines].join('\n')
}

describe.concurrent('highkiq import', () => {
  test('rejected rows: exit code 3, the first reasons, and a report that has them all', async ({ folder }) => {
    folder.write({ 'jobs.mjs': JOBS, 'products.csv': products(70) })
    const args = [
      'import',
      'products.csv',
      '--job',
      'ImportProduct',
      '-r',
      'jobs.mjs',
      '--work',
      '--report',
      'out.xlsx',
    ]
    const { code, stdout, stderr } = await folder.run(args)
    expect(stdout).toContain('63 finished, 7 failed')
    expect(stdout).toContain('row 11: price: is no number: abc [bad_price]')
    expect(stdout).toContain('… and 2 more rows')
    expect(stdout).toContain('out.xlsx: 7 rejected rows')
    expect(stderr).toMatch(/^products\.csv: 70 of 70 \(100%\) · in .* · .*\/s · 7 failed$/m)
    expect(code).toBe(3)

    const report = await readSheet(folder.at('out.xlsx'))
    const skus: unknown[] = []
    for await (const { values } of report.rows) skus.push(values[0])
    expect(report.header.slice(0, 2)).toEqual(['sku', 'price'])
    expect(skus).toEqual(['sku-10', 'sku-20', 'sku-30', 'sku-40', 'sku-50', 'sku-60', 'sku-70'])
  })

  test('all rows finished: exit code 0', async ({ folder }) => {
    folder.write({ 'jobs.mjs': JOBS, 'products.csv': products(20, false) })
    const args = ['import', 'products.csv', '--job', 'ImportProduct', '-r', 'jobs.mjs', '--work', '--json']
    const { code, stdout } = await folder.run(args)
    expect(JSON.parse(stdout)).toMatchObject({ state: 'done', total: 20, counts: { finished: 20, failed: 0 } })
    expect(code).toBe(0)
  })

  test('without a worker it says so; a line a second; Ctrl-C leaves the task to a worker', {
    timeout: 120_000,
  }, async ({ folder }) => {
    folder.write({ 'jobs.mjs': JOBS, 'products.csv': products(30) })
    const watching = folder.start(['import', 'products.csv', '--job', 'ImportProduct', '-r', 'jobs.mjs'])
    await watching.says(/no worker serves queue default: start one with `highkiq work -r jobs\.mjs`, or add --work/)
    await watching.says(/^products\.csv: 0 of 30 \(0%\)/m)
    await watching.says(/no worker serves queue default/, 2)
    watching.kill('SIGINT')
    const { code, stderr } = await watching.ended
    const [, id = ''] = /task (\w{16}) goes on/.exec(stderr) ?? []
    expect(stderr).toContain(`highkiq task show ${id} --watch -r jobs.mjs`)
    expect(code).toBe(130)

    const worker = folder.start(['work', '-r', 'jobs.mjs'])
    const shown = await folder.run(['task', 'show', id, '--watch'])
    expect(shown.stdout).toContain('27 finished, 3 failed')
    expect(shown.code).toBe(3)
    worker.kill('SIGTERM')
    await worker.ended
  })

  test('--no-wait only submits', async ({ folder }) => {
    folder.write({ 'jobs.mjs': JOBS, 'products.csv': products(10) })
    const args = ['import', 'products.csv', '--job', 'Slow', '-r', 'jobs.mjs', '--no-wait', '--name', 'spring sale']
    const { code, stdout } = await folder.run(args)
    expect(code).toBe(0)
    const [listed] = await folder.json<{ id: string }[]>('task', 'list')
    expect(listed).toMatchObject({ id: stdout.trim(), name: 'spring sale', state: 'running', total: 10 })
  })

  test.for<[name: string, args: string[], says: RegExp]>([
    [
      'a job that is not there',
      ['products.csv', '--job', 'ImportProdukt'],
      /"ImportProdukt"; defined here: ImportProduct/,
    ],
    ['a file that is none', ['junk.xlsx', '--job', 'ImportProduct'], /not a workbook/],
  ])('%s: exit code 2, and no task remains', async ([_, args, says], { folder }) => {
    folder.write({ 'jobs.mjs': JOBS, 'products.csv': products(3), 'junk.xlsx': 'a,b\n1,2\n' })
    const { code, stderr } = await folder.run(['import', ...args, '-r', 'jobs.mjs'])
    expect(stderr).toMatch(says)
    expect(stderr).not.toMatch(/^\s+at /m)
    expect(code).toBe(2)
  })
})

describe.concurrent('highkiq task', () => {
  test('list, show, events and report tell what became of the rows', async ({ folder }) => {
    folder.write({ 'jobs.mjs': JOBS, 'products.csv': products(30) })
    await folder.run(['import', 'products.csv', '--job', 'ImportProduct', '-r', 'jobs.mjs', '--work'])

    const list = await folder.run(['task', 'list'])
    expect(list.stdout).toMatch(/^\w{16} {2}products\.csv {2}ImportProduct {2}done {3}\s*30\s+30\s+3 /m)
    const [, id = ''] = /^(\w{16}) /m.exec(list.stdout) ?? []

    const show = await folder.run(['task', 'show', id])
    expect(show.stdout).toContain('30 of 30 ended (100%)')
    expect(show.stdout).toContain('27 finished, 3 failed')
    expect(show.stdout).toContain(`highkiq task report ${id} rejected.xlsx`)
    expect(show.code).toBe(0)

    const events = await folder.run(['task', 'events', id, '--status', 'failed,error', '--limit', '2'])
    const rows = [
      '       11  failed     price: is no number: abc [bad_price]',
      '       21  failed     price: is no number: abc [bad_price]',
    ]
    expect(events.stdout.trimEnd().split('\n')).toEqual(rows)
    const [first] = await folder.json<object[]>('task', 'events', id, '--limit', '1')
    expect(first).toMatchObject({ number: 2, status: 'finished', attempts: 1 })

    expect((await folder.run(['task', 'report', id, 'out.csv'])).stdout).toBe('out.csv: 3 rejected rows\n')
    expect((await readSheet(folder.at('out.csv'))).header).toContain('messages')
  })

  test('an id that is none: exit code 1', async ({ folder }) => {
    await folder.run(['enqueue', 'HardJob'])
    for (const args of [
      ['events', 'nope'],
      ['report', 'nope', 'out.csv'],
    ]) {
      const { code, stderr } = await folder.run(['task', ...args])
      expect(stderr).toBe('highkiq: no task nope: it was deleted, or the id is wrong (highkiq task list shows them)\n')
      expect(code).toBe(1)
    }
  })
})
