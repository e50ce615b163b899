import { expect, test } from 'vitest'
import { dateStyleOf } from './date-style.ts'

test.each([
  ['dd.mm.yyyy', 'date'],
  ['m/d/yy h:mm', 'date'],
  ['[$-409]mmmm', 'date'],
  ['yyyy"年"', 'date'],
  ['[h]:mm', 'elapsed'],
  ['[mm]', 'elapsed'],
  ['h AM/PM', 'time'],
  ['h"时"mm"分"', 'time'],
  ['h\\.mm', 'time'],
  ['mm"m"ss"s"', 'time'],
  ['[Red]0.00', undefined],
  ['General', undefined],
  ['0 "days"', undefined],
  ['0\\d', undefined],
  ['_d0', undefined],
  ['[$din.-241A]#,##0', undefined],
  ['0 hours', undefined],
  ['@', undefined],
])('the format %s shows a number as: %s', (code, style) => {
  expect(dateStyleOf(code)).toBe(style)
})

test('a long format with brackets that are never closed is read in linear time', () => {
  expect(dateStyleOf(`${'['.repeat(500_000)} yyyy`)).toBe('date')
})
