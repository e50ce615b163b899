import type { StandardSchemaV1 } from '@standard-schema/spec'
import * as v from 'valibot'
import { expect, test } from 'vitest'
import { fieldsOf } from './schema-fields.ts'

const schema = (more: object, standard: object = {}) =>
  ({
    '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }), ...standard },
    ...more,
  }) as StandardSchemaV1

test('the fields of a valibot object are found, also through a pipe', () => {
  const product = v.object({ sku: v.string(), price: v.optional(v.number()) })
  expect(fieldsOf(product)).toEqual(['sku', 'price'])
  expect(
    fieldsOf(
      v.pipe(
        product,
        v.check(({ sku }) => sku !== ''),
      ),
    ),
  ).toEqual(['sku', 'price'])
})

test('the fields of a zod object are found, also through a pipe, a transformation or a wrapper', () => {
  const shape = { sku: {}, price: {} }
  expect(fieldsOf(schema({ def: { shape } }))).toEqual(['sku', 'price'])
  expect(fieldsOf(schema({ _def: { shape: () => shape } }))).toEqual(['sku', 'price'])
  expect(fieldsOf(schema({ def: { in: { def: { shape } }, out: {} } }))).toEqual(['sku', 'price'])
  expect(fieldsOf(schema({ def: { in: { def: {} }, out: { def: { shape } } } }))).toEqual(['sku', 'price'])
  expect(fieldsOf(schema({ _def: { schema: { _def: { shape: () => shape } } } }))).toEqual(['sku', 'price'])
})

test('the fields of a schema with Standard JSON Schema are found', () => {
  const input = () => ({ type: 'object', properties: { sku: {}, price: {} } })
  expect(fieldsOf(schema({}, { jsonSchema: { input } }))).toEqual(['sku', 'price'])
})

test('a schema that does not tell its fields has none', () => {
  expect(fieldsOf(undefined)).toEqual([])
  expect(fieldsOf(schema({}))).toEqual([])
  expect(fieldsOf(v.record(v.string(), v.string()))).toEqual([])
  const input = () => {
    throw new Error('Date cannot be represented in JSON Schema')
  }
  expect(fieldsOf(schema({}, { jsonSchema: { input } }))).toEqual([])
})
