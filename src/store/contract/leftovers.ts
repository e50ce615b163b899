/** Jobs that go-workers and Lowkiq have left in the server of the store. */

/** The jobs that a process of go-workers had fetched. */
export interface GoList {
  queue: string
  /** The id of the process, as its configuration has it. */
  process: string
  /** The number of jobs. */
  size: number
}

/** What was adopted of a queue of Lowkiq, or would be. */
export interface LowkiqAdoption {
  queue: string
  /** Ids that wait now. */
  waiting: number
  /** Ids in the morgue now. */
  dead: number
  /** Ids that stay with Lowkiq, and why, as text for display. */
  left: { id: string; reason: string }[]
}

export interface LeftoverStore {
  /** Returns the lists of jobs that processes of go-workers had fetched. A live process has such a list, too. */
  goLists(): Promise<GoList[]>
  /**
   * Returns the addresses of the clients that wait for jobs as go-workers does; null: the user may not list clients. A
   * process whose goroutines are all busy is not among them.
   */
  goClients(): Promise<string[] | null>
  /** Moves the jobs of a list to the front of their queue, in their order, each in one step. Returns how many. */
  requeueGoList(list: GoList): Promise<number>
  /**
   * Moves the ids of Lowkiq's queues to ordered queues of the same names, each id with its payloads in one step. An id that
   * the queue has already is merged, and its state there counts. A new ordered queue gets `shards` shards.
   * @param dry only counts
   */
  adoptLowkiq(shards: number, dry: boolean): Promise<LowkiqAdoption[]>
}
