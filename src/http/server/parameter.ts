/** Parameters of a query: what is read, and what the document says of it, in one place. */

import { invalid } from './answer.ts'

export interface Parameter<T> {
  description: string
  schema: Record<string, unknown>
  required?: boolean
  /** `null`: it is not there. */
  read(text: string | null, name: string): T
}

export type Parameters = Record<string, Parameter<unknown>>
export type Values<P extends Parameters> = { [Name in keyof P]: P[Name] extends Parameter<infer T> ? T : never }

/**
 * @param others whether there may be others: of pages, which keep their state there
 * @throws INVALID_REQUEST: one is wrong, missing or unknown
 */
export function readParameters(
  search: URLSearchParams,
  parameters: Parameters,
  others = false,
): Record<string, unknown> {
  for (const name of others ? [] : search.keys()) {
    if (Object.hasOwn(parameters, name) || name === 'token') continue
    const known = Object.keys(parameters)
    const there = known.length > 0 ? `there are ${known.join(', ')}` : 'there is none'
    throw invalid(`there is no parameter ${JSON.stringify(name)} here; ${there}`, { parameter: name })
  }
  return Object.fromEntries(
    Object.entries(parameters).map(([name, parameter]) => {
      const text = search.get(name)
      if (text === null && parameter.required) {
        throw invalid(`the parameter ${name} is missing: ${parameter.description}`, { parameter: name })
      }
      return [name, parameter.read(text, name)]
    }),
  )
}

export function text(description: string, maxLength = 1000): Parameter<string | undefined> {
  return {
    description,
    schema: { type: 'string', maxLength },
    read(value, name) {
      if (value !== null && value.length > maxLength) throw wrong(name, `at most ${maxLength} characters`)
      return value ?? undefined
    },
  }
}

export function requiredText(description: string): Parameter<string> {
  return { ...(text(description) as Parameter<string>), required: true }
}

export function integer(minimum: number, maximum: number, standard: number, description: string): Parameter<number> {
  return {
    description,
    schema: { type: 'integer', minimum, maximum, default: standard },
    read(value, name) {
      if (value === null) return standard
      const number = Number(value)
      if (/^\d+$/.test(value) && number >= minimum && number <= maximum) return number
      throw wrong(name, `a whole number from ${minimum} to ${maximum}`)
    },
  }
}

/** Reads an integer from 1; undefined when the parameter is absent. */
export function count(description: string): Parameter<number | undefined> {
  return {
    description,
    schema: { type: 'integer', minimum: 1 },
    read(value, name) {
      if (value === null) return undefined
      if (/^[1-9]\d{0,8}$/.test(value)) return Number(value)
      throw wrong(name, 'a whole number above 0')
    },
  }
}

export function oneOf<const T extends string>(all: readonly T[], description: string): Parameter<T | undefined> {
  return {
    description,
    schema: { type: 'string', enum: [...all] },
    read(value, name) {
      if (value === null) return undefined
      if ((all as readonly string[]).includes(value)) return value as T
      throw wrong(name, `one of ${all.join(', ')}`)
    },
  }
}

export function listOf<const T extends string>(all: readonly T[], description: string): Parameter<T[] | undefined> {
  const one = oneOf(all, description)
  return {
    description: `${description}; several with commas between them`,
    schema: { type: 'string', pattern: `^(${all.join('|')})(,(${all.join('|')}))*$` },
    read: (value, name) => value?.split(',').map((part) => one.read(part, name) as T),
  }
}

export function flag(description: string, standard = false): Parameter<boolean> {
  return {
    description,
    schema: { type: 'boolean', default: standard },
    read(value, name) {
      if (value === null) return standard
      if (value === 'false' || value === '0') return false
      if (value === 'true' || value === '1' || value === '') return true
      throw wrong(name, 'true or false')
    },
  }
}

/** JSON. `read` answers undefined for what it should not be. */
export function jsonText<T>(description: string, read: (value: unknown) => T | undefined): Parameter<T | undefined> {
  return {
    description,
    schema: { type: 'string', contentMediaType: 'application/json' },
    read(value, name) {
      if (value === null) return undefined
      let known: T | undefined
      try {
        known = read(JSON.parse(value))
      } catch {
        // It is no JSON: as wrong as what is not expected.
      }
      if (known === undefined) throw wrong(name, description)
      return known
    },
  }
}

/** What an earlier answer gave as `next`. `read` answers undefined for what it never gave. */
export function cursor<T>(read: (text: string) => T | undefined): Parameter<T | undefined> {
  return {
    description: 'what the answer before gave as `next`',
    schema: { type: 'string' },
    read(value, name) {
      if (value === null) return undefined
      const known = read(value)
      if (known === undefined) throw wrong(name, 'what the answer before gave as `next`')
      return known
    },
  }
}

function wrong(name: string, is: string): Error {
  return invalid(`the parameter ${name} is ${is}`, { parameter: name })
}
