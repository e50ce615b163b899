import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Example } from './example.ts'

test('a charge without a key of its order is made twice, and with one once', () => {
  expect(new Example('docs/good-jobs.md', ['charge.ts']).run('charge.ts')).toBe('charged: 2\ncharged: 1\n')
})

test('a job is retried as often as its page says, then its death is reported', () => {
  const printed = new Example('docs/retries.md', ['retries.ts']).run('retries.ts')
  expect(printed).toBe(
    'attempt 1\nattempt 2\nattempt 3\nSync will not run again: Error: 503 from the shop\nJOB_FAILED\n',
  )
})

test('new code gives a default to jobs of the old code, also under their old name', () => {
  const printed = new Example('docs/upgrades.md', ['change.ts']).run('change.ts')
  expect(printed).toBe('picture 7, 1200 wide\npicture 8, 800 wide\n')
})

test('the jobs of the old form are counted in queues and sets', () => {
  const example = new Example('docs/upgrades.md', ['left.ts'])
  const push = `import { Highkiq } from 'highkiq'
const hq = new Highkiq()
await hq.push({ class: 'ResizePicture', args: [7], queue: 'pictures' })
await hq.push({ class: 'ResizePicture', args: [8], at: Date.now() / 1000 + 60 })
await hq.push({ class: 'Resize', args: [9] })
await hq.close()`
  writeFileSync(join(example.folder, 'push.ts'), push)
  example.run('push.ts')
  expect(example.run('left.ts')).toBe('2 jobs of the old form\n')
})

test('a rejected row of a spreadsheet is corrected in its report and imported', () => {
  const example = new Example('docs/import.md', ['products.csv', 'import.ts'])
  for (const _run of ['the first', 'the same again']) {
    const lines = example.run('import.ts').split('\n')
    expect(lines.filter((line) => !/^[\d.]+%$/.test(line))).toEqual([
      '1 imported, 1 rejected',
      '2 imported, 0 rejected',
      '',
    ])
    expect(lines[0]).toMatch(/%$/)
  }
})

test('an export writes its pages in their order', () => {
  const example = new Example('docs/export.md', ['customers.ts'])
  expect(example.run('customers.ts')).toBe('3 pages\n')
  const rows = Array.from({ length: 25 }, (_, i) => `${i + 1},customer ${i + 1}`)
  expect(readFileSync(join(example.folder, 'customers.csv'), 'utf8').trim().split(/\r?\n/)).toEqual([
    'id,name',
    ...rows,
  ])
})

test('an export with a rejected page is refused until that page has run again', () => {
  const example = new Example('docs/export.md', ['repeat.ts'])
  expect(example.run('repeat.ts')).toBe('EXPORT_INCOMPLETE\n')
  const file = readFileSync(join(example.folder, 'pages.csv'), 'utf8')
  expect(file.trim().split(/\r?\n/)).toEqual(['page,text', '1,row of page 1', '2,row of page 2', '3,row of page 3'])
})

/** Pushes a job that the program of the page follows, takes its webhook, and ends it. */
const FOLLOWED = `
import { once } from 'node:events'
import { createServer } from 'node:http'
import { Highkiq } from 'highkiq'

const server = createServer()
server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.env.WEBHOOK = 'http://127.0.0.1:' + (server.address() as { port: number }).port
const shop = new Highkiq()
shop.job('Import', async () => {})
const worker = shop.worker({ pollInterval: 0.02 })
await worker.start()
const ended = import('./webhooks.ts')
const push = setInterval(() => void shop.push({ class: 'Import', args: [] }), 500)
const [request, response] = await once(server, 'request')
clearInterval(push)
let body = ''
for await (const bytes of request) body += bytes
response.end()
process.emit('SIGTERM')
await ended
await shop.close()
server.closeAllConnections()
server.close()
console.log(body.replaceAll(/[0-9a-f]{24}/g, 'JID'))
`

test('a webhook is called for a job that succeeded, and the program ends at a signal', () => {
  const example = new Example('docs/events.md', ['webhooks.ts'])
  writeFileSync(join(example.folder, 'main.ts'), FOLLOWED)
  expect(example.run('main.ts')).toBe('{"kind":"succeeded","jid":"JID"}\n')
})
