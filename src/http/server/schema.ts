/** Building blocks of JSON schemas. */

export type Schema = Record<string, unknown>

export const text = { type: 'string' }
export const count = { type: 'integer', minimum: 0 }
export const number = { type: 'number' }
export const boolean = { type: 'boolean' }
export const time = { type: 'string', format: 'date-time' }

export const orNull = (schema: Schema) => ({ anyOf: [schema, { type: 'null' }] })
export const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
export const list = (items: Schema) => ({ type: 'array', items })

/** An object with all members required, except those in `optional`. */
export function object(properties: Record<string, Schema>, optional: string[] = []): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name))
  return { type: 'object', properties, required, additionalProperties: false }
}

/** A page of items with the named schema. */
export const listOf = (name: string) => object({ items: list(ref(name)), next: orNull(text) })
