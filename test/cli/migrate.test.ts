/** `highkiq migrate` and its --dry-run on real stores. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, onTestFinished } from 'vitest'
import { openDriver } from '#dist/store/sqlite/file/open-driver.js'
import { newSchema, sharedPostgres } from '../postgres/server.ts'
import { onPostgres } from '../postgres/suite.ts'
import { contents } from '../redis/census.ts'
import { emptyServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { restoreVersion01 } from '../redis/version-01.ts'
import { test } from './command.ts'
import { runHere } from './in-process.ts'

async function migrate(url: string, ...more: string[]): Promise<string> {
  const { code, stdout, stderr } = await runHere(['migrate', '--url', url, ...more])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}

describe('on SQLite', () => {
  test('the script of a dry run creates the tables that a migration would, and it changes nothing', async ({
    folder,
  }) => {
    const url = `sqlite:${folder.at('new.db')}`
    const script = await migrate(url, '--dry-run')
    expect(script).toContain('a new store to version')
    expect(existsSync(folder.at('new.db'))).toBe(false)
    const db = await openDriver(folder.at('new.db'))
    db.exec(script)
    db.close()
    expect(await migrate(url, '--dry-run')).toContain('is up to date')
    expect(await migrate(url)).toContain('is up to date')
    expect(await migrate(`sqlite:${folder.at('other.db')}`)).toMatch(/was created \(version \d+ of the schema\)/)
  })

  test('a file of version 0.1 is migrated by the script, as by the command', async ({ folder }) => {
    const path = (name: string) => {
      const fixture = new URL('../sqlite/fixtures/0.1.db.gz', import.meta.url)
      writeFileSync(folder.at(name), gunzipSync(readFileSync(fixture)))
      return folder.at(name)
    }
    const [first, second] = [path('first.db'), path('second.db')]
    const before = readFileSync(first)
    const script = await migrate(`sqlite:${first}`, '--dry-run')
    expect(readFileSync(first)).toEqual(before)
    const db = await openDriver(first)
    db.exec(script)
    db.close()
    expect(await migrate(`sqlite:${second}`)).toMatch(/was migrated from version 12 of the schema to \d+/)
    for (const file of [first, second])
      expect(JSON.parse(await migrate(`sqlite:${file}`, '--dry-run', '--json'))).toMatchObject({ steps: [] })
  })

  test('a file of a newer version is refused', async ({ folder }) => {
    const url = `sqlite:${folder.at('new.db')}`
    await migrate(url)
    const db = await openDriver(folder.at('new.db'))
    db.exec('UPDATE hk_schema SET version = 999')
    db.close()
    const { code, stderr } = await runHere(['migrate', '--dry-run', '--url', url])
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('was written by a newer Highkiq') })
  })
})

onRedis('on Redis', () => {
  test('a dry run says what would be done, and changes nothing', async () => {
    const server = await emptyServer()
    expect(await migrate(server.url(), '--dry-run')).toContain('SET hk:schema 2')
    const redis = await restoreVersion01(server.url())
    const before = await contents(redis)
    expect(await migrate(server.url(), '--dry-run')).toContain('get new names')
    expect(await contents(redis)).toEqual(before)
    expect(await migrate(server.url())).toContain('was migrated from version 1 of the schema to 2')
    expect(await migrate(server.url(), '--dry-run')).toContain('is up to date')
  })
})

onPostgres('on PostgreSQL', () => {
  test('the script of a dry run creates the schema, and it changes nothing', async () => {
    const server = await sharedPostgres()
    const schema = newSchema()
    onTestFinished(async () => void (await server.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`)))
    const url = server.url(`?schema=${schema}`)
    const script = await migrate(url, '--dry-run')
    expect(await server.query('SELECT to_regnamespace($1) AS there', [schema])).toEqual([{ there: null }])
    await server.query(script)
    expect(await migrate(url, '--dry-run')).toContain('is up to date')
    expect(await migrate(url)).toContain('is up to date')
  })
})
