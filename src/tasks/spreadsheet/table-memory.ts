import { getHeapStatistics } from 'node:v8'

/** What the tables of all workbooks that are read now take of the heap, in bytes. */
let taken = 0

/**
 * Counts what the table of texts of one workbook takes of the heap, beside those of others. Running out of memory would end the
 * process and every other job in it.
 */
export class TableMemory {
  readonly #free: number
  /** What the tables took when this one began: the heap in use has it. */
  readonly #before = taken
  #own = 0

  constructor(free = freeHeap()) {
    this.#free = free
  }

  /** Notes how many bytes the table takes by now. Returns false when there is no room for them. */
  fits(bytes: number): boolean {
    taken += bytes - this.#own
    this.#own = bytes
    return taken - this.#before <= this.#free
  }

  /** Must be called when the table is not needed any more. */
  release(): void {
    this.fits(0)
  }
}

function freeHeap(): number {
  const { heap_size_limit, used_heap_size } = getHeapStatistics()
  return heap_size_limit - used_heap_size
}
