import { invalidFile } from '../../job/errors.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPEN = [0x5b, 0x7b]
const CLOSE = [0x5d, 0x7d]

/**
 * Splits the text of a JSON list, piece by piece, into the texts of its elements. It does not check that they are JSON.
 */
export class JsonElements {
  /** The number of characters of the unfinished element. */
  length = 0
  #pieces: string[] = []
  /** The nesting depth: 0 outside the list, 1 between its elements. */
  #depth = 0
  #inString = false
  #escaped = false
  #ended = false
  #count = 0

  split(piece: string): string[] {
    const texts: string[] = []
    let from = 0
    for (let at = 0; at < piece.length; at++) {
      const code = piece.charCodeAt(at)
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false
        else if (code === BACKSLASH) this.#escaped = true
        else if (code === QUOTE) this.#inString = false
      } else if (code === QUOTE) this.#inString = true
      else if (OPEN.includes(code)) {
        this.#depth++
        if (this.#depth === 1) from = at + 1
      } else if (CLOSE.includes(code)) {
        this.#depth--
        if (this.#depth !== 0) continue
        this.#add(piece.slice(from, at), texts, true)
        from = at + 1
        this.#ended = true
      } else if (code === COMMA && this.#depth === 1) {
        this.#add(piece.slice(from, at), texts, false)
        from = at + 1
      }
      if (this.#ended && !/[\s\0]/.test(piece.charAt(at)) && at >= from) {
        const message = `row ${this.#count}: there is text behind the end of the list: leave only one list of objects in the file`
        throw invalidFile(message, { problem: 'after-list', row: this.#count })
      }
    }
    if (this.#depth > 0) {
      this.#pieces.push(piece.slice(from))
      this.length += piece.length - from
    }
    return texts
  }

  /**
   * Ends the list.
   * @param row the number of the element that would be unfinished
   * @throws INVALID_FILE when the list has no end
   */
  end(row: number): string[] {
    if (this.#ended) return []
    const message = `row ${row}: the file breaks off, for its list has no end (]): copy or save it again`
    throw invalidFile(message, { problem: 'damaged', row })
  }

  #add(rest: string, texts: string[], isLast: boolean): void {
    const text = this.#pieces.length > 0 ? [...this.#pieces, rest].join('') : rest
    this.#pieces = []
    this.length = 0
    // An empty list has no element; a comma must be followed by one.
    if (isLast && this.#count === 0 && text.trim() === '') return
    this.#count++
    texts.push(text)
  }
}
