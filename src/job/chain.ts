import { invalidOption } from './errors.ts'

/**
 * A chain of middleware, the first one outermost. Each one calls `next` to run the rest of the chain, and gets its result.
 */
export type Middleware<Subject, Answer> = (subject: Subject, next: () => Promise<Answer>) => Promise<Answer> | Answer

export class Chain<Subject, Answer> {
  #links: Middleware<Subject, Answer>[] = []

  get size(): number {
    return this.#links.length
  }

  /** Appends middleware; one that is in the chain moves to the end. @throws INVALID_OPTION */
  use(link: Middleware<Subject, Answer>): this {
    return this.#insert(link, () => this.#links.length)
  }

  /** @throws INVALID_OPTION */
  prepend(link: Middleware<Subject, Answer>): this {
    return this.#insert(link, () => 0)
  }

  /** Inserts middleware before `other`, or at the start when `other` is not in the chain. @throws INVALID_OPTION */
  insertBefore(other: Middleware<Subject, Answer>, link: Middleware<Subject, Answer>): this {
    return this.#insert(link, () => Math.max(this.#links.indexOf(other), 0))
  }

  /** Inserts middleware after `other`, or at the end when `other` is not in the chain. @throws INVALID_OPTION */
  insertAfter(other: Middleware<Subject, Answer>, link: Middleware<Subject, Answer>): this {
    return this.#insert(link, () => this.#links.indexOf(other) + 1 || this.#links.length)
  }

  remove(link: Middleware<Subject, Answer>): this {
    this.#links = this.#links.filter((other) => other !== link)
    return this
  }

  clear(): this {
    this.#links = []
    return this
  }

  #insert(link: Middleware<Subject, Answer>, index: () => number): this {
    if (typeof link !== 'function') {
      throw invalidOption(`middleware must be a function of (subject, next) (got ${String(link)})`)
    }
    this.remove(link)
    this.#links.splice(index(), 0, link)
    return this
  }

  /** Runs the chain around `innermost`. */
  run(subject: Subject, innermost: () => Promise<Answer> | Answer): Promise<Answer> {
    return runLinks(this.#links, subject, innermost)
  }
}

/** Runs `innermost` inside this middleware, the first one outermost. */
export function runLinks<Subject, Answer>(
  links: readonly Middleware<Subject, Answer>[],
  subject: Subject,
  innermost: () => Promise<Answer> | Answer,
): Promise<Answer> {
  const step = async (i: number): Promise<Answer> => {
    const link = links[i]
    return link ? link(subject, () => step(i + 1)) : innermost()
  }
  return step(0)
}
