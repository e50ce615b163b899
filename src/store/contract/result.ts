/** What a job answered. */

export interface ResultVerbs {
  /** Keeps a text under a job's id for `seconds`, instead of the one before; who waits for it hears of it. */
  keepResult(jid: string, text: string, seconds: number): Promise<void>
  /** The text that is kept; waits for it at most `ms`, or until `signal` aborts. null: there is none. */
  result(jid: string, ms?: number, signal?: AbortSignal): Promise<string | null>
}
