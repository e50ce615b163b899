/**
 * The tickets of fetched jobs: the queue, the position there, and the number of the fetch, which the process of the owner counts.
 * After a failover to a standby that was behind, the server gives out positions again, to other jobs. So a position alone does
 * not name a job.
 */

export interface TicketParts {
  queue: number
  position: number
  fetchNumber: number
}

/** Some tickets, each once, and their parts as columns. */
export interface Tickets {
  all: string[]
  queues: number[]
  positions: number[]
  fetchNumbers: number[]
}

export function ticketOf({ queue, position, fetchNumber }: TicketParts): string {
  return `${queue}:${position}:${fetchNumber}`
}

/** undefined: this store gives out no such ticket. */
export function parseTicket(ticket: string): TicketParts | undefined {
  const [queue = Number.NaN, position = Number.NaN, fetchNumber = Number.NaN] = ticket.split(':').map(Number)
  const isWhole = Number.isSafeInteger(queue) && Number.isSafeInteger(position) && Number.isSafeInteger(fetchNumber)
  const parts = { queue, position, fetchNumber }
  // A malformed ticket such as `1:02:3` parses like `1:2:3`.
  return isWhole && ticketOf(parts) === ticket ? parts : undefined
}

/** Returns the tickets of settlements, without those that this store does not give out. */
export function ticketsOf(settlements: readonly { ticket: string }[]): Tickets {
  const tickets: Tickets = { all: [], queues: [], positions: [], fetchNumbers: [] }
  for (const ticket of new Set(settlements.map((one) => one.ticket))) {
    const parts = parseTicket(ticket)
    if (!parts) continue
    tickets.all.push(ticket)
    tickets.queues.push(parts.queue)
    tickets.positions.push(parts.position)
    tickets.fetchNumbers.push(parts.fetchNumber)
  }
  return tickets
}
