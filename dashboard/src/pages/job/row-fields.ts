/** The fields of a form for the row of a job, from the JSON Schema of the row. */

import type { Word } from '../../i18n/index.ts'

export interface RowField {
  name: string
  kind: 'text' | 'number' | 'integer' | 'flag' | 'choice' | 'json'
  /** The description in the schema. */
  hint: string
  isRequired: boolean
  /** True when an empty field means null; else it is left out. */
  isNullable: boolean
  /** The values of a choice as JSON. */
  choices: string[]
}

type Schema = Record<string, unknown>

const KINDS: Record<string, RowField['kind']> = {
  string: 'text',
  number: 'number',
  integer: 'integer',
  boolean: 'flag',
}

/** Returns the fields of an object; an empty list for any other schema. */
export function rowFieldsOf(schema: Schema | null): RowField[] {
  const properties = schema?.type === 'object' ? schema.properties : undefined
  if (typeof properties !== 'object' || properties === null) return []
  const required = Array.isArray(schema?.required) ? schema.required : []
  return Object.entries(properties).map(([name, property]) => fieldOf(name, property as Schema, required))
}

function fieldOf(name: string, property: Schema, required: unknown[]): RowField {
  const { isNullable, inner } = unwrapped(property)
  const choices = (Array.isArray(inner.enum) ? inner.enum : 'const' in inner ? [inner.const] : []) as unknown[]
  return {
    name,
    kind: choices.length > 0 ? 'choice' : (KINDS[inner.type as string] ?? 'json'),
    hint: String(property.description ?? inner.description ?? ''),
    isRequired: required.includes(name),
    isNullable: isNullable || choices.includes(null),
    choices: choices.filter((one) => one !== null).map((one) => JSON.stringify(one)),
  }
}

/** Returns the part of `string | null` that is not null. */
function unwrapped(property: Schema): { isNullable: boolean; inner: Schema } {
  const { type, anyOf } = property
  const parts: Schema[] = Array.isArray(type)
    ? type.map((one) => ({ ...property, type: one }))
    : Array.isArray(anyOf)
      ? anyOf
      : [property]
  const others = parts.filter((part) => part.type !== 'null')
  return { isNullable: others.length < parts.length, inner: (others.length === 1 && others[0]) || {} }
}

/** Returns the row as JSON; the digits of its numbers stay as they were written. `wrong` has what is wrong with its fields. */
export function rowText(
  fields: readonly RowField[],
  values: Readonly<Record<string, string>>,
): { text: string; wrong: Record<string, Word> } {
  const wrong: Record<string, Word> = {}
  const members = fields.flatMap((field) => {
    const { name, isRequired, isNullable } = field
    const value = values[name] ?? ''
    if (value === '') {
      if (!isRequired) return []
      if (!isNullable) wrong[name] = 'form.wrong.empty'
      return [`${JSON.stringify(name)}:null`]
    }
    const fault = faultOf(field, value)
    if (fault) wrong[name] = fault
    return [`${JSON.stringify(name)}:${field.kind === 'text' ? JSON.stringify(value) : value.trim()}`]
  })
  return { text: `{${members.join(',')}}`, wrong }
}

function faultOf({ kind }: RowField, value: string): Word | undefined {
  if (kind === 'number' || kind === 'integer') {
    const isNumber = typeof parsed(value) === 'number' && (kind === 'number' || /^\s*-?\d+\s*$/.test(value))
    return isNumber ? undefined : `form.wrong.${kind}`
  }
  return kind === 'json' && parsed(value) === undefined ? 'form.wrong.json' : undefined
}

/** Returns undefined for a text that is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function isJsonList(text: string): boolean {
  return Array.isArray(parsed(text))
}
