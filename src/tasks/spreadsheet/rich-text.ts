/** Collects a text of a workbook: every `t` in it, of runs or not, except the phonetic text. */
export class RichText {
  /** Whether a text that comes now is part of it. */
  wantsText = false
  #phonetic = false
  #text = ''
  #whole = ''

  clear(): void {
    this.wantsText = false
    this.#phonetic = false
    this.#text = ''
    this.#whole = ''
  }

  open(name: string): void {
    if (name === 't') this.wantsText = !this.#phonetic
    else if (name === 'rPh') this.#phonetic = true
  }

  text(text: string): void {
    this.#text += text
  }

  close(name: string): void {
    if (name === 'rPh') this.#phonetic = false
    else if (name === 't') {
      this.wantsText = false
      // Each run is decoded on its own: no escape begins in one run and ends in the next.
      this.#whole += decodeEscapes(this.#text)
      this.#text = ''
    }
  }

  get value(): string {
    return this.#whole
  }

  get length(): number {
    return this.#whole.length + this.#text.length
  }
}

/** Characters that XML can't hold are spelled _x000D_ in a workbook. */
export function decodeEscapes(text: string): string {
  if (!text.includes('_x')) return text
  return text.replace(/_x([\da-fA-F]{4})_/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
}
