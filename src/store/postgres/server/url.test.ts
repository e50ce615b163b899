import { expect, test } from 'vitest'
import { readPostgresUrl } from './url.ts'

function shown(url: string): string {
  try {
    return readPostgresUrl(url).url
  } catch (thrown) {
    return (thrown as Error).message
  }
}

test.each([
  'postgres://ann:se/cret@h/db',
  'postgres://ann:se@cret@h/db',
  'postgres://ann:se@cr/et@h/db?schema=',
  'postgres://ann:12/se@cret@h/db',
  'postgres://ann:12?se&cret@h/db',
  'postgres://ann:12#secret@h/db',
  'postgres://ann:se:cr@et@h:99999/db',
  'postgres://ann:sec\nret@h/db?schema=',
  'postgres://h/db?password=secret',
  'postgres://h/db?pass%77ord=secret',
  'postgres://ann@h/db?application_name=x&password=secret&schema=',
  'postgres://:secret@h/db',
  'postgres:/ann:secret@h/db',
  'postgres://a?nn:secret@h/db?schema=a',
  'postgres://a/nn:secret@h/db',
  'postgres://a#nn:secret@h/db',
  'postgres://ann:%secret@h/db',
  'postgres:ann:secret@h/db',
  'postgres:////ann:secret@h/db',
  'postgresql://ann:secret@h/db?connections=0',
])('the password of %j is never shown', (url) => {
  expect(shown(url)).not.toMatch(/se[/@:\n]?cr|cret|\bet@|\bsecret/)
  expect(shown(url)).toContain('***')
})

test('a URL is shown with its user, host, database and options', () => {
  expect(shown('postgres://ann:secret@h:5433/db?schema=jobs')).toBe('postgres://ann:***@h:5433/db?schema=jobs')
  expect(shown('postgres://ann@h/db?application_name=me@x')).toBe('postgres://ann@h/db?application_name=me@x')
  expect(readPostgresUrl('postgres://ann:s%2Fe%40c@h/db').connectionString).toBe('postgres://ann:s%2Fe%40c@h/db')
})

test('the error of an invalid URL says how to write a password', () => {
  expect(shown('postgres://ann:se/cret@h/db')).toBe(
    'a PostgreSQL URL must look like postgres://user:password@host:5432/database, and / ? # @ % in a password like %2F %3F %23 %40 %25 (got postgres://ann:***@h/db)',
  )
})
