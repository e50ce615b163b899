import { getHeapStatistics } from 'node:v8'

/** The bytes that the text tables of all workbooks being read take in the heap. */
let taken = 0

/**
 * Reserves heap for the text table of one workbook, so that workbooks read at the same time share the free heap. Running out of
 * memory would end the process and every other job in it.
 */
export class TableMemory {
  readonly #free: number
  /** The bytes of all tables when this one began. `#free` already leaves them out. */
  readonly #before = taken
  #own = 0

  constructor(free = freeHeap()) {
    this.#free = free
  }

  /** Notes how many bytes the table takes by now. Returns false when there is no room for them. */
  reserve(bytes: number): boolean {
    taken += bytes - this.#own
    this.#own = bytes
    return taken - this.#before <= this.#free
  }

  /** Must be called when the table is not needed any more. */
  release(): void {
    this.reserve(0)
  }
}

function freeHeap(): number {
  const { heap_size_limit, used_heap_size } = getHeapStatistics()
  return heap_size_limit - used_heap_size
}
