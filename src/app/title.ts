/** Text at the end of the process title. */
export type TitlePiece = () => string | undefined

/** The pieces that an app adds to the title that `highkiq work` shows in ps. */
export class Title {
  readonly #pieces: TitlePiece[] = []

  add(piece: TitlePiece): void {
    this.#pieces.push(piece)
  }

  /** Returns the title with all pieces. */
  of(title: string): string {
    const pieces = this.#pieces.map((piece) => {
      try {
        return piece()
      } catch {
        // This runs every second: an error would flood the log.
        return undefined
      }
    })
    return [title, ...pieces.filter(Boolean)].join(' ')
  }
}
