/** The faults of all connections. 0 means never. */
export interface Faults {
  /**
   * Cuts a connection every so many milliseconds on average: at once; at its next message when half of the request
   * was sent on; or after the request was sent on, with no reply or half of it.
   */
  cut: number
  /** Holds a packet, and all behind it, for up to this many milliseconds. */
  delay: number
  /** The share of packets that are held for 1–3 s, from 0 to 1. */
  stall: number
  /** The share of messages that arrive in pieces with short pauses, from 0 to 1. */
  halve: number
  /** The share of messages in pieces that are cut off after one piece, from 0 to 1. */
  sever: number
}

export const NO_FAULTS: Faults = { cut: 0, delay: 0, stall: 0, halve: 0, sever: 0 }

/** The current faults, and the random numbers that decide when they happen. */
export interface Weather {
  faults: Faults
  random(): number
}
