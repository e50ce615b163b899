import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, vi } from 'vitest'
import { openFile } from '../../src/tasks/spreadsheet/file.ts'
import { until } from '../engine/bench.ts'
import { test } from './command.ts'

const JOBS = `
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { BatchFailure, BusinessFailure, Highkiq } from 'highkiq'
export const hq = new Highkiq()
hq.job('ImportProduct', async (ctx, { sku, price }) => {
  if (Number.isNaN(Number(price))) throw new BusinessFailure('is no number: ' + price, { code: 'bad_price', field: 'price' })
})
hq.job('Lists', async (ctx, rows) => {
  throw new BatchFailure(new Map(rows.map((_, i) => [i, new BusinessFailure('one of ' + rows.length)])))
})
hq.job('Page', async (ctx, n) => [{ n, twice: n * 2 }])
hq.job('Slow', async () => { while (!existsSync('go')) await sleep(10) })
`

const EXPORT = `
import { hq } from './jobs.mjs'
const task = await hq.tasks.export(hq.jobNamed('Page'), [[0], [1], [2]], { columns: ['n', 'twice'] })
console.log(task.id)
await hq.close()
`

// Each of these starts many processes, one after the other: a busy machine needs seconds for each.
vi.setConfig({ testTimeout: 120_000 })

/** Every tenth of the rows has a price that is none. */
function products(rows: number, wrong = true): string {
  const lines = Array.from({ length: rows }, (_, i) => `sku-${i + 1},${wrong && i % 10 === 9 ? 'abc' : i}`)
  return ['sku,price', ...lines].join('\n')
}

/** Its prices are numbers. */
const CHECKED = `
import { Highkiq } from 'highkiq'
export const hq = new Highkiq()
const check = ({ price }) => (Number.isNaN(Number(price)) ? { issues: [{ message: 'is no number' }] } : { value: { price: Number(price) } })
hq.job('Checked', { validate: { '~standard': { version: 1, vendor: 'test', validate: check } } }, async (ctx, row) => {
  if (typeof row.price !== 'number') throw new Error('was not validated')
})
`

describe.concurrent('highkiq import', () => {
  test('a task that pauses itself ends the watching with its reason, a hint and exit code 1', async ({ folder }) => {
    folder.write({ 'jobs.mjs': JOBS, 'products.csv': products(300) })
    const args = ['import', 'products.csv', '--job', 'ImportProduct', '-r', 'jobs.mjs', '--work', '--max-failures', '2']
    const { code, stdout, stderr } = await folder.run(args)
    expect(stderr).toMatch(/ · paused: too many rows were rejected: \d+ of \d+ so far · /)
    const [, id = ''] = /^task ([0-9a-f]{16}): paused \(too many rows were rejected: \d+ of \d+/m.exec(stdout) ?? []
    const goOn = `to resume: highkiq task set ${id} --max-failures all -r jobs.mjs, then highkiq task resume ${id} -r jobs.mjs\n`
    expect(stdout).toContain(goOn)
    expect(code).toBe(1)
    const shown = await folder.run(['task', 'show', id, '--watch', '-r', 'jobs.mjs'])
    expect([shown.code, shown.stdout]).toEqual([1, expect.stringContaining(goOn)])
  })

  test('above a share of few rows the hint also names --max-failures', async ({ folder }) => {
    folder.write({ 'jobs.mjs': CHECKED, 'products.csv': products(40) })
    const args = ['import', 'products.csv', '--job', 'Checked', '-r', 'jobs.mjs', '--task-concurrency', '2']
    const { code, stdout } = await folder.run([...args, '--max-failures', '5%', '--work'])
    expect(stdout).toContain('too many rows were rejected: 4 of 40 so far')
    expect(stdout).toMatch(/^to resume: highkiq task set [0-9a-f]{16} --max-failures all .*then highkiq task resume /m)
    expect(code).toBe(1)
    // A tenth of them may be.
    expect((await folder.run([...args, '--max-failures', '10%', '--work', '--allow-duplicate'])).code).toBe(3)
  })

  test('after a signal the message does not claim that a paused task continues', async ({ folder }) => {
    folder.write({ 'jobs.mjs': JOBS, 'products.csv': products(30) })
    const args = ['import', 'products.csv', '--job', 'Slow', '-r', 'jobs.mjs', '--work', '-c', '1']
    const watching = folder.start(args)
    let id = ''
    await until(async () => {
      const { stdout } = await folder.run(['task', 'list', '--json'])
      const [task] = stdout === '' ? [] : JSON.parse(stdout)
      id = task?.id
      return task?.counts.working === 1
    })
    await folder.run(['task', 'pause', id])
    watching.kill('SIGTERM')
    const [[hint]] = (await watching.waitFor(/highkiq: task [0-9a-f]{16} is paused; to resume: (.*)/)) as [[string]]
    expect(hint).toBe(`highkiq task resume ${id} -r jobs.mjs`)
    folder.write({ go: '' })
    const { stderr } = await watching.ended
    expect(stderr).not.toContain('to continue it, start a worker')
  })

  test('the refusal of a second import names the command that runs the rows of the first one', async ({ folder }) => {
    folder.write({ 'jobs.mjs': JOBS, 'products.csv': products(20) })
    const args = ['import', 'products.csv', '--job', 'ImportProduct', '-r', 'jobs.mjs']
    const id = (await folder.run([...args, '--no-wait'])).stdout.trim()
    const again = await folder.run([...args, '--work'])
    expect([again.code, again.stdout]).toEqual([1, ''])
    expect(again.stderr).toMatch(
      /look there, or add --allow-duplicate; no worker serves the queue default: start one with `highkiq work -r jobs\.mjs`, or run/,
    )
    const [, command = ''] = /with `highkiq (task [^`]*)`$/m.exec(again.stderr) ?? []
    expect(command).toBe(`task show ${id} --work -r jobs.mjs`)
    const shown = await folder.run(command.split(' '))
    expect([shown.code, shown.stderr, shown.stdout]).toEqual([
      3,
      expect.stringContaining('products.csv: 20 of 20 (100%)'),
      expect.stringContaining('18 finished, 2 failed'),
    ])
    const done = await folder.run([...args, '--work'])
    expect([done.code, done.stderr]).toEqual([1, expect.stringMatching(/look there, or add --allow-duplicate$/m)])

    const retried = await folder.run(['task', 'retry', id, '--work', '-c', '2'])
    expect([retried.code, retried.stderr, retried.stdout]).toEqual([
      3,
      expect.not.stringContaining('no worker'),
      expect.stringMatching(/^2 rows run again, in run 2\n.*18 finished, 2 failed/s),
    ])
    for (const args of [
      ['task', 'show', id],
      ['task', 'retry', id],
      ['import', 'products.csv', '--job', 'ImportProduct'],
    ]) {
      expect(await folder.run([...args, '-c', '5'])).toMatchObject({ code: 2, stderr: 'highkiq: -c needs --work\n' })
    }
    const bare = await folder.run(['task', 'retry', id, '--work', '-c', '0'])
    expect([bare.code, bare.stderr]).toEqual([2, expect.stringContaining('-c, --concurrency <n>')])
  })

  test('--work without a jobs file is refused before anything is retried', async ({ folder }) => {
    folder.write({ 'app.mjs': JOBS, 'products.csv': products(10) })
    const args = ['import', 'products.csv', '--job', 'ImportProduct', '-r', 'app.mjs', '--work', '--json']
    const { id } = JSON.parse((await folder.run(args)).stdout) as { id: string }
    for (const name of ['retry', 'show']) {
      const { code, stderr } = await folder.run(['task', name, id, '--work'])
      expect([code, stderr]).toEqual([2, expect.stringContaining(`highkiq task ${name} -r jobs.ts`)])
    }
    expect(await folder.json('task', 'show', id)).toMatchObject({ run: 1 })
  })

  test('rows of a report are validated: the jobs file is found as by import, or asked for', async ({ folder }) => {
    folder.write({ 'app.mjs': CHECKED, 'products.csv': products(20) })
    const report = ['--work', '--report', 'out.csv', '--row-key', 'sku', '--json']
    const imported = await folder.run(['import', 'products.csv', '--job', 'Checked', '-r', 'app.mjs', ...report])
    const { id } = JSON.parse(imported.stdout) as { id: string }
    // The column of row keys is lost.
    folder.write({ 'half.csv': 'sku,price\nsku-10,5\nsku-20,none\n' })
    const back = ['task', 'retry', id, '--report', 'half.csv']
    const refused = await folder.run(back)
    expect(refused.stderr).toContain('its rows were validated by job Checked: load its file with -r')
    expect([refused.code, refused.stdout]).toEqual([expect.any(Number), ''])
    expect(refused.code).not.toBe(0)
    const plain = await folder.run(['task', 'retry', id])
    expect([plain.code, plain.stdout]).toEqual([
      3,
      'there are no rows to retry\n2 rows that validate refused are unchanged: to validate again, load the jobs file with -r\n',
    ])
    folder.write({ 'jobs.mjs': CHECKED })
    const found = await folder.run(['task', 'retry', id])
    expect([found.code, found.stdout]).toEqual([
      3,
      'there are no rows to retry\n2 rows were refused again and are unchanged\n',
    ])
    const { code, stdout, stderr } = await folder.run(back)
    expect(stdout).toMatch(/^1 row runs again, in run 2\n1 row was refused again and is unchanged\n/)
    const work = `highkiq task show ${id} --work -r jobs.mjs`
    expect(stderr).toBe(
      `highkiq: no worker serves the queue default: start one with \`highkiq work -r jobs.mjs\`, or run its jobs until the task has ended with \`${work}\`\n`,
    )
    expect(code).toBe(3)
    const worker = folder.start(['work', '-r', 'jobs.mjs'])
    await until(async () => (await folder.json<{ state: string }>('task', 'show', id)).state === 'done')
    worker.kill('SIGTERM')
    expect(await folder.json('task', 'show', id)).toMatchObject({ counts: { finished: 19, failed: 1, error: 0 } })
  })

  test('a report is written in the language of --lang, and can be imported again', async ({ folder }) => {
    folder.write({ 'jobs.mjs': JOBS, 'products.csv': products(10) })
    const args = ['import', 'products.csv', '--job', 'ImportProduct', '-r', 'jobs.mjs']
    const report = ['--work', '--report', 'out.csv', '--lang', 'ru', '--json']
    const { id } = JSON.parse((await folder.run([...args, ...report])).stdout) as { id: string }
    expect(readFileSync(folder.at('out.csv'), 'utf8')).toContain('sku,price,строка,ключ строки,статус строки,')
    const [written, alone, odd, again] = await Promise.all([
      folder.run(['task', 'report', id, 'zh.xlsx', '--lang', 'zh']),
      folder.run([...args, '--allow-duplicate', '--lang', 'zh']),
      folder.run(['task', 'report', id, 'fr.csv', '--lang', 'fr']),
      folder.run(['import', 'out.csv', ...args.slice(2)]),
    ])
    expect(written.code).toBe(0)
    expect((await openFile(folder.at('zh.xlsx'))).header?.slice(2, 5)).toEqual(['行号', '行标识', '处理状态'])
    expect([alone.code, alone.stderr]).toEqual([2, expect.stringContaining('--lang needs --report OUT')])
    expect([odd.code, odd.stderr]).toEqual([2, expect.stringContaining('Allowed choices are en, zh, ru')])
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining(`out.csv is a report of task ${id}`)])
    const retried = await folder.json('task', 'retry', id, '--report', 'zh.xlsx')
    expect(retried).toMatchObject({ rows: 1, unchanged: 1 })
  })

  test('rejected rows exit with 3 and print the first reasons; the report has all of them', async ({ folder }) => {
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
    expect(stderr).toMatch(/^products\.csv: 70 of 70 \(100%\) · in .* · .*\/s · 7 rejected$/m)
    expect(code).toBe(3)

    const report = await openFile(folder.at('out.xlsx'))
    const skus: unknown[] = []
    for await (const { values } of report.rows) skus.push(values.sku)
    expect(report.header?.slice(0, 2)).toEqual(['sku', 'price'])
    expect(skus).toEqual(['sku-10', 'sku-20', 'sku-30', 'sku-40', 'sku-50', 'sku-60', 'sku-70'])
  })

  test('an import whose rows all finish exits with 0', async ({ folder }) => {
    folder.write({ 'jobs.mjs': JOBS, 'products.csv': products(20, false) })
    const args = ['import', 'products.csv', '--job', 'ImportProduct', '-r', 'jobs.mjs', '--work', '--json']
    const { code, stdout } = await folder.run(args)
    expect(JSON.parse(stdout)).toMatchObject({ state: 'done', total: 20, counts: { finished: 20, failed: 0 } })
    expect(code).toBe(0)
  })

  test('without a worker it prints a hint and a line a second; Ctrl-C leaves the task to a worker', {
    timeout: 300_000,
  }, async ({ folder }) => {
    folder.write({ 'jobs.mjs': JOBS, 'products.csv': products(30) })
    const watching = folder.start(['import', 'products.csv', '--job', 'ImportProduct', '-r', 'jobs.mjs'])
    await watching.waitFor(
      /no worker serves the queue default: start one with `highkiq work -r jobs\.mjs`, or run its jobs until the task has ended/,
    )
    await watching.waitFor(/^products\.csv: 0 of 30 \(0%\)/m)
    await watching.waitFor(/no worker serves the queue default/, 2)
    watching.kill('SIGINT')
    const { code, stderr } = await watching.ended
    const [, id = ''] = /task (\w{16}) continues/.exec(stderr) ?? []
    expect(stderr).toContain(`highkiq task show ${id} --watch -r jobs.mjs`)
    expect(code).toBe(130)

    const worker = folder.start(['work', '-r', 'jobs.mjs'])
    const shown = await folder.run(['task', 'show', id, '--watch'])
    expect(shown.stdout).toContain('27 finished, 3 failed')
    expect(shown.code).toBe(3)
    worker.kill('SIGTERM')
    await worker.ended
  })

  test('without -r it finds jobs.mjs; a report is refused with the command that retries it', async ({ folder }) => {
    folder.write({ 'products.csv': products(20) })
    const lost = await folder.run(['import', 'products.csv', '--job', 'ImportProduct'])
    expect([lost.code, lost.stderr]).toEqual([
      2,
      expect.stringMatching(/no jobs\.ts or src\/jobs\.ts: import needs -r FILE/),
    ])
    folder.write({ 'jobs.mjs': JOBS })
    const first = await folder.json<{ id: string }>('import', 'products.csv', '--job', 'ImportProduct', '--work')
    expect(first).toMatchObject({ total: 20, counts: { finished: 18, failed: 2 } })
    for (const report of ['report.xlsx', 'report.ndjson']) {
      await folder.run(['task', 'report', first.id, report])
      const back = await folder.run(['import', report, '--job', 'ImportProduct', '--no-wait'])
      expect([back.code, back.stdout, back.stderr]).toEqual([
        2,
        '',
        expect.stringContaining(`highkiq task retry ${first.id} --report ${report} -r jobs.mjs`),
      ])
    }
    const again = await folder.run([
      'import',
      'report.ndjson',
      '--job',
      'ImportProduct',
      '--no-wait',
      '--allow-duplicate',
    ])
    expect(again.code).toBe(0)
    // Of a task that is no more nobody can take it back.
    await folder.run(['task', 'delete', first.id, '--yes'])
    expect((await folder.run(['import', 'report.xlsx', '--job', 'ImportProduct', '--no-wait'])).code).toBe(0)
  })

  test('--no-wait prints the id and exits', async ({ folder }) => {
    folder.write({ 'jobs.mjs': JOBS, 'products.csv': products(10) })
    const args = ['import', 'products.csv', '--job', 'Slow', '-r', 'jobs.mjs', '--no-wait', '--name', 'spring sale']
    const { code, stdout } = await folder.run(args)
    expect(code).toBe(0)
    const [listed] = await folder.json<{ id: string }[]>('task', 'list')
    expect(listed).toMatchObject({ id: stdout.trim(), name: 'spring sale', state: 'running', total: 10 })
  })

  test('with --rows-per-job the handler gets lists, and the report has each row', async ({ folder }) => {
    folder.write({ 'jobs.mjs': JOBS, 'products.csv': products(5) })
    const about = ['import', 'products.csv', '--job', 'Lists', '-r', 'jobs.mjs']
    const { code } = await folder.run([...about, '--rows-per-job', '3', '--work', '--report', 'out.csv'])
    expect(code).toBe(3)
    const report = readFileSync(folder.at('out.csv'), 'utf8')
    expect(report.match(/one of \d/g)).toEqual(['one of 3', 'one of 3', 'one of 3', 'one of 2', 'one of 2'])
    const refused = await folder.run([...about, '--rows-per-job', '1001', '--allow-duplicate', '--no-wait'])
    expect([refused.code, refused.stderr]).toEqual([expect.any(Number), expect.stringContaining('from 1 to 1000')])
    expect(refused.code).not.toBe(0)
  })

  test.for<[name: string, args: string[], says: RegExp]>([
    ['an unknown job', ['products.csv', '--job', 'ImportProdukt'], /"ImportProdukt"; defined here: ImportProduct/],
    ['a file that is none', ['junk.xlsx', '--job', 'ImportProduct'], /not a workbook/],
  ])('%s: exit code 2, and no task remains', async ([_, args, says], { folder }) => {
    folder.write({ 'jobs.mjs': JOBS, 'products.csv': products(3), 'junk.xlsx': 'a,b\n1,2\n' })
    const { code, stderr } = await folder.run(['import', ...args, '-r', 'jobs.mjs'])
    expect(stderr).toMatch(says)
    expect(stderr).not.toMatch(/^\s+at /m)
    expect(code).toBe(2)
  })
})

describe.concurrent('how a file is read', () => {
  test('a dry run prints counts, problems and the mapping, and imports nothing', async ({ folder }) => {
    folder.write({
      'jobs.mjs': JOBS,
      // In windows-1252: "ü" is FC.
      'old.csv': Buffer.from('Nr;Größe;Preis\nsku-1;für zwei;5\nsku-2;;6\n', 'latin1'),
      'rows.ndjson': '{"sku":"a","price":1}\n{"sku":"b","price":[[]\n',
      'broken.csv': 'sku,price\na,1\nb,"2\n',
      'noted.csv': "Item's no,price=\na-1,12.50\na-2,x,ask Bob\na-3,3\n",
      'duck.csv': Buffer.from('612d312c31322e35302cbfbed1bc0a', 'hex'),
      'titled.tsv': 'Prices of May\nsku\tprice\n5" pipe\t7\n6" pipe\t8\n',
    })
    const dry = ['--job', 'ImportProduct', '-r', 'jobs.mjs', '--dry-run']
    const reading = ['--encoding', 'windows-1252', '--delimiter', ';', '--columns', 'Nr=sku,Größe=size']
    const [text, json, ndjson, broken, many, both, title, titled, noted, inJson, half, duck, again] = await Promise.all(
      [
        folder.run(['import', 'old.csv', ...dry, ...reading]),
        folder.run(['import', 'old.csv', ...dry, ...reading, '--json']),
        folder.run(['import', 'rows.ndjson', ...dry]),
        folder.run(['import', 'broken.csv', ...dry]),
        folder.run(['import', 'old.csv', ...dry, '--encoding', 'windows-1252', '--max-rows', '1']),
        folder.run(['import', 'old.csv', ...dry, '--work']),
        folder.run(['import', 'titled.tsv', ...dry, '--no-quote']),
        folder.run(['import', 'titled.tsv', ...dry, '--no-quote', '--header-row', '2']),
        folder.run(['import', 'noted.csv', ...dry]),
        folder.run(['import', 'noted.csv', ...dry, '--columns', '{"Item\'s no":"sku","price=":"price"}']),
        folder.run(['import', 'noted.csv', ...dry, '--columns', '[sku,price]']),
        folder.run(['import', 'duck.csv', ...dry]),
        folder.run(['import', 'old.csv', ...dry, ...reading, '--allow-duplicate']),
      ],
    )
    expect(again).toEqual(text)
    expect([noted.code, noted.stderr]).toEqual([
      2,
      expect.stringContaining(
        "names only 2 columns: give the column a name, leave it out (--columns 'Item'\\''s no=Item'\\''s no,price\\==price\\=' takes only these)",
      ),
    ])
    expect([inJson.code, inJson.stdout]).toEqual([0, expect.stringMatching(/\nItem's no +sku +"a-1"\nprice= +price /)])
    expect([half.code, half.stderr]).toEqual([
      2,
      expect.stringMatching(/must be valid JSON.*Write sku,price or 'Item no=sku/),
    ])
    expect([duck.code, duck.stderr]).toEqual([
      2,
      expect.stringMatching(/"烤鸭" in gb18030: say --encoding windows-1252, or another one/),
    ])
    expect([title.code, title.stderr]).toEqual([2, expect.stringContaining('say --header-row 2')])
    expect([titled.code, titled.stdout]).toEqual([
      0,
      expect.stringMatching(/\nsku +sku +"5\\" pipe"\nprice +price +"7"\n/),
    ])
    expect(text.stdout).toContain('old.csv: CSV in windows-1252, 2 rows: 2 would become jobs, 0 would be refused')
    expect(text.stdout).toMatch(
      /^COLUMN +BECOMES +EXAMPLE\nNr +sku +"sku-1"\nGröße +size +"für zwei"\nPreis +\(left out\)$/m,
    )
    expect(text.stdout).toContain('no rows were imported')
    expect([text.code, json.code]).toEqual([0, 0])
    expect(JSON.parse(json.stdout)).toMatchObject({
      format: 'csv',
      total: 2,
      valid: 2,
      preview: [{ row: 2, value: { sku: 'sku-1', size: 'für zwei' } }, { row: 3 }],
    })
    expect(ndjson.stdout).toMatch(
      /NDJSON, 1 row before it broke off.*\n\nCOLUMN.*\nsku +sku +"a"\nprice +price +1\n\nROW/s,
    )
    expect([ndjson.code, broken.code]).toEqual([1, 1])
    expect(broken.stdout).toMatch(/INVALID_FILE +row 3/)
    expect([many.code, many.stdout]).toEqual([1, expect.stringMatching(/TOO_MANY_ROWS.*allow more with --max-rows/)])
    expect([both.code, both.stderr]).toEqual([
      2,
      expect.stringContaining("'--dry-run' cannot be used with option '-w, --work'"),
    ])
    expect(await folder.json('task', 'list', '--url', 'sqlite:highkiq.db').catch(() => [])).toEqual([])
  })

  test('NDJSON; the same file again; limits of the task; a file that breaks off is resumed', async ({ folder }) => {
    const lines = Array.from({ length: 20 }, (_, i) => `{"sku":"s${i}","price":${i < 6 ? '"x"' : i}}`)
    folder.write({ 'jobs.mjs': JOBS, 'rows.ndjson': lines.join('\n'), 'cut.csv': `${products(2500)}\n"open,1\n` })
    const about = ['--job', 'ImportProduct', '-r', 'jobs.mjs']
    const first = await folder.run([
      'import',
      'rows.ndjson',
      ...about,
      '--no-wait',
      '--max-failures',
      '2',
      '--on-max-failures',
      'cancel',
      '--task-concurrency',
      '1',
    ])
    expect(first.code).toBe(0)
    const again = await folder.run(['import', 'rows.ndjson', ...about, '--no-wait', '--allow-duplicate'])
    expect(again.code).toBe(0)
    const twice = await folder.run(['import', 'rows.ndjson', ...about])
    expect([twice.code, twice.stderr]).toEqual([
      1,
      expect.stringMatching(`task ${again.stdout.trim()}.*add --allow-duplicate`),
    ])

    const worker = folder.start(['work', '-r', 'jobs.mjs'])
    const ended = await folder.run(['task', 'show', first.stdout.trim(), '--watch', '--json'])
    expect(JSON.parse(ended.stdout)).toMatchObject({
      state: 'cancelled',
      counts: { failed: 3, cancelled: 17 },
      reasons: [
        { status: 'cancelled', count: 17 },
        { status: 'failed', code: 'bad_price', count: 3, example: 'price: is no number: x' },
      ],
    })
    expect(ended.code).toBe(3)
    const shown = await folder.run(['task', 'show', first.stdout.trim()])
    expect(shown.stdout).toMatch(/^state +cancelled: too many rows were rejected: 3 of 3 so far/m)

    const cut = await folder.run(['import', 'cut.csv', ...about, '--no-wait'])
    const [, id = ''] = /in task (\w{16})/.exec(cut.stderr) ?? []
    expect([cut.code, id]).toEqual([1, expect.stringMatching(/^\w{16}$/)])
    expect((await folder.run(['task', 'show', id])).stdout).toContain(
      `import cut.csv --job ImportProduct --resume ${id}`,
    )
    folder.write({ 'cut.csv': products(2500) })
    const whole = await folder.run(['import', 'cut.csv', ...about, '--resume', id, '--json'])
    expect([whole.code, JSON.parse(whole.stdout)]).toMatchObject([
      3,
      { id, total: 2500, state: 'done', counts: { failed: 250 } },
    ])
    worker.kill('SIGTERM')
    await worker.ended
  })
})

describe.concurrent('highkiq task', () => {
  test('an import stores meta, by which its task is found', async ({ folder }) => {
    folder.write({ 'jobs.mjs': JOBS, 'products.csv': products(2) })
    const args = ['import', 'products.csv', '--job', 'ImportProduct', '-r', 'jobs.mjs', '--no-wait']
    const found = (await folder.run([...args, '--meta', 'user=7', '--meta', 'shop=a=b'])).stdout.trim()
    const mine = await folder.json<object[]>('task', 'list', '--meta', 'user=7', '--meta', 'shop=a=b')
    expect(mine).toMatchObject([{ id: found, meta: { user: '7', shop: 'a=b' } }])
    expect(await folder.run([...args, '--meta', 'user'])).toMatchObject({ code: 2 })
  })

  test('list, show, events and report show what became of the rows', async ({ folder }) => {
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
    expect((await openFile(folder.at('out.csv'))).header).toContain('messages')
    const all = await folder.run(['task', 'report', id, 'all.csv', '--all'])
    expect([all.code, all.stderr]).toEqual([2, expect.stringContaining('imported with --keep-args all')])
    const keeping = [
      'import',
      'products.csv',
      '--job',
      'ImportProduct',
      '-r',
      'jobs.mjs',
      '--work',
      '--allow-duplicate',
    ]
    const kept = await folder.json<{ id: string }>(...keeping, '--keep-args', 'all')
    expect((await folder.run(['task', 'report', kept.id, 'all.csv', '--all'])).stdout).toBe('all.csv: 30 rows\n')
  })

  test("a paused task shows its reason, its limits and a hint; an ended task can't be cancelled", async ({
    folder,
  }) => {
    folder.write({ 'jobs.mjs': JOBS, 'products.csv': `sku,price\n${'a,x\n'.repeat(5)}` })
    const about = ['--job', 'ImportProduct', '-r', 'jobs.mjs', '--max-failures', '1', '--task-concurrency', '1']
    const id = (await folder.run(['import', 'products.csv', ...about, '--no-wait'])).stdout.trim()
    const worker = folder.start(['work', '-r', 'jobs.mjs'])
    const show = async () => (await folder.run(['task', 'show', id])).stdout
    await until(async () => /^state +paused/m.test(await show()))
    const paused = await show()
    expect(paused).toMatch(/^state +paused: too many rows were rejected: 2 of 2 so far$/m)
    expect(paused).toMatch(/^window +1 row in the queue or running at once$/m)
    expect(paused).toMatch(/^max failures +1 row, then the task pauses$/m)
    expect(paused).toContain(`to resume: highkiq task set ${id} --max-failures all, then highkiq task resume ${id}`)
    const resumed = await folder.run(['task', 'resume', id])
    expect(resumed.stdout).toContain(`highkiq task set ${id} --max-failures all`)
    await until(async () => /^state +paused/m.test(await show()))
    await folder.run(['task', 'set', id, '--max-failures', 'all'])
    expect(await show()).toContain(`to resume: highkiq task resume ${id}\n`)
    await folder.run(['task', 'resume', id])
    await folder.run(['task', 'show', id, '--watch'])
    for (const act of [['cancel', '--yes'], ['pause'], ['resume']]) {
      const { code, stdout, stderr } = await folder.run(['task', act[0] as string, id, ...act.slice(1)])
      expect([code, stdout, stderr]).toEqual([1, '', expect.stringMatching(`^highkiq: task ${id} has ended: .*\n$`)])
    }
    worker.kill('SIGTERM')
    await worker.ended
  })

  test('retrying a corrected report runs only its rows again', async ({ folder }) => {
    folder.write({ 'jobs.mjs': JOBS, 'products.csv': products(30) })
    const mapped = ['--columns', 'sku,price']
    const args = [
      'import',
      'products.csv',
      '--job',
      'ImportProduct',
      '-r',
      'jobs.mjs',
      '--work',
      '--json',
      '--report',
      'out.csv',
    ]
    const imported = await folder.run([...args, ...mapped])
    const { id } = JSON.parse(imported.stdout) as { id: string }
    expect((await folder.run(['task', 'show', id])).stdout).toMatch(
      /ROWS +STATUS +CODE +EXAMPLE\n +3 +failed +bad_price +price: is no number: abc/,
    )
    const report = readFileSync(folder.at('out.csv'), 'utf8')
    const worker = folder.start(['work', '-r', 'jobs.mjs'])

    // The third is left alone, the second is corrected wrongly.
    const [header, one, two] = report.trimEnd().split('\r\n') as [string, string, string]
    folder.write({ 'half.csv': [header, one.replace('abc', '5'), two.replace('abc', 'five')].join('\r\n') })
    const half = await folder.run(['task', 'retry', id, '--report', 'half.csv', ...mapped, '--watch'])
    expect([half.code, half.stderr, half.stdout]).toEqual([
      3,
      expect.not.stringContaining('no worker'),
      expect.stringMatching(/^2 rows run again, in run 2\n.*28 finished, 2 failed/s),
    ])

    for (const format of ['ndjson', 'xlsx']) {
      const written = await folder.run(['task', 'report', id, `rest.${format}`])
      expect(written.stdout).toBe(`rest.${format}: 2 rejected rows\n`)
    }
    folder.write({ 'rest.ndjson': readFileSync(folder.at('rest.ndjson'), 'utf8').replace(/"(abc|five)"/g, '7') })
    const rest = await folder.run(['task', 'retry', id, '--report', 'rest.ndjson', ...mapped, '--watch', '--json'])
    expect([rest.code, JSON.parse(rest.stdout)]).toMatchObject([
      0,
      { state: 'done', run: 3, counts: { finished: 30, failed: 0 }, retried: { rows: 2, refused: 0 } },
    ])
    worker.kill('SIGTERM')

    const [alien, gone, both] = await Promise.all([
      folder.run(['task', 'retry', id, '--report', 'products.csv']),
      folder.run(['task', 'retry', id, '--report', 'gone.csv']),
      folder.run(['task', 'retry', id, '--report', 'half.csv', '--code', 'x']),
    ])
    expect([alien.code, alien.stderr]).toEqual([
      2,
      expect.stringContaining('products.csv: this is not the file that was downloaded: it has no column "row key"'),
    ])
    expect([gone.code, gone.stderr]).toEqual([2, 'highkiq: there is no file gone.csv\n'])
    expect(both.code).toBe(2)
    await worker.ended
  })

  test('the file of an export appears only when complete, and its extension must match the format', async ({
    folder,
  }) => {
    folder.write({ 'jobs.mjs': JOBS, 'export.mjs': EXPORT })
    const [, id = ''] = /(\w{16})/.exec(await folder.node('export.mjs')) ?? []
    const early = await folder.run(['task', 'download', id, 'early.csv'])
    expect([early.code, early.stderr]).toEqual([1, expect.stringContaining('has 0 of 3 pages')])

    // Nothing of what was broken off remains.
    const broken = folder.start(['task', 'download', id, 'broken.csv', '--wait'])
    await until(() => readdirSync(folder.path).some((name) => /^broken\.csv\..*\.part$/.test(name)))
    broken.kill('SIGINT')
    expect((await broken.ended).code).toBe(130)

    const waiting = folder.start(['task', 'download', id, 'out.csv', '--wait'])
    const worker = folder.start(['work', '-r', 'jobs.mjs'])
    expect(await waiting.ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/^out\.csv: \d+ bytes\n$/) })
    worker.kill('SIGTERM')
    const [wrong, piped, nowhere] = await Promise.all([
      folder.run(['task', 'download', id, 'out.xlsx']),
      folder.run(['task', 'download', id, '-']),
      folder.run(['task', 'download', id, 'none/out.csv']),
    ])
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('OUT must end with .csv')])
    expect(piped.stdout).toBe(readFileSync(folder.at('out.csv'), 'utf8'))
    expect(piped.stdout.split(/\r\n/)).toEqual(['\uFEFFn,twice', '0,0', '1,2', '2,4', ''])
    expect([nowhere.code, nowhere.stderr]).toEqual([1, expect.stringContaining("can't be written")])
    expect(readdirSync(folder.path).filter((name) => /part|early|broken/.test(name))).toEqual([])
    await worker.ended
  })

  test('an unknown task id exits with 1', async ({ folder }) => {
    await folder.run(['enqueue', 'HardJob'])
    for (const args of [
      ['events', 'nope'],
      ['report', 'nope', 'out.csv'],
    ]) {
      const { code, stderr } = await folder.run(['task', ...args])
      expect(stderr).toBe(
        'highkiq: there is no task nope: it was deleted, or the id is wrong (highkiq task list shows all)\n',
      )
      expect(code).toBe(1)
    }
  })
})
