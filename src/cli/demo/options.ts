export interface DemoOptions {
  file?: string
  url?: string
  rows?: number
  out: string
  /** Leaves the dashboard open at the end. */
  web?: boolean
}

export const ROWS = 10_000
