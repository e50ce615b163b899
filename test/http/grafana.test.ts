/** Tests of docs/grafana.json, a dashboard of Grafana for `/metrics`. */

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { suiteWith } from '../programs/suite.ts'
import { api } from './api.ts'
import { promtool } from './prometheus.ts'

interface Panel {
  id: number
  title: string
  gridPos: { x: number; y: number; w: number; h: number }
  targets: { expr: string; legendFormat: string }[]
}

const file = new URL('../../docs/grafana.json', import.meta.url)
const { panels } = JSON.parse(readFileSync(file, 'utf8')) as { panels: Panel[] }

/** The expressions as Prometheus gets them: with the values of Grafana's variables. */
const expressions = panels.flatMap(({ targets }) =>
  targets.map(({ expr }) => expr.replaceAll('$__rate_interval', '5m')),
)

/** Scrapes an app in which something has happened of everything that is measured. */
async function scraped(): Promise<string> {
  const { call, hq, clock } = api()
  const minute = Math.floor(Date.now() / 60_000) * 60_000
  const record = (number: number, at: number) => {
    const histogram = Array.from({ length: 26 }, () => number)
    const jobs = [{ name: 'HardJob', processed: 30, failed: 4, ms: 2500, histogram }]
    return hq.store.metrics.record({ source: 'test', number, at, jobs, waits: [{ queue: 'low', ms: 90, histogram }] })
  }
  await hq.job('HardJob', async () => {}).performAsync()
  await hq.ordered('Sync', { shards: 2 }, async () => {}).performAsync([{ id: 1, payload: {} }])
  clock.ahead = (minute - Date.now()) / 1000 + 80
  await record(1, minute)
  const { status, text } = await call('GET', '/metrics', { headers: { accept: 'text/plain' } })
  expect(status).toBe(200)
  return text
}

/** Returns the labels of each series of a scrape, by its name. */
function labelsIn(text: string): Map<string, Set<string>> {
  const all = new Map<string, Set<string>>()
  for (const line of text.split('\n')) {
    const [, name, labels = ''] = /^(highkiq_\w+)(?:\{(.*)\})? /.exec(line) ?? []
    if (name === undefined) continue
    const known = all.get(name) ?? new Set()
    for (const [, label] of labels.matchAll(/(\w+)="/g)) known.add(label as string)
    all.set(name, known)
  }
  return all
}

test('every panel of the Grafana dashboard shows metrics and labels that are served', async () => {
  const served = labelsIn(await scraped())
  expect(expressions.length).toBeGreaterThan(20)
  for (const expression of expressions) {
    const names = expression.match(/highkiq_\w+/g) ?? []
    expect(names, expression).not.toEqual([])
    const labels = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, all = '']) => all.split(', '))
    for (const name of names) {
      expect([...served.keys()], expression).toContain(name)
      for (const label of labels) expect([...(served.get(name) ?? [])], expression).toContain(label)
    }
  }
  // Nothing that is served is forgotten, but for the version and the pause of a queue.
  const shown = new Set(expressions.join(' ').match(/highkiq_[a-z_]+?(?=_bucket|\W)/g))
  const families = [...served.keys()].map((name) => name.replace(/_(bucket|sum|count)$/, ''))
  const unused = new Set(families.filter((name) => !shown.has(name)))
  expect([...unused].sort()).toEqual(['highkiq_info', 'highkiq_job_processed_total', 'highkiq_queue_paused'])
})

test('no metric has a label that Prometheus sets itself', async () => {
  const labels = [...labelsIn(await scraped()).values()].flatMap((names) => [...names])
  expect(labels).toContain('class')
  for (const own of ['job', 'instance']) expect(labels).not.toContain(own)
})

test('the panels of the Grafana dashboard have names of their own, and do not overlap', () => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length)
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
  )
  expect(new Set(cells).size).toBe(cells.length)
  for (const { gridPos } of panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
})

suiteWith([promtool], 'with promtool', () => {
  function run(args: string[], input = '') {
    return spawnSync('promtool', args, { encoding: 'utf8', input })
  }

  function checkRules(all: readonly string[]) {
    const folder = mkdtempSync(join(tmpdir(), 'highkiq-promtool-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const rules = all.map((expr, i) => ({ record: `panel:${i}`, expr }))
    // JSON is YAML.
    writeFileSync(join(folder, 'rules.yml'), JSON.stringify({ groups: [{ name: 'panels', rules }] }))
    return run(['check', 'rules', join(folder, 'rules.yml')])
  }

  test('every expression of the Grafana dashboard parses', () => {
    const { status, stdout, stderr } = checkRules(expressions)
    expect([status, stderr]).toEqual([0, expect.not.stringMatching(/error|failed/i)])
    expect(stdout).toContain(`${expressions.length} rules found`)
    expect(checkRules(['max by (queue (highkiq_queue_size)']).status).not.toBe(0)
  })

  test('promtool accepts the metrics', async () => {
    const { status, stderr } = run(['check', 'metrics'], await scraped())
    expect([status, stderr]).toEqual([0, ''])
  })
})
