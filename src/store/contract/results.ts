export interface ResultStore {
  /**
   * Keeps a value under a key for `seconds` (0: forgets it), if there is none, or it is `instead`: null. Otherwise answers
   * the value that is there. One step.
   */
  remember(key: string, value: string, seconds: number, instead?: string): Promise<string | null>
  /** Keeps a text under a job's id for `seconds`, instead of the one before; who waits for it hears of it. */
  keep(jid: string, text: string, seconds: number): Promise<void>
  /** The text that is kept; waits for it at most `ms`, or until `signal` aborts. null: there is none. */
  find(jid: string, ms?: number, signal?: AbortSignal): Promise<string | null>
  /** The text that is kept for good under a name: `proposed`, if there was none. Who asks at the same time gets the same. */
  secret(name: string, proposed: string): Promise<string>
}
