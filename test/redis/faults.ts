/** What may befall the connections, until it is set otherwise. 0 is never. */
export interface Faults {
  /**
   * One connection is cut every so many milliseconds, on average: at once, or at its next message – when a half of the
   * request was sent on, when it was sent on and answered but the answer was not passed on, or was by a half.
   */
  cut: number
  /** A packet is held back for up to so many milliseconds, and all behind it. */
  delay: number
  /** How many of the packets are held back for 1–3 s, from 0 to 1. */
  stall: number
  /** How many of the messages come in pieces with small pauses between them, from 0 to 1. */
  halve: number
  /** How many of those that come in pieces are cut off after one of them, from 0 to 1. */
  sever: number
}

export const NO_FAULTS: Faults = { cut: 0, delay: 0, stall: 0, halve: 0, sever: 0 }

/** The faults that are in force, and the chance that decides when. */
export interface Weather {
  faults: Faults
  random(): number
}
