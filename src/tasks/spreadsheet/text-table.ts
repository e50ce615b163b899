import { RichText } from './rich-text.ts'
import { XmlScanner } from './xml-scan.ts'

/** Reads the table of texts of a workbook, to which cells refer by number. */
export class TextTable extends XmlScanner {
  readonly texts: string[] = []
  #rich = new RichText()
  #inText = false

  override end(): void {
    super.end()
    if (this.#inText) throw new Error('the table of texts ends in the middle of one')
  }

  protected open(name: string): void {
    if (name === 'si') {
      this.#inText = true
      this.#rich.clear()
    } else if (this.#inText) {
      this.#rich.open(name)
      this.wantsText = this.#rich.wantsText
    }
  }

  protected text(text: string): void {
    this.#rich.text(text)
  }

  protected close(name: string): void {
    if (!this.#inText) return
    if (name === 'si') {
      this.texts.push(this.#rich.value)
      this.#inText = false
    } else {
      this.#rich.close(name)
    }
    this.wantsText = this.#inText && this.#rich.wantsText
  }
}
