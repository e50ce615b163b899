/**
 * Expands the ERB of a sidekiq.yml. Only look-ups of environment variables work, because no Ruby runs here.
 *
 * Supported Ruby: `ENV['X']`, `ENV.fetch('X')`, `ENV.fetch('X', 5)`, `ENV.fetch('X') { 5 }`, `||`, `or`, brackets,
 * `Integer(…)`, `.to_i`, `.to_f`, `.to_s`, `.presence`; strings, numbers, `nil`, `true` and `false` as fallbacks.
 */

type Environment = Readonly<Record<string, string | undefined>>
type Value = string | number | boolean | null

/** An ERB tag that is not supported, with its line (from 1), its text and the reason. */
export class ErbError extends Error {
  readonly line: number
  readonly tag: string

  constructor(message: string, line: number, tag: string) {
    super(message)
    this.line = line
    this.tag = tag
  }
}

const ONLY =
  "only ERB look-ups of environment variables are supported, such as <%= ENV['X'] %> or <%= ENV.fetch('X', 5) %>"
const TAG = /<%%|%%>|<%(?:(?!%>).)*(%>)?/gs

/** Returns the text as YAML; lines keep their numbers. @throws ErbError */
export function expandErb(text: string, env: Environment): string {
  return text.replace(TAG, (tag: string, end: string | undefined, offset: number) => {
    if (tag === '<%%') return '<%'
    if (tag === '%%>') return '%>'
    const before = text.slice(0, offset)
    const fail = (why: string) => new ErbError(why, before.split('\n').length, tag.split('\n')[0] as string)
    if (!end) throw fail('the tag has no end')
    const linesOnly = tag.replace(/[^\n]/g, '')
    if (tag.startsWith('<%#')) return linesOnly
    const code = /^<%-?=(.*?)-?%>$/s.exec(tag)?.[1]
    if (code === undefined) throw fail(ONLY)
    // The value in a YAML comment has no effect.
    if (/^[ \t]*#/.test(before.slice(before.lastIndexOf('\n') + 1))) return linesOnly
    try {
      const { value, looked } = new Expression(code, env).read()
      if (!looked) throw new Error(ONLY)
      return (value === null ? '' : String(value)) + linesOnly
    } catch (thrown) {
      throw fail((thrown as Error).message)
    }
  })
}

const TOKEN = /\s*(\|\||&\.|[()[\]{},.]|'(?:[^'\\]|\\.)*'|"(?:[^"\\#]|\\.)*"|\d+(?:\.\d+)?|:?[A-Za-z_]\w*)|\s*$/y

/** Reads by descent: alternatives, then a value with its methods, then the value itself. */
class Expression {
  readonly #env: Environment
  readonly #tokens: string[] = []
  #at = 0
  #looked = false

  constructor(code: string, env: Environment) {
    this.#env = env
    TOKEN.lastIndex = 0
    while (TOKEN.lastIndex < code.length) {
      const match = TOKEN.exec(code)
      if (!match) throw new Error(ONLY)
      if (match[1]) this.#tokens.push(match[1])
    }
  }

  read(): { value: Value; looked: boolean } {
    const value = this.#alternatives()
    if (this.#at < this.#tokens.length) throw new Error(ONLY)
    return { value, looked: this.#looked }
  }

  #alternatives(): Value {
    let value = this.#withMethods()
    while (this.#skip('||') || this.#skip('or')) {
      const other = this.#withMethods()
      if (value === null || value === false) value = other
    }
    return value
  }

  #withMethods(): Value {
    let value = this.#one()
    for (;;) {
      const safely = this.#skip('&.')
      if (!safely && !this.#skip('.')) return value
      const name = this.#next()
      const method = Object.hasOwn(METHODS, name) ? METHODS[name] : undefined
      if (!method) throw new Error(ONLY)
      if (!safely || value !== null) value = method(value)
    }
  }

  #one(): Value {
    const token = this.#next()
    if (token === '(') return this.#until(')')
    if (token === 'Integer') {
      this.#expect('(')
      return wholeNumber(this.#until(')'))
    }
    if (token === 'ENV') return this.#lookUp()
    if (Object.hasOwn(LITERALS, token)) return LITERALS[token] as Value
    if (/^\d/.test(token)) return Number(token)
    if (/^['"]/.test(token)) return textOf(token)
    if (/^:\w/.test(token)) return token.slice(1)
    throw new Error(ONLY)
  }

  #lookUp(): Value {
    this.#looked = true
    if (this.#skip('[')) {
      const name = this.#name()
      this.#expect(']')
      return this.#variable(name) ?? null
    }
    this.#expect('.')
    this.#expect('fetch')
    this.#expect('(')
    const name = this.#name()
    let fallback = this.#skip(',') ? this.#alternatives() : undefined
    this.#expect(')')
    if (this.#skip('{')) fallback = this.#until('}')
    const value = this.#variable(name) ?? fallback
    if (value === undefined)
      throw new Error(`the environment variable ${name} is not set, and the file has no fallback for it`)
    return value
  }

  #variable(name: string): string | undefined {
    return Object.hasOwn(this.#env, name) ? this.#env[name] : undefined
  }

  #name(): string {
    const token = this.#next()
    if (!/^['"]/.test(token)) throw new Error(ONLY)
    return textOf(token)
  }

  #until(end: string): Value {
    const value = this.#alternatives()
    this.#expect(end)
    return value
  }

  #next(): string {
    return this.#tokens[this.#at++] ?? ''
  }

  #skip(token: string): boolean {
    if (this.#tokens[this.#at] !== token) return false
    this.#at++
    return true
  }

  #expect(token: string): void {
    if (!this.#skip(token)) throw new Error(ONLY)
  }
}

const LITERALS: Record<string, Value> = { nil: null, true: true, false: false }

/** Ruby's conversion methods. */
const METHODS: Record<string, (value: Value) => Value> = {
  to_i: (value) => Math.trunc(leading(value, /^\s*[+-]?\d[\d_]*/)),
  to_f: (value) => leading(value, /^\s*[+-]?\d[\d_]*(\.\d+)?(e[+-]?\d+)?/i),
  to_s: (value) => (value === null ? '' : String(value)),
  presence: (value) => (value === false || (typeof value === 'string' && value.trim() === '') ? null : value),
}

function leading(value: Value, number: RegExp): number {
  if (typeof value === 'number') return value
  return Number((number.exec(String(value ?? ''))?.[0] ?? '0').replaceAll('_', ''))
}

function wholeNumber(value: Value): number {
  const text = String(value ?? '')
  if (/^\s*[+-]?\d+\s*$/.test(text)) return Number(text)
  throw new Error(
    value === null ? 'Integer(nil): the environment variable is not set' : 'Integer(): the value is not an integer',
  )
}

/** Returns the string between the quotes. In single quotes only a quote and a backslash can be escaped. */
function textOf(token: string): string {
  const inner = token.slice(1, -1)
  if (token[0] === "'") return inner.replace(/\\([\\'])/g, '$1')
  return inner.replace(/\\(.)/gs, (_, character) => ({ n: '\n', t: '\t' })[character as string] ?? character)
}
