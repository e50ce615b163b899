import { expect, test } from 'vitest'
import { rowFieldsOf, rowText } from './row-fields.ts'

const schema = {
  type: 'object',
  required: ['sku', 'price', 'note', 'size'],
  properties: {
    sku: { type: 'string', description: 'as on the label' },
    price: { type: 'number' },
    count: { type: 'integer' },
    isNew: { type: 'boolean' },
    size: { enum: ['s', 'm'] },
    note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    weight: { type: ['number', 'null'] },
    tags: { type: 'array', items: { type: 'string' } },
    mixed: { anyOf: [{ type: 'string' }, { type: 'number' }] },
  },
}

test('each property has a field of its kind', () => {
  const fields = rowFieldsOf(schema)
  expect(fields.map(({ name, kind, isRequired, isNullable }) => [name, kind, isRequired, isNullable])).toEqual([
    ['sku', 'text', true, false],
    ['price', 'number', true, false],
    ['count', 'integer', false, false],
    ['isNew', 'flag', false, false],
    ['size', 'choice', true, false],
    ['note', 'text', true, true],
    ['weight', 'number', false, true],
    ['tags', 'json', false, false],
    ['mixed', 'json', false, false],
  ])
  expect(fields[0]?.hint).toBe('as on the label')
  expect(fields[4]?.choices).toEqual(['"s"', '"m"'])
  for (const other of [null, { type: 'array' }, { type: 'object' }]) expect(rowFieldsOf(other)).toEqual([])
})

test('the row keeps the digits of its numbers, and leaves out what is empty', () => {
  const values = {
    sku: '007',
    price: '12.50',
    count: '1152921504606846977',
    isNew: 'false',
    size: '"m"',
    tags: ' ["a"] ',
  }
  expect(rowText(rowFieldsOf(schema), values)).toEqual({
    text: '{"sku":"007","price":12.50,"count":1152921504606846977,"isNew":false,"size":"m","note":null,"tags":["a"]}',
    wrong: {},
  })
})

test('each wrong value is named at its field', () => {
  const values = { price: '1,5', count: '1.5', tags: '[a' }
  expect(rowText(rowFieldsOf(schema), values).wrong).toEqual({
    sku: 'form.wrong.empty',
    price: 'form.wrong.number',
    count: 'form.wrong.integer',
    size: 'form.wrong.empty',
    tags: 'form.wrong.json',
  })
})
