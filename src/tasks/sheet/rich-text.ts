/** A text of a workbook, which is one `t`, or the `t` of several runs; how it is pronounced stands beside it. */
export class RichText {
  /** Whether a text that comes now is part of it. */
  wantsText = false
  #phonetic = false
  #text = ''
  #runs = ''
  #hasRuns = false

  clear(): void {
    this.wantsText = false
    this.#phonetic = false
    this.#text = ''
    this.#runs = ''
    this.#hasRuns = false
  }

  open(name: string): void {
    if (name === 't') this.wantsText = !this.#phonetic
    else if (name === 'rPh') this.#phonetic = true
    else if (name === 'r') this.#text = ''
  }

  text(text: string): void {
    this.#text += text
  }

  close(name: string): void {
    if (name === 't') this.wantsText = false
    else if (name === 'rPh') this.#phonetic = false
    else if (name === 'r') {
      this.#runs += decodeEscapes(this.#text)
      this.#hasRuns = true
    }
  }

  get value(): string {
    return this.#hasRuns ? this.#runs : decodeEscapes(this.#text)
  }

  get length(): number {
    return this.#runs.length + this.#text.length
  }
}

/** Characters that XML can't hold are spelled _x000D_ in a workbook. */
export function decodeEscapes(text: string): string {
  if (!text.includes('_x')) return text
  return text.replace(/_x([\da-fA-F]{4})_/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
}
