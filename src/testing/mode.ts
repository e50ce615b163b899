import { DirectTarget } from '../client/push-target.ts'

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

/** A test mode that keeps or runs jobs instead of storing them. */
export abstract class TestTarget extends DirectTarget implements Disposable {
  readonly #mode = new Mode()

  onEnd(end: () => void): void {
    this.#mode.onEnd(end)
  }

  dispose(): void {
    this.#mode.dispose()
  }

  [Symbol.dispose](): void {
    this.#mode.dispose()
  }
}
