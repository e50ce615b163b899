/** A loop that runs beside a worker's jobs, for as long as the worker does. */
export interface BackgroundService {
  start(): Promise<void> | void
  /** Starts nothing new; what is under way may end. */
  quiet(): Promise<void> | void
  stop(): Promise<void> | void
}
