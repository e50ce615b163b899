import { Highkiq } from 'highkiq'
import { expect, test } from 'vitest'
import { bench, until } from './bench.ts'

test('a module that is evaluated again gets the same app, until it is closed', async () => {
  let made = 0
  const app = () =>
    Highkiq.once('module', () => {
      made++
      return new Highkiq({ url: 'sqlite::memory:' })
    })
  const hq = app()
  expect(app()).toBe(hq)
  expect(made).toBe(1)
  await hq.close()
  const next = app()
  expect(next).not.toBe(hq)
  await next.close()
})

test('a job that is defined twice is refused with a hint at hot reload', async () => {
  const hq = new Highkiq({ url: 'sqlite::memory:' })
  hq.job('Twice', async () => {})
  expect(() => hq.job('Twice', async () => {})).toThrow(
    'a job named Twice is already defined (if hot reload runs this code again, make the app with Highkiq.once)',
  )
  await hq.close()
})

test('an app that could not be made is made at the next call', async () => {
  expect(() =>
    Highkiq.once('late', () => {
      throw new Error('no settings')
    }),
  ).toThrow('no settings')
  const hq = Highkiq.once('late', () => new Highkiq({ url: 'sqlite::memory:' }))
  expect(Highkiq.once('late', () => hq)).toBe(hq)
  await hq.close()
})

test('once is refused without a name, a function or an app', () => {
  const refused = (says: string) =>
    expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining(says) })
  expect(() => Highkiq.once('', () => new Highkiq())).toThrow(refused('Highkiq.once: the name'))
  expect(() => Highkiq.once('a', new Highkiq() as never)).toThrow(refused('must be a function'))
  expect(() => Highkiq.once('a', (() => undefined) as never)).toThrow(refused('must return a new Highkiq()'))
  expect(() => Highkiq.once('a', (async () => new Highkiq()) as never)).toThrow(refused('must return a new Highkiq()'))
})

test('a running worker runs what is defined again', async () => {
  const { hq: made, work } = bench()
  const hq = Highkiq.once('edited', () => made)
  const seen: string[] = []
  const evaluate = (version: string) => {
    const Mail = hq.job('Mail', { retry: version === 'old' ? 1 : 2 }, () => void seen.push(`job ${version}`))
    hq.process('legacy', () => void seen.push(`process ${version}`))
    const Sync = hq.ordered('Sync', () => void seen.push(`ordered ${version}`))
    hq.cron('nightly', version === 'old' ? '0 3 * * *' : '0 4 * * *', Mail)
    return { Mail, Sync }
  }
  const old = evaluate('old')
  await work()
  const push = async ({ Mail, Sync }: typeof old) => {
    await Mail.performAsync()
    await hq.push({ class: 'Unknown', args: [], queue: 'legacy' })
    await Sync.performAsync([{ id: 1 }])
  }
  await push(old)
  await until(() => seen.length === 3)
  const edited = evaluate('new')
  expect(edited.Mail.definition.options.retry).toBe(2)
  await push(edited)
  await until(() => seen.length === 6)
  expect(seen.slice(3).sort()).toEqual(['job new', 'ordered new', 'process new'])
  await until(async () => (await hq.cron('nightly').info())?.spec === '0 4 * * *')

  // What is new needs a new worker, as in any app.
  expect(() => hq.process('other', () => {})).toThrow('call it before hq.worker')
  expect(() => hq.ordered('Sync', { queueName: 'elsewhere' }, () => {})).toThrow(
    "Sync: its queue can't change from Sync to elsewhere: restart the process",
  )
})
