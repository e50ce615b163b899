/** Text at the end of the process title. */
export type TitlePiece = () => string | undefined

/** What the app adds to the title that `highkiq work` shows in ps. */
export class Title {
  readonly #pieces: TitlePiece[] = []

  add(piece: TitlePiece): void {
    this.#pieces.push(piece)
  }

  /** A title with the pieces that were added to it. */
  of(title: string): string {
    const pieces = this.#pieces.map((piece) => {
      try {
        return piece()
      } catch {
        // Asked every second: an error would flood the log.
        return undefined
      }
    })
    return [title, ...pieces.filter(Boolean)].join(' ')
  }
}
