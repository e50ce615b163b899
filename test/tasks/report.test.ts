import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BusinessFailure, type Highkiq, type Task } from 'highkiq'
import { expect, test } from 'vitest'
import { openReport } from '#dist/tasks/corrected-report.js'
import { openFile } from '#dist/tasks/spreadsheet/file.js'
import { writeSpreadsheet } from '#dist/tasks/spreadsheet/write.js'
import { collect, newApp } from './bench.ts'

const FORMATS = ['csv', 'xlsx', 'ndjson'] as const

/** A handler that refuses whatever has `bad` in it. */
function picky(hq: Highkiq) {
  return hq.job('Row', async (_ctx, row: object) => {
    if (JSON.stringify(row).includes('bad')) throw new BusinessFailure('looks bad', { code: 'looks' })
  })
}

async function ended(hq: Highkiq, task: Task) {
  await hq.worker({ concurrency: 1 }).start()
  return task.wait({ every: 10 })
}

/** The task as its store has it. */
async function recordOf(hq: Highkiq, { id }: Task) {
  const record = await hq.store.tasks.find(id)
  if (!record) throw new Error('no task')
  return record
}

async function bytes(stream: ReadableStream<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stream as unknown as AsyncIterable<Uint8Array>) chunks.push(chunk)
  return Buffer.concat(chunks)
}

async function corrected(source: Parameters<typeof openReport>[0], hq: Highkiq, task: Task, options = {}) {
  const app = { store: hq.store, now: Date.now, registry: { get: () => undefined } }
  const rows = await openReport(source, await recordOf(hq, task), options, app)
  const all = await collect(rows)
  return all.map(({ event: { index, run }, number, row: again }) => ({ index, run, number, ...again }))
}

for (const format of FORMATS) {
  test(`a report in ${format} has the same columns, reasons and keys as a file and as a stream`, async () => {
    const { hq, folder } = newApp()
    const task = await hq.tasks.import(picky(hq), Buffer.from('sku,name\na,good\nb,bad\n=c,bad\n'))
    await ended(hq, task)
    const path = join(folder, `out.${format}`)
    expect(await task.report(path)).toEqual({ rows: 2 })
    const streamed = await bytes(await task.report({ format }))
    if (format !== 'xlsx') expect(streamed.equals(readFileSync(path))).toBe(true)
    writeFileSync(path, streamed)
    if (format === 'ndjson') {
      const lines = streamed.toString().trim().split('\n')
      expect(lines.map((line) => JSON.parse(line))).toEqual([
        {
          sku: 'b',
          name: 'bad',
          row: 3,
          'row key': `${task.id}:1:1`,
          status: 'failed',
          code: 'looks',
          messages: 'looks bad',
          attempts: 1,
        },
        {
          sku: '=c',
          name: 'bad',
          row: 4,
          'row key': `${task.id}:2:1`,
          status: 'failed',
          code: 'looks',
          messages: 'looks bad',
          attempts: 1,
        },
      ])
      return
    }
    const { header, rows } = await openFile(path)
    expect(header).toEqual(['sku', 'name', 'row', 'row key', 'status', 'code', 'messages', 'attempts'])
    expect((await collect(rows)).map(({ values }) => Object.values(values).slice(0, 2))).toEqual([
      ['b', 'bad'],
      [format === 'csv' ? "'=c" : '=c', 'bad'],
    ])
  })

  test(`a corrected report in ${format} is read back as its original rows`, async () => {
    const { hq, folder } = newApp()
    const source = Buffer.from("sku,status,name\na,x,good\nb,y,bad\n=c,z,bad\n'=d,007,bad\n")
    const task = await hq.tasks.import(picky(hq), source)
    await ended(hq, task)
    const path = join(folder, `out.${format}`)
    await task.report(path)
    const rows = await corrected(path, hq, task)
    expect(rows).toEqual([
      { index: 1, run: 1, number: expect.any(Number), args: [{ sku: 'b', status: 'y', name: 'bad' }] },
      { index: 2, run: 1, number: expect.any(Number), args: [{ sku: '=c', status: 'z', name: 'bad' }] },
      { index: 3, run: 1, number: expect.any(Number), args: [{ sku: "'=d", status: '007', name: 'bad' }] },
    ])
  })

  test(`columns that look like formulas are read back from a report in ${format}`, async () => {
    const { hq, folder } = newApp()
    const source = Buffer.from("@id,name,-,'=x,=x,+1\n1,good,a,b,c,d\n2,bad,e,f,g,h\n")
    const Row = picky(hq)
    const task = await hq.tasks.import(Row, source)
    await ended(hq, task)
    const path = join(folder, `out.${format}`)
    await task.report(path)
    expect(await corrected(path, hq, task)).toMatchObject([
      { index: 1, args: [{ '@id': '2', name: 'bad', '-': 'e', "'=x": 'f', '=x': 'g', '+1': 'h' }] },
    ])
    const objects = await hq.tasks.import(Row, Buffer.from(`{"'=x":"bad","=x":"y"}\n{"=x":"bad"}\n`))
    await ended(hq, objects)
    await objects.report(path)
    expect(await corrected(path, hq, objects)).toMatchObject([
      { index: 0, args: [{ "'=x": 'bad', '=x': 'y' }] },
      { index: 1, args: [{ '=x': 'bad' }] },
    ])
  })

  test(`rows of NDJSON are read back from a report in ${format}`, async () => {
    const { hq, folder } = newApp()
    const lines = ['{"a":"bad","status":"mine"}', '{"a":"good"}', '{"b":"bad"}']
    const task = await hq.tasks.import(picky(hq), Buffer.from(lines.join('\n')))
    await ended(hq, task)
    const path = join(folder, `out.${format}`)
    await task.report(path)
    const rows = await corrected(path, hq, task)
    expect(rows.map(({ index, args = [] }) => [index, ...args])).toEqual([
      [0, { a: 'bad', status: 'mine' }],
      [2, { b: 'bad' }],
    ])
  })
}

test.for(FORMATS)('untouched cells of a report in %s are the values that were imported', async (format) => {
  const { hq, folder } = newApp()
  const row = { sku: 'bad', price: 12.5, active: true, none: null, tags: ['a', 1], text: 'a\r\nb' }
  const lines = [`{"a":"good"}`, JSON.stringify(row), '{"empty":"","sku":"bad"}']
  const task = await hq.tasks.import(picky(hq), Buffer.from(lines.join('\n')))
  await ended(hq, task)
  const path = join(folder, `out.${format}`)
  await task.report(path)
  expect((await corrected(path, hq, task)).map(({ args }) => args)).toEqual([[row], [{ empty: '', sku: 'bad' }]])
  expect(await task.retry({ report: path })).toMatchObject({ rows: 2, unchanged: 2 })
})

test('formulas inside cells, arguments and names of a CSV report are read back as they were', async () => {
  const { hq, folder } = newApp()
  const Row = picky(hq)
  const source = Buffer.from(`sku,"a;=n",name\n"x;=cmd","1\n-2",bad\n"y;'=cmd",3,bad\n`)
  const task = await hq.tasks.import(Row, source)
  await ended(hq, task)
  const path = join(folder, 'out.csv')
  await task.report(path)
  const text = readFileSync(path, 'utf8')
  for (const written of ["a;'=n", "x;'=cmd", "1\n'-2", "y;''=cmd"]) expect(text).toContain(written)
  const rows = [
    { sku: 'x;=cmd', 'a;=n': '1\n-2', name: 'bad' },
    { sku: "y;'=cmd", 'a;=n': '3', name: 'bad' },
  ]
  expect((await corrected(path, hq, task)).map(({ args }) => args)).toEqual(rows.map((row) => [row]))
  expect(await task.retry({ report: path })).toMatchObject({ rows: 2, unchanged: 2 })

  const lines = rows.map((row) => JSON.stringify(row)).join('\n')
  const mixed = await hq.tasks.import(Row, Buffer.from(lines))
  await mixed.wait({ every: 10 })
  await mixed.report(path)
  expect((await corrected(path, hq, mixed)).map(({ args }) => args)).toEqual(rows.map((row) => [row]))

  const listed = await hq.tasks.create(Row as never, [['bad;=b', 2]] as never)
  await listed.wait({ every: 10 })
  await listed.report(path)
  expect(readFileSync(path, 'utf8')).toContain("bad;'=b")
  expect((await corrected(path, hq, listed)).map(({ args }) => args)).toEqual([['bad;=b', 2]])
})

/** Saves a file as a workbook, as a spreadsheet does, and changes its cells. */
async function saveAsWorkbook(path: string, change = (cell: unknown) => cell): Promise<string> {
  const { header = [], rows } = await openFile(path)
  const workbook = path.replace(/\w+$/, 'saved.xlsx')
  const cells = (await collect(rows)).map(({ values }) => header.map((name) => change(values[name])))
  await writeSpreadsheet(workbook, { header, rows: cells })
  return workbook
}

test('a CSV report that was saved as a workbook is read back without its apostrophes, corrected cells too', async () => {
  const { hq, folder } = newApp()
  const Row = picky(hq)
  const source = Buffer.from(`@id,name,-,'=x,=x\n=c,bad,"1\n-2",x;=cmd,+49 1\n'=d,bad,3,,=e\n`)
  const task = await hq.tasks.import(Row, source)
  await ended(hq, task)
  const path = join(folder, 'out.csv')
  await task.report(path)
  const rows = [
    { '@id': '=c', name: 'bad', '-': '1\n-2', "'=x": 'x;=cmd', '=x': '+49 1' },
    { '@id': "'=d", name: 'bad', '-': '3', "'=x": '', '=x': '=e' },
  ]
  const saved = await saveAsWorkbook(path)
  expect((await corrected(saved, hq, task)).map(({ args }) => args)).toEqual(rows.map((row) => [row]))
  const keyless = await saveAsWorkbook(path, (cell) => (String(cell).startsWith(`${task.id}:`) ? '' : cell))
  expect((await corrected(keyless, hq, task, { rowKey: '@id' })).map(({ index }) => index)).toEqual([0, 1])
  const changed = await saveAsWorkbook(path, (cell) => (cell === "'+49 1" ? "'+49 2" : cell))
  expect((await corrected(changed, hq, task))[0]?.args).toEqual([{ ...rows[0], '=x': '+49 2' }])
  expect(await task.retry({ report: await saveAsWorkbook(path) })).toMatchObject({ rows: 2, unchanged: 2 })

  const objects = await hq.tasks.import(Row, Buffer.from('{"=x":"=bad","y":1}\n{"=x":"bad"}\n'))
  await objects.wait({ every: 10 })
  await objects.report(path)
  expect((await corrected(await saveAsWorkbook(path), hq, objects)).map(({ args }) => args)).toEqual([
    [{ '=x': '=bad', y: 1 }],
    [{ '=x': 'bad' }],
  ])

  const listed = await hq.tasks.create(Row as never, [['bad;=b', 2]] as never)
  await listed.wait({ every: 10 })
  await listed.report(path)
  expect((await corrected(await saveAsWorkbook(path), hq, listed)).map(({ args }) => args)).toEqual([['bad;=b', 2]])
})

test('a report in xlsx keeps the apostrophe of a cell that had one, also when the cell is corrected', async () => {
  const { hq, folder } = newApp()
  const task = await hq.tasks.import(picky(hq), Buffer.from("sku,name\n'=a,bad\n'=b,bad\n"))
  await ended(hq, task)
  const path = join(folder, 'out.xlsx')
  await task.report(path)
  const saved = await saveAsWorkbook(path, (cell) => (cell === "'=b" ? "'=c" : cell))
  expect((await corrected(saved, hq, task)).map(({ args }) => args)).toEqual([
    [{ sku: "'=a", name: 'bad' }],
    [{ sku: "'=c", name: 'bad' }],
  ])
})

test('a CSV report of a workbook that Excel has saved again gives back its numbers and booleans', async () => {
  const { hq, folder } = newApp()
  const workbook = join(folder, 'in.xlsx')
  await writeSpreadsheet(workbook, {
    header: ['sku', 'price', 'active', 'day'],
    rows: [
      ['bad', 0.5, true, 7],
      ['bad', 1, false, 8],
    ],
  })
  const task = await hq.tasks.import(picky(hq), workbook)
  await ended(hq, task)
  const path = join(folder, 'out.csv')
  await task.report(path)
  writeFileSync(path, readFileSync(path, 'utf8').replace('0.5,true,7', '0.50,TRUE,9'))
  expect((await corrected(path, hq, task)).map(({ args }) => args)).toEqual([
    [{ sku: 'bad', price: 0.5, active: true, day: '9' }],
    [{ sku: 'bad', price: 1, active: false, day: 8 }],
  ])
})

test.for(FORMATS)('a report in %s of a file whose header has line breaks can be corrected', async (format) => {
  const { hq, folder } = newApp()
  const task = await hq.tasks.import(picky(hq), Buffer.from('sku,"price\r\n(net)"\r\nbad,"1\r\n2"\r\n'))
  await ended(hq, task)
  const path = join(folder, `out.${format}`)
  await task.report(path)
  // A spreadsheet saves line breaks in its own way.
  if (format === 'csv')
    writeFileSync(path, readFileSync(path, 'utf8').replace('price\r\n', 'price\n').replace('1\r\n', '1\n'))
  expect((await corrected(path, hq, task)).map(({ args }) => args)).toEqual([
    [{ sku: 'bad', 'price\r\n(net)': '1\r\n2' }],
  ])
})

test.for(FORMATS)(
  'rows that were given as objects are columns of a report in %s, and come back from it',
  async (format) => {
    const { hq, folder } = newApp()
    const rows = [{ sku: 'bad', price: 1 }, { sku: 'good' }, { sku: 'bad', price: 2, tags: ['x'] }]
    const task = await hq.tasks.create(
      picky(hq),
      rows.map((row): [object] => [row]),
    )
    await ended(hq, task)
    const path = join(folder, `out.${format}`)
    await task.report(path)
    const text = readFileSync(path, 'utf8')
    if (format === 'csv') {
      expect(text.split('\r\n').slice(0, 2)).toEqual([
        '\uFEFFsku,price,tags,row,row key,status,code,messages,attempts',
        `bad,1,,,${task.id}:0:1,failed,looks,looks bad,1`,
      ])
      writeFileSync(path, text.replace('bad,2', 'good,2'))
    }
    const all = await corrected(path, hq, task)
    expect(all.map(({ index, args = [] }) => [index, ...args])).toEqual([
      [0, rows[0]],
      [2, { ...rows[2], ...(format === 'csv' ? { sku: 'good' } : {}) }],
    ])
    expect(await task.retry({ report: path })).toMatchObject({ rows: 2, unchanged: format === 'csv' ? 1 : 2 })
  },
)

test('columns may be moved and rows left out; numbers that a spreadsheet made of texts are texts again', async () => {
  const { hq, folder } = newApp()
  const task = await hq.tasks.import(picky(hq), Buffer.from('sku,price\nbad1,1\nbad2,2\nbad3,3\n'))
  await ended(hq, task)
  const path = join(folder, 'out.xlsx')
  await writeSpreadsheet(path, {
    header: ['note', 'price', 'row key', 'sku'],
    rows: [
      ['x', 3.5, `${task.id}:2:1`, 'c'],
      ['', 1, `${task.id}:0:1`, 'a'],
    ],
  })
  const rows = await corrected(path, hq, task)
  expect(rows.map(({ index, args }) => [index, args?.[0]])).toEqual([
    [2, { sku: 'c', price: '3.5' }],
    [0, { sku: 'a', price: '1' }],
  ])
})

test('a corrected row passes through columns and validation as at first', async () => {
  const { hq } = newApp()
  const validate = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value: unknown) => {
        const { price } = value as Record<string, string>
        return Number(price) >= 0 ? { value: { price: Number(price) } } : { issues: [{ message: 'no price' }] }
      },
    },
  } as const
  const options = { columns: { Price: 'price' }, validate }
  const task = await hq.tasks.import(picky(hq), Buffer.from('Price,Note\nx,1\ny,2\n5,3\n'), options)
  const report = (await bytes(await task.report({ format: 'csv' }))).toString()
  expect(report).toContain('x,1,2,')
  const rows = await corrected(Buffer.from(report.replace('\r\nx,', '\r\n7,')), hq, task, options)
  expect(rows).toMatchObject([
    { index: 0, args: [{ price: 7 }], source: { Price: '7', Note: '1' } },
    { index: 1, rejected: { code: 'invalid' } },
  ])
})

test('the arguments of a task without a file are read back from its report', async () => {
  const { hq } = newApp()
  const Row = hq.job('Row', async (_ctx, sku: string, _n: number) => {
    if (sku === 'bad') throw new BusinessFailure('bad')
  })
  const task = await hq.tasks.create(Row, [
    ['a', 1],
    ['bad', 2],
  ])
  await ended(hq, task)
  const report = await bytes(await task.report({ format: 'csv' }))
  const fixed = Buffer.from(report.toString().replace('bad', 'good'))
  const rows = await corrected(fixed, hq, task)
  expect(rows).toEqual([{ index: 1, run: 1, number: 2, args: ['good', 2] }])
  const broken = Buffer.from(report.toString().replace('[', ''))
  await expect(corrected(broken, hq, task)).rejects.toMatchObject({
    code: 'INVALID_FILE',
    message: expect.stringContaining('row 2, column "arguments"'),
  })
})

test.each([
  ['has no row key', 'sku,name\na,b\n', /no column "row key"/],
  ['lacks a column', 'sku,row key\na,ID:0:1\n', /no column "name"/],
  ['has a key that is none', 'sku,name,row key\na,b,7\n', /row 2, column "row key": "7" is not a row key/],
  ['is of another task', 'sku,name,row key\na,b,00000000000000ff:0:1\n', /row 2.*of task 00000000000000ff/],
  ['has a row twice', 'sku,name,row key\na,b,ID:0:1\nc,d,ID:0:1\n', /row 3.*row 2 has the same row key/],
])('a report that %s is refused', async (_what, text, words) => {
  const { hq, folder } = newApp()
  const task = await hq.tasks.import(picky(hq), Buffer.from('sku,name\na,bad\n'))
  const source = Buffer.from(text.replaceAll('ID', task.id))
  await expect(corrected(source, hq, task)).rejects.toMatchObject({
    code: 'INVALID_FILE',
    message: expect.stringMatching(words),
  })
  const path = join(folder, 'corrected.csv')
  writeFileSync(path, source)
  await expect(corrected(path, hq, task)).rejects.toThrow(`${path}: `)
  await expect(corrected(path, hq, task)).rejects.toMatchObject({
    code: 'INVALID_FILE',
    message: expect.stringMatching(words),
  })
})

test('a report of all rows needs a task that keeps them all', async () => {
  const { hq } = newApp()
  const Row = picky(hq)
  const source = Buffer.from('sku\na\nbad\n')
  const rejected = await hq.tasks.import(Row, source)
  await expect(rejected.report({ format: 'csv', rows: 'all' })).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    message: expect.stringContaining("keepArgs: 'all'"),
  })
  const all = await hq.tasks.import(Row, source, { keepArgs: 'all', allowDuplicate: true })
  await ended(hq, all)
  const report = (await bytes(await all.report({ format: 'csv', rows: 'all' }))).toString().split('\r\n')
  expect(report).toHaveLength(4)
  expect(report[1]).toBe(`a,2,${all.id}:0:1,finished,,,1`)
})

test('a report that is not read to its end reads no further events', async () => {
  const { hq } = newApp()
  const task = await hq.tasks.import(picky(hq), Buffer.from(`sku\n${'bad\n'.repeat(5)}`))
  await ended(hq, task)
  const reader = (await task.report({ format: 'csv' })).getReader()
  await reader.cancel()
  expect(await reader.read()).toEqual({ done: true, value: undefined })
})

/** Our columns and the status of a refused row. */
const SAID = {
  en: [['row', 'row key', 'status', 'code', 'messages', 'attempts'], 'failed'],
  zh: [['行号', '行标识', '处理状态', '原因代码', '消息', '执行次数'], '被拒绝'],
  ru: [['строка', 'ключ строки', 'статус строки', 'код причины', 'сообщения', 'попытки'], 'отклонено'],
} as const
const LANGUAGES = ['en', 'zh', 'ru'] as const

test.for(FORMATS)('a report in %s is written in each language and read back without naming it', async (format) => {
  const { hq, folder } = newApp()
  const task = await hq.tasks.import(picky(hq), Buffer.from('sku,name\na,good\nb,bad\nc,bad\n'))
  await ended(hq, task)
  for (const lang of LANGUAGES) {
    const path = join(folder, `${lang}.${format}`)
    await task.report(path, { lang })
    const [columns, status] = SAID[lang]
    const all = ['sku', 'name', ...columns]
    if (format === 'ndjson') {
      const lines = readFileSync(path, 'utf8').trim().split('\n')
      const rows = lines.map((line) => JSON.parse(line))
      expect(rows.map((row) => [Object.keys(row), row[columns[2]]])).toEqual([
        [all, status],
        [all, status],
      ])
      rows[0].sku = lang
      writeFileSync(path, rows.map((row) => JSON.stringify(row)).join('\n'))
    } else {
      const sheet = await openFile(path)
      const rows = (await collect(sheet.rows)).map(({ values }) => Object.values(values))
      expect([sheet.header, ...rows.map((values) => values[4])]).toEqual([all, status, status])
      rows[0]?.splice(0, 1, lang)
      // Columns may be moved.
      await writeSpreadsheet(path, { header: all.reverse(), rows: rows.map((values) => values.reverse()) })
    }
    expect((await corrected(path, hq, task)).map(({ index, args = [] }) => [index, ...args])).toEqual([
      [1, { sku: lang, name: 'bad' }],
      [2, { sku: 'c', name: 'bad' }],
    ])
    expect(await task.retry({ report: path })).toMatchObject({ rows: 2, unchanged: 1 })
    await task.wait({ every: 10 })
  }
})

test.for(FORMATS)(
  'columns of a file named like an added column in any language keep their name in %s',
  async (format) => {
    const { hq, folder } = newApp()
    const own = LANGUAGES.flatMap((language) => SAID[language][0])
    const row = Object.fromEntries([...own, 'task row key'].map((name, i) => [name, i === 0 ? 'bad' : `value ${i}`]))
    const Row = picky(hq)
    const tasks = [
      await hq.tasks.import(Row, Buffer.from(`${Object.keys(row).join(',')}\n${Object.values(row).join(',')}\n`)),
      await hq.tasks.import(Row, Buffer.from(JSON.stringify(row))),
      await hq.tasks.create(Row, [[row]]),
    ]
    await hq.worker().start()
    for (const task of tasks) {
      await task.wait({ every: 10 })
      for (const lang of LANGUAGES) {
        const path = join(folder, `out.${format}`)
        await task.report(path, { lang })
        expect((await corrected(path, hq, task)).map(({ args }) => args)).toEqual([[row]])
      }
    }
  },
)

test('lists of arguments, and objects with a key named job, are read back in each language', async () => {
  const { hq, folder } = newApp()
  const refuse = async () => {
    throw new BusinessFailure('no')
  }
  const Row = hq.job('Row', async (_ctx, _one: unknown, _two?: unknown) => refuse())
  const mixed = await hq.tasks.create(Row, [['a', 1]])
  await mixed.add(
    hq.job('Other', async (_ctx, _n: number) => refuse()),
    [[7]],
  )
  const objects = await hq.tasks.create(Row, [[{ job: 'painter', 作业: 'x', аргументы: 'y' }]])
  await hq.worker().start()
  for (const [task, args] of [
    [mixed, [['a', 1], [7]]],
    [objects, [[{ job: 'painter', 作业: 'x', аргументы: 'y' }]]],
  ] as const) {
    await task.wait({ every: 10 })
    for (const lang of LANGUAGES) {
      const path = join(folder, 'out.csv')
      await task.report(path, { lang })
      expect((await corrected(path, hq, task)).map((row) => row.args)).toEqual(args)
    }
  }
})

test('faults of a report are reported with the names of its own columns', async () => {
  const { hq } = newApp()
  const task = await hq.tasks.import(picky(hq), Buffer.from('sku,name\na,bad\n'))
  await ended(hq, task)
  const report = (await bytes(await task.report({ format: 'csv', lang: 'zh' }))).toString()
  const refused = (text: string) => corrected(Buffer.from(text), hq, task)
  await expect(refused(report.replace('行标识', 'x'))).rejects.toMatchObject({
    code: 'INVALID_FILE',
    details: { missing: ['行标识'] },
  })
  await expect(refused(report.replace(`${task.id}:0:1`, '7'))).rejects.toThrow(
    'row 2, column "行标识": "7" is not a row key',
  )
})

test("Highkiq's messages follow the language of the report, the app's do not", async () => {
  const { hq, folder } = newApp()
  const workbook = join(folder, 'in.xlsx')
  await writeSpreadsheet(workbook, {
    header: ['sku', 'price'],
    rows: [
      ['bad', 1],
      ['c', '#REF!'],
    ],
  })
  const task = await hq.tasks.import(picky(hq), workbook)
  await ended(hq, task)
  const texts = async (lang: (typeof LANGUAGES)[number]) => {
    const path = join(folder, `${lang}.xlsx`)
    await task.report(path, { lang })
    return (await collect((await openFile(path)).rows)).map(({ values }) => Object.values(values)[6])
  }
  expect(await texts('en')).toEqual(['looks bad', 'price: its formula has no result (#REF!)'])
  expect(await texts('zh')).toEqual(['looks bad', 'price：公式没有结果（#REF!）'])
  expect(await texts('ru')).toEqual(['looks bad', 'price: у формулы нет результата (#REF!)'])
})

test('an unknown language is refused', async () => {
  const { hq } = newApp()
  const task = await hq.tasks.import(picky(hq), Buffer.from('sku\nbad\n'))
  const lang = 'fr' as 'en'
  await expect(task.report({ format: 'csv', lang })).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    message: `task.report: lang must be one of 'en', 'zh', 'ru' (got "fr")`,
  })
})
