/** Makes empty stores to test. */
export interface StoreFactory {
  /** Whether a second connection, or another process, can open the same URL. Cases that need one are left out if not. */
  shared: boolean
  /**
   * The URL of a module that calls `registerStore` for the scheme of the store. The suite starts processes of its own,
   * which import it. Highkiq's own stores need none.
   */
  module?: string
  create(): Promise<EmptyStore>
}

/** A connection of an app, without the store. */
export interface AppClient {
  query(text: string, values?: string[]): Promise<{ rows: Record<string, unknown>[] }>
  /** Ends it, also at once and while a transaction is open. */
  end(): Promise<void>
}

/** An empty store, for one case. */
export interface EmptyStore {
  url: string
  /** Removes the store, after all connections are closed. */
  destroy(): Promise<void>
  /** Returns what the store contains beside leases, by key or table, read without the store. */
  contents?(): Promise<string[]>
  /** Opens a connection of an app to the same data. A store with `pushThrough` needs it. */
  connect?(): Promise<AppClient>
  /** Disturbs the store as may happen at any time; a Redis server forgets its scripts. */
  disturb?(): Promise<void>
}
