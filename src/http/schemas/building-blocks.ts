/** Building blocks of the schemas, and the constants that both the schemas and the server need. */

import * as v from 'valibot'

/** The ranges of the throughput. */
export const RANGES = ['5m', '1h', '24h', '30d'] as const
/** The number of classes with percentiles in the metrics, the first of the order; by p95 all have them. */
export const MOST_PERCENTILES = 100
/** The orders of the classes in the metrics. */
export const METRICS_ORDERS = ['seconds', 'processed', 'failed', 'p95'] as const
/** The most jobs that one request selects. */
export const MOST_JOBS = 1000
/** The most ids of an ordered queue that one request selects. */
export const MOST_IDS = 1000

export const text = v.string()
export const boolean = v.boolean()
export const number = v.number()
export const count = v.pipe(v.number(), v.integer(), v.minValue(0))
export const positive = v.pipe(v.number(), v.integer(), v.minValue(1))
/** A number of seconds, or of something else that is not negative. */
export const amount = v.pipe(v.number(), v.minValue(0))
export const anything = v.unknown()
export const anyList = v.array(anything)
export const anyObject = v.record(v.string(), anything)
/** A time: the server has a Date, and its JSON a string. */
export const time = v.pipe(v.string(), v.isoTimestamp()) as unknown as v.GenericSchema<Date, string>

/** A time in a request: ISO 8601, or seconds since the epoch. */
export const when = v.union([text, number])

export const object = v.strictObject
export const list = v.array
export const orNull = v.nullable
export const optional = v.optional
export const oneOf = v.picklist

/** A page of items. */
export const pageOf = <S extends v.GenericSchema>(item: S) => object({ items: list(item), next: orNull(text) })

/** A message of a job or of a row. */
export const message = object({ at: time, text })

/** A text of a list, which is cut. */
export const short = v.pipe(text, v.maxLength(300))

/** Adds a description for the OpenAPI document. */
export function described<S extends v.GenericSchema>(schema: S, description: string): S {
  return v.pipe(schema, v.description(description)) as unknown as S
}

/** Adds the end of the message `x must be …`, with which a wrong member of a body is refused. */
export function must<S extends v.GenericSchema>(schema: S, be: string): S {
  return { ...schema, must: be }
}

/** Adds a rule about several members of a body, and the message for a body that breaks it. */
export function rule<S extends v.GenericSchema>(
  schema: S,
  holds: (body: v.InferOutput<S>) => boolean,
  message: string,
): S {
  return v.pipe(schema, v.check(holds, message)) as unknown as S
}

/** The members of a body that says when a job runs. */
export const later = {
  at: optional(must(when, 'a time in ISO 8601, or seconds since the epoch')),
  in: optional(must(amount, 'a number of seconds')),
}

export const limitKind = described(
  oneOf(['job', 'shared', 'queue', 'app']),
  'shared: a limit of hq.limit; app: of all jobs',
)
