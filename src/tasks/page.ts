const PAGE = 500

/** Whatever comes, some at a time. */
export async function* inPages<T>(all: AsyncIterable<T> | Iterable<T>): AsyncGenerator<T[]> {
  let page: T[] = []
  for await (const one of all) {
    if (page.push(one) < PAGE) continue
    yield page
    page = []
  }
  if (page.length > 0) yield page
}
