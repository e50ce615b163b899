/** Finds what a schema takes: the names of its fields, and its JSON Schema. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { isObject } from '../job/json.ts'

/** The members of zod and valibot, and of Standard JSON Schema, that tell the fields of an object. */
interface Described {
  /** The definition in zod 4, and in zod 3. */
  def?: ZodDefinition
  _def?: ZodDefinition
  /** The fields of an object in valibot. */
  entries?: unknown
  '~standard'?: { jsonSchema?: { input(options: { target: string }): { properties?: unknown } } }
}

interface ZodDefinition {
  /** The fields of an object; zod 3 has a function that returns them. */
  shape?: unknown
  /** The schemas that a transformation or a wrapper is made of. */
  in?: Described
  out?: Described
  schema?: Described
  innerType?: Described
}

/** Returns the fields in order; an empty list if the schema does not tell them. */
export function fieldsOf(schema: StandardSchemaV1 | undefined): string[] {
  return schema === undefined ? [] : Object.keys(entriesOf(schema as Described) ?? {})
}

function entriesOf(schema: Described): object | undefined {
  const zod = schema.def ?? schema._def
  const shape = zod?.shape ?? schema.entries
  const entries = typeof shape === 'function' ? shape() : shape
  if (isObject(entries)) return entries
  for (const inner of [zod?.in, zod?.schema, zod?.innerType, zod?.out]) {
    const found = inner && entriesOf(inner)
    if (found) return found
  }
  return propertiesOf(schema)
}

function propertiesOf(schema: Described): object | undefined {
  const properties = jsonSchemaOf(schema)?.properties
  return isObject(properties) ? properties : undefined
}

/** Returns the JSON Schema of the values that a schema takes; undefined when it gives none. */
export function jsonSchemaOf(schema: object): { properties?: unknown } | undefined {
  try {
    return (schema as Described)['~standard']?.jsonSchema?.input({ target: 'draft-2020-12' })
  } catch {
    // JSON Schema can't describe some types, such as dates.
    return undefined
  }
}
