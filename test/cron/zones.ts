import { changes } from './oracle.ts'

/** Zones whose clocks change in different ways, and a year in which they do. */
export const ZONES: Readonly<Record<string, number>> = {
  'Europe/Berlin': 2025,
  'America/New_York': 2025,
  // By half an hour.
  'Australia/Lord_Howe': 2025,
  // At midnight.
  'Africa/Cairo': 2025,
  // Never.
  'Asia/Kolkata': 2025,
  // By two hours.
  'Antarctica/Troll': 2025,
  // At an hour before midnight, so that the day ends with the hour that is skipped.
  'America/Nuuk': 2025,
}

/** As they were in other years. */
export const OLD_ZONES: Readonly<Record<string, number>> = {
  // Back at midnight, into the day before.
  'America/Sao_Paulo': 2018,
  // A whole day was skipped.
  'Pacific/Apia': 2011,
  // Back for Ramadan, and forth again.
  'Africa/Casablanca': 2024,
}

/** Times around which to look: each change of the year; of a zone without one, midsummer. */
export function turningPoints(zone: string, year: number): number[] {
  const found = changes(zone, Date.UTC(year, 0, 2), Date.UTC(year + 1, 0, 1))
  return found.length > 0 ? found : [Date.UTC(year, 5, 21)]
}
