/**
 * Cursors, keys, links and event ids that are malformed, or used where they do not belong. They open no more than they did, tell nothing
 * of what is sealed in them, and the answer is a page or an error that the OpenAPI document describes.
 */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkAnswer } from '../http/api.ts'
import { byteEdits, editedText, FUZZ_TIME, fuzz, STACK } from './fuzz.ts'
import { LOGIN, type Operation, operations, SECRET, type World, world } from './world.ts'

const lists = (await operations()).filter(({ method, parameters }) => method === 'GET' && parameters.some(isPosition))

function isPosition({ name }: Operation['parameters'][number]): boolean {
  return ['cursor', 'after', 'before', 'key', 'from', 'token', 'last-event-id'].includes(name)
}

function pathOf({ path }: Operation, { task, bid }: World): string {
  const name = path.includes('/ordered') ? 'Sync' : path.includes('/cron') ? 'nightly' : 'low'
  const values: Record<string, string> = {
    name,
    bid,
    id: path.includes('/ordered') ? '1' : task,
    jid: 'b4a577edbccf1d805744efa9',
  }
  return path.replace(/\{(\w+)\}/g, (_, one: string) => values[one] ?? 'HardJob')
}

async function answerOf({ url }: World, path: string, headers: Record<string, string>) {
  const ending = new AbortController()
  const response = await fetch(url + path, { headers, signal: ending.signal })
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const { value } = (await response.body?.getReader().read()) ?? {}
    ending.abort()
    return { status: response.status, text: Buffer.from(value ?? []).toString() }
  }
  const text = await response.text()
  await checkAnswer('GET', path, response, text)
  return { status: response.status, text }
}

/** Returns all positions that the lists of a world give out: `next` of each, and the keys of its items. */
async function positionsOf(w: World): Promise<string[]> {
  const found: string[] = []
  for (const list of lists) {
    const query = list.parameters.some(({ name }) => name === 'limit') ? '?limit=1' : ''
    const { text } = await answerOf(w, pathOf(list, w) + query, LOGIN)
    for (const [, position] of text.matchAll(/"(?:next|key|cursor)":"([^"]+)"/g)) if (position) found.push(position)
  }
  return [...new Set([...found, ...Object.values(w.tokens), '1-abc', '0', '4000000000~0123456789abcdef'])]
}

test('a malformed or foreign position is a page or an error, and tells nothing', { timeout: FUZZ_TIME }, async () => {
  const w = await world()
  const positions = await positionsOf(w)
  expect(positions.length).toBeGreaterThan(10)
  const malformed = fc.record({
    list: fc.constantFrom(...lists),
    which: fc.constantFrom(...positions),
    edits: byteEdits([
      '.',
      '~',
      '-',
      '_',
      '=',
      'A',
      'read.',
      'redacted.',
      'v1.',
      'l0-',
      '0',
      '9'.repeat(20),
      '\0',
      '%',
    ]),
    parameter: fc.nat(),
  })
  await fuzz({ percent: 8 }, malformed, async ({ list, which, edits, parameter }) => {
    const position = editedText(which, edits)
    const places = list.parameters.filter(isPosition)
    const place = places[parameter % places.length] as Operation['parameters'][number]
    const inHeader = place.in === 'header'
    const path =
      pathOf(list, w) + (inHeader ? '' : `?${new URLSearchParams({ [place.name]: position.toWellFormed() })}`)
    const header = position.replace(/[^\x21-\x7e]/g, '')
    const { status, text } = await answerOf(w, path, { ...LOGIN, ...(inHeader ? { [place.name]: header } : {}) })
    const about = `GET ${path} ${status} ${text}`
    expect(status, about).toBeLessThan(500)
    expect(text, about).not.toContain(SECRET)
    expect(text, about).not.toMatch(STACK)
  })
  expect(w.t.log.lines.filter(({ level }) => level === 'error')).toEqual([])
  await w.close()
})

test('a malformed token of a link opens nothing', { timeout: FUZZ_TIME }, async () => {
  const w = await world()
  const other = (await w.t.hq.tasks.create(w.t.hq.jobNamed('Row') as never, [[{ sku: 'z' }]], { meta: { user: '8' } }))
    .id
  const { task } = w
  const paths = {
    task: [`/api/v1/tasks/${task}`, `/tasks/${task}`, `/api/v1/tasks/${task}/report`, `/api/v1/tasks/${task}/events`],
    read: [`/api/v1/tasks/${task}`],
    list: ['/tasks?meta.user=7'],
  }
  const edits = byteEdits(['.', '-', '_', 'read.', 'redacted.', 'v1.', 'l0-', 'l0-dXNlcj04.', '4000000000.', '0'])
  const malformed = fc.record({
    kind: fc.constantFrom('task' as const, 'read' as const, 'list' as const),
    which: fc.nat(),
    edits,
    inHeader: fc.boolean(),
  })
  await fuzz({ percent: 5 }, malformed, async ({ kind, which, edits, inHeader }) => {
    const edited = editedText(w.tokens[kind], edits).toWellFormed()
    const token = inHeader ? edited.replace(/[^\x21-\x7e]/g, '') : edited
    const own = paths[kind][which % paths[kind].length] as string
    for (const path of [own, `/api/v1/tasks/${other}`, '/api/v1/jobs', '/api/v1/tasks?meta.user=8']) {
      const query = inHeader ? '' : `${path.includes('?') ? '&' : '?'}token=${encodeURIComponent(token)}`
      const header = { authorization: `Bearer ${token}` }
      const { status, text } = await answerOf(w, path + query, inHeader ? header : {})
      const about = `${path + query} ${status} ${text}`
      const isSame = Buffer.from(token.slice(-43), 'base64url').equals(
        Buffer.from(w.tokens[kind].slice(-43), 'base64url'),
      )
      // The last letter of a signature has two bits that mean nothing.
      if (path === own && isSame && token.slice(0, -43) === w.tokens[kind].slice(0, -43))
        expect(status, about).toBe(200)
      // Many wrong logins have to wait.
      else expect([400, 401, 403, 404, 429], about).toContain(status)
      expect(text, about).not.toContain(SECRET)
    }
  })
  expect(w.t.log.lines.filter(({ level }) => level === 'error')).toEqual([])
  await w.close()
})
