type Scalar = string | number | boolean | null

/** Returns the values of rows by column, as `unnest` takes them. */
export function columns<Row>(rows: Iterable<Row>, ...values: ((row: Row) => Scalar)[]): Scalar[][] {
  const all = [...rows]
  return values.map((value) => all.map((row) => value(row)))
}
