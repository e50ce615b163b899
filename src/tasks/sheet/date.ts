/**
 * A date of a cell as text: 'YYYY-MM-DD', with 'THH:mm:ss' when it has a time part; always UTC, to the nearest second.
 * @returns '' for an invalid Date
 */
export function dateText(date: Date): string {
  // A spreadsheet counts in fractions of a day, which miss the second by a millisecond now and then.
  const rounded = new Date(Math.round(date.getTime() / 1000) * 1000)
  if (Number.isNaN(rounded.getTime())) return ''
  const [day, time] = rounded.toISOString().slice(0, -5).split('T')
  return time === '00:00:00' ? `${day}` : `${day}T${time}`
}
