import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { filesOf, folders, namesIn, rings, ringsOf, secondsOf } from './rings.ts'

const servers = ['on Redis', 'on PostgreSQL'] as const
const projects = ['highkiq', ...servers] as const

test('every test file is in exactly one ring', () => {
  const all = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts'))
    .map((path) => `test/${path.replaceAll('\\', '/')}`)
  const inRings = rings.flatMap((ring) => filesOf('highkiq', ring))
  expect(inRings.toSorted()).toEqual(all.toSorted())
})

test.each(servers)('every suite %s is in exactly one ring, or in none on purpose', (project) => {
  const inRings = rings.flatMap((ring) => filesOf(project, ring))
  expect(inRings.toSorted()).toEqual(filesOf(project).toSorted())
  const left = filesOf('highkiq').filter((path) => dirname(path) in folders[project] && !inRings.includes(path))
  const none = Object.entries(folders[project]).flatMap(([path, folder]) =>
    (folder.none ?? []).map((name) => `${path}/${name}.test.ts`),
  )
  expect(left.toSorted()).toEqual(none.toSorted())
})

test.each(projects)('every name in the rings of %s is that of a test file, and is listed once', (project) => {
  for (const [path, folder] of Object.entries(folders[project])) {
    const names = namesIn(path)
    const said = [...rings.flatMap((ring) => folder[ring] ?? []), ...(folder.none ?? [])]
    expect(said.filter((name) => !names.includes(name), path)).toEqual([])
    expect(said.length, path).toBe(new Set(said).size)
    expect(
      said.filter((name) => folder[folder.rest]?.includes(name)),
      `${path}: is in "rest" already`,
    ).toEqual([])
    for (const name of names) expect(ringsOf(folder, name).length, `${path}/${name}`).toBeLessThanOrEqual(1)
  }
})

test('every file that is listed as long exists', () => {
  const all = filesOf('highkiq')
  expect(Object.keys(secondsOf).filter((path) => !all.includes(path))).toEqual([])
})
