import { invalidOption } from './errors.ts'
import { shown } from './options.ts'

type Call<Subject, Answer> = (subject: Subject, next: () => Promise<Answer>) => Promise<Answer> | Answer

/**
 * Middleware: a function, or an object with a method `call`. It calls `next` to run the rest of the chain, the first
 * middleware outermost, and gets its result.
 */
export type Middleware<Subject, Answer> = Call<Subject, Answer> | { readonly call: Call<Subject, Answer> }

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
    const wrong = wrongMiddleware(link)
    if (wrong !== undefined) throw invalidOption(`middleware must be ${MIDDLEWARE} (${wrong})`)
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
    if (!link) return innermost()
    const next = () => step(i + 1)
    return typeof link === 'function' ? link(subject, next) : link.call(subject, next)
  }
  return step(0)
}

const MIDDLEWARE = 'a function of (subject, next), or an object with a method call(subject, next)'

/** Returns what is wrong with a value that is no middleware; undefined for middleware. */
function wrongMiddleware(link: unknown): string | undefined {
  if (typeof link === 'function') {
    const text = Function.prototype.toString.call(link)
    return /^class\b/.test(text) ? `got the class ${link.name}: pass new ${link.name}()` : undefined
  }
  if (typeof link === 'object' && typeof (link as { call?: unknown } | null)?.call === 'function') return undefined
  return `got ${shown(link)}`
}

/** @throws INVALID_OPTION */
export function checkMiddleware(where: string, use: unknown): void {
  const wrong = Array.isArray(use) ? use.map(wrongMiddleware).find((what) => what !== undefined) : `got ${shown(use)}`
  if (wrong === undefined) return
  throw invalidOption(`${where}: use must be an array of middleware, each ${MIDDLEWARE} (${wrong})`)
}
