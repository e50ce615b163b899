/** A test mode. It ends with `using`, or with `dispose()`. */
export class Mode implements Disposable {
  #end: () => void = () => {}

  /** Sets a function that runs once, when the mode ends. */
  onEnd(end: () => void): void {
    this.#end = end
  }

  dispose(): void {
    const end = this.#end
    this.#end = () => {}
    end()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }
}
