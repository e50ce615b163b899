import { expect, test } from 'vitest'
import { sameApp } from './open-app.ts'

test('a command in an advice uses the same app and store, and shows no password', () => {
  expect(sameApp({ require: ['my jobs.ts'], url: 'redis://ann:secret@host/1' })).toBe(
    " -r 'my jobs.ts' --url 'redis://ann:***@host/1'",
  )
  expect(sameApp({ url: 'sqlite:x.db' })).toBe(' --url sqlite:x.db')
  expect(sameApp({})).toBe('')
})
