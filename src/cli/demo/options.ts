export interface DemoOptions {
  file?: string
  url?: string
  rows?: number
  out: string
}

export const ROWS = 10_000
