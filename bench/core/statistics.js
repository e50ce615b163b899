// Medians and spreads of the rounds of one figure.

/** The number below which `share` (0 to 1) of the numbers lie; between two numbers it interpolates. */
export function quantile(numbers, share) {
  const sorted = numbers.toSorted((a, b) => a - b)
  const at = (sorted.length - 1) * share
  const below = sorted[Math.floor(at)]
  return below + (sorted[Math.ceil(at)] - below) * (at % 1)
}

export const median = (numbers) => quantile(numbers, 0.5)

export function summarize(rounds) {
  return { median: median(rounds), min: Math.min(...rounds), max: Math.max(...rounds), rounds }
}

/** Half the distance of the lowest and the highest round, as a part of the median. */
export const halfSpread = ({ median, min, max }) => (max - min) / 2 / median
