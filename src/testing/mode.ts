/** How pushes are dealt with while a test runs; it ends with `using`, or `dispose()`. */
export class Mode implements Disposable {
  #end: () => void = () => {}

  /** Runs once, when it ends. */
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
