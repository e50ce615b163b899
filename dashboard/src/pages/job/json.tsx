/** Shows JSON indented and coloured, also when its end is cut off. Digits stay as they were written. */

import { useMemo } from 'preact/hooks'

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"?|[{}[\],:]|[^\s{}[\],:"]+/gs
/** JSON up to this length is shown in one line. */
const LINE = 56
const DEEPEST = 20
/** Longer texts are shown unformatted. */
const MOST_COLOURED = 20_000

type Kind = 'k' | 's' | 'v' | ''
type Piece = [kind: Kind, text: string]

export function Json({ text }: { text: string }) {
  const pieces = useMemo(() => laidOut(text), [text])
  return (
    <>
      {pieces.map(([kind, piece], i) => (
        <span key={i} class={kind}>
          {piece}
        </span>
      ))}
    </>
  )
}

/** Shows JSON in a box that scrolls when it is long. */
export function JsonWell({ text, label }: { text: string; label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keys
    <section class="well" tabIndex={0} aria-label={label}>
      <pre>
        <Json text={text} />
      </pre>
    </section>
  )
}

/** Escapes invisible characters, and those that change the direction of the text around them, as JSON does. */
export function visible(text: string): string {
  return text.replace(/(?![\n\t])\p{Cc}|\p{Bidi_Control}|[\u200b\ufeff]/gu, (char) => {
    return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

function laidOut(text: string): Piece[] {
  if (text.length > MOST_COLOURED) return [['', visible(text)]]
  const tokens = text.match(TOKEN) ?? []
  const pieces: Piece[] = []
  let depth = 0
  const newLine = () => pieces.push(['', `\n${'  '.repeat(Math.min(depth, DEEPEST))}`])
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i] as string
    if (isOpening(token)) {
      const end = shortEnd(tokens, i)
      if (end !== undefined) {
        for (let j = i; j <= end; j++) pieces.push(spaced(tokens, j))
        i = end
      } else {
        pieces.push(['', token])
        depth++
        newLine()
      }
    } else if (isClosing(token)) {
      depth = Math.max(depth - 1, 0)
      newLine()
      pieces.push(['', token])
    } else if (token === ',') {
      pieces.push(['', token])
      newLine()
    } else pieces.push(spaced(tokens, i))
  }
  return pieces
}

function spaced(tokens: readonly string[], i: number): Piece {
  const token = tokens[i] as string
  const next = tokens[i + 1]
  if (token === ':' || token === ',') return ['', `${token} `]
  if (isOpening(token) || isClosing(token)) return ['', token]
  if (token.startsWith('"')) return [next === ':' ? 'k' : 's', visible(token)]
  return ['v', visible(token)]
}

/** Returns the index of the closing bracket; undefined when the value does not fit in one line. */
function shortEnd(tokens: readonly string[], from: number): number | undefined {
  let depth = 0
  let width = 0
  for (let i = from; i < tokens.length && width <= LINE; i++) {
    const token = tokens[i] as string
    width += token.length + (token === ',' || token === ':' ? 1 : 0)
    if (isOpening(token)) depth++
    else if (isClosing(token) && --depth === 0) return width <= LINE ? i : undefined
  }
  return undefined
}

function isOpening(token: string): boolean {
  return token === '[' || token === '{'
}

function isClosing(token: string): boolean {
  return token === ']' || token === '}'
}
