/** Query parameters: how they are read, and how the document describes them. */

import { seconds } from '../../job/duration.ts'
import { given } from '../../job/options.ts'
import { invalid } from './answer.ts'

export interface Parameter<T> {
  description: string
  schema: Record<string, unknown>
  required?: boolean
  /** @param text null when the parameter is missing */
  read(text: string | null, name: string): T
  /** Reads the parameters `NAME.member`, in place of `read`. */
  readMembers?(members: Record<string, string>): T
}

export type Parameters = Record<string, Parameter<unknown>>
export type Values<P extends Parameters> = { [Name in keyof P]: P[Name] extends Parameter<infer T> ? T : never }

/**
 * @param others true when unknown parameters are allowed: pages keep their state in the query
 * @throws INVALID_REQUEST for a wrong, missing or unknown parameter
 */
export function readParameters(
  search: URLSearchParams,
  parameters: Parameters,
  others = false,
): Record<string, unknown> {
  for (const name of others ? [] : search.keys()) {
    const [first = ''] = name.split('.', 1)
    const isMember = first !== name
    const meant = Object.hasOwn(parameters, first) ? parameters[first] : undefined
    if (name === 'token' || (meant && isMember === (meant.readMembers !== undefined))) continue
    const known = Object.entries(parameters).map(([one, { readMembers }]) => (readMembers ? `${one}.NAME` : one))
    const there = known.length > 0 ? `known: ${known.join(', ')}` : 'this route has none'
    throw invalid(`unknown parameter ${JSON.stringify(name)} (${there})`, { parameter: name })
  }
  return Object.fromEntries(
    Object.entries(parameters).map(([name, parameter]) => {
      if (parameter.readMembers) return [name, parameter.readMembers(membersIn(search, name))]
      const text = search.get(name)
      if (text === null && parameter.required) {
        throw invalid(`the parameter ${name} is missing: ${parameter.description}`, { parameter: name })
      }
      return [name, parameter.read(text, name)]
    }),
  )
}

/** Returns the parameters `NAME.member=value` as an object. */
export function membersIn(search: URLSearchParams, name: string): Record<string, string> {
  const named = [...search].filter(([one]) => one.startsWith(`${name}.`))
  return Object.fromEntries(named.map(([one, value]) => [one.slice(name.length + 1), value]))
}

export function membersOf(description: string): Parameter<Record<string, string> | undefined> {
  return {
    description,
    schema: { type: 'string' },
    read: () => undefined,
    readMembers: (members) => (Object.keys(members).length > 0 ? members : undefined),
  }
}

export function text(description: string, maxLength = 1000): Parameter<string | undefined> {
  return {
    description,
    schema: { type: 'string', maxLength },
    read(value, name) {
      if (value !== null && value.length > maxLength) throw wrong(name, value, `at most ${maxLength} characters`)
      return value ?? undefined
    },
  }
}

/** Several texts, separated by commas. */
export function texts(description: string): Parameter<string[] | undefined> {
  const { read, schema, description: described } = text(`${description}, separated by commas`)
  return {
    description: described,
    schema,
    read(value, name) {
      const parts = read(value, name)?.split(',')
      if (parts?.includes('')) throw wrong(name, value ?? '', 'names with single commas between them')
      return parts
    },
  }
}

/** @param standard of an absent parameter; undefined when it has none */
export function integer<Standard extends number | undefined>(
  minimum: number,
  maximum: number | undefined,
  standard: Standard,
  description: string,
): Parameter<number | Standard> {
  const range = maximum === undefined ? `, ${minimum} or more` : ` from ${minimum} to ${maximum}`
  return {
    description,
    schema: given({ type: 'integer', minimum, maximum, default: standard }),
    read(value, name) {
      if (value === null) return standard
      const number = Number(value)
      if (/^\d{1,15}$/.test(value) && number >= minimum && number <= (maximum ?? number)) return number
      throw wrong(name, value, `a whole number${range}`)
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
      throw wrong(name, value, `one of ${all.join(', ')}`)
    },
  }
}

export function listOf<const T extends string>(all: readonly T[], description: string): Parameter<T[] | undefined> {
  const one = oneOf(all, description)
  return {
    description: `${description}; several separated by commas`,
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
      throw wrong(name, value, 'true or false')
    },
  }
}

/** A time in ISO 8601. */
export function time(description: string): Parameter<Date | undefined> {
  return {
    description: `${description}: ISO 8601`,
    schema: { type: 'string', format: 'date-time' },
    read(value, name) {
      if (value === null) return undefined
      if (isDate(value)) return new Date(value)
      throw wrong(name, value, 'a time in ISO 8601, such as 2026-12-31T23:00:00Z')
    },
  }
}

/** A time: seconds or a duration from now, or ISO 8601. */
export function moment(description: string): Parameter<number | string | Date | undefined> {
  return {
    description: `${description}: seconds or a duration from now (30d), or ISO 8601`,
    schema: { type: 'string', examples: ['30d', '3600', '2026-12-31T23:00:00Z'] },
    read(value, name) {
      if (value === null) return undefined
      if (/^\d+$/.test(value)) return Number(value)
      if (isDate(value)) return new Date(value)
      try {
        seconds(value)
        return value
      } catch {
        throw wrong(name, value, 'seconds or a duration from now, such as 30d, or a time in ISO 8601')
      }
    },
  }
}

/** A point in time: ISO 8601, or seconds since the epoch. */
export function instant(description: string): Parameter<Date | undefined> {
  const is = 'a time in ISO 8601, or seconds since the epoch'
  return {
    description: `${description}: ${is}`,
    schema: { type: 'string', examples: ['2026-12-31T23:00:00Z', '1798758000'] },
    read(value, name) {
      if (value === null) return undefined
      if (isDate(value)) return new Date(value)
      const date = new Date(/^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : Number.NaN)
      if (Number.isNaN(date.getTime())) throw wrong(name, value, is)
      return date
    },
  }
}

/** Reads JSON. `read` returns undefined for a wrong value. */
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
        // Invalid JSON is refused like a wrong value.
      }
      if (known === undefined) throw wrong(name, value, description)
      return known
    },
  }
}

/** Reads the `next` of the previous page. `read` returns undefined for a wrong value. */
export function cursor<T>(read: (text: string) => T | undefined): Parameter<T | undefined> {
  return {
    description: 'the `next` of the previous page',
    schema: { type: 'string' },
    read(value, name) {
      if (value === null) return undefined
      const known = read(value)
      if (known === undefined) throw wrong(name, value, 'the `next` of the previous page', { problem: 'cursor' })
      return known
    },
  }
}

function isDate(value: string): boolean {
  return /^\d{4}-\d\d-\d\d/.test(value) && !Number.isNaN(Date.parse(value))
}

function wrong(name: string, value: string, is: string, details: object = {}): Error {
  const got = JSON.stringify(value.slice(0, 100))
  return invalid(`the parameter ${name} must be ${is} (got ${got})`, { ...details, parameter: name })
}
