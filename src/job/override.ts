import { AsyncLocalStorage } from 'node:async_hooks'

/** A value that can be replaced everywhere, or within one function and all that it calls and awaits. */
export class Override<Thing> {
  /** The current value outside of all scopes. */
  everywhere: Thing | undefined
  /** Created on first use, because AsyncLocalStorage makes every promise slower. */
  #scopes: AsyncLocalStorage<{ thing: Thing | undefined }> | undefined

  get current(): Thing | undefined {
    const scope = this.#scopes?.getStore()
    return scope ? scope.thing : this.everywhere
  }

  /** Whether this is called within a scope. */
  get isScoped(): boolean {
    return this.#scopes?.getStore() !== undefined
  }

  /** Runs `work` with `thing` as the current value; undefined means no replacement. */
  within<T>(thing: Thing | undefined, work: () => T): T {
    this.#scopes ??= new AsyncLocalStorage()
    return this.#scopes.run({ thing }, work)
  }
}
