// The limits for the figures of the dashboard.

const LIMITS = [
  { of: /^first answer of .*, ms$/, most: 500 },
  { of: /, live: (page|server), % of a core$/, most: 5 },
  { of: /, live: commands to Redis a second$/, most: 50 },
]

/** Returns one line for each limit with the figure that is closest to it, and one for each figure above its limit. */
export function checkLimits(table) {
  const figures = Object.entries(table).flatMap(([figure, row]) =>
    Object.entries(row).map(([store, value]) => ({ text: `${figure} on ${store}`, figure, value })),
  )
  const closest = []
  const exceeded = []
  for (const { of, most } of LIMITS) {
    const all = figures.filter(({ figure }) => of.test(figure)).sort((a, b) => b.value - a.value)
    const share = ({ text, value }) => `${text}: ${value}, ${(value / most).toFixed(2)} of the limit ${most}`
    if (all.length > 0) closest.push(share(all[0]))
    exceeded.push(...all.filter(({ value }) => value > most).map(share))
  }
  return { closest, exceeded }
}
