/** The words that schemas are made of. */

export type Schema = Record<string, unknown>

export const text = { type: 'string' }
export const count = { type: 'integer', minimum: 0 }
export const number = { type: 'number' }
export const boolean = { type: 'boolean' }
export const time = { type: 'string', format: 'date-time' }

export const orNull = (schema: Schema) => ({ anyOf: [schema, { type: 'null' }] })
export const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
export const list = (items: Schema) => ({ type: 'array', items })

/** Every member is there, but for those named. */
export function object(properties: Record<string, Schema>, optional: string[] = []): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name))
  return { type: 'object', properties, required, additionalProperties: false }
}

/** A page of what has that name. */
export const listOf = (name: string) => object({ items: list(ref(name)), next: orNull(text) })
