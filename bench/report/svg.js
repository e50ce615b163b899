// Plots as SVG without scripts: bars and lines whose colours suit light and dark pages.
const WIDTH = 720
const LABELS = 230
const ROW = 22
const COLOURS = ['#3b82f6', '#e5734a', '#0fa3a3', '#c04fa8', '#8a6fe0', '#b98a00', '#4c9f38', '#d64545', '#5f87a8']
const RAW_COLOURS = ['#8b949e', '#b0926a', '#7d8f6f', '#9a8298', '#8a8a6a']
const STYLE = `<style>
text{font:12px system-ui,sans-serif;fill:#1f2328}
.title{font-weight:600;font-size:13px}.small{fill:#59636e;font-size:11px}.grid{stroke:#d1d9e0}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.small{fill:#9198a1}.grid{stroke:#3d444d}}
</style>`

const escaped = (text) => String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

const svg = (title, height, parts) =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escaped(title)}">\n${STYLE}\n${parts.join('\n')}\n</svg>\n`

const text = (x, y, content, more = '') => `<text x="${round(x)}" y="${round(y)}"${more}>${escaped(content)}</text>`
const round = (number) => Number(number.toFixed(1))

/** A colour for each peer, the same in all plots; those of raw commands are dull. */
export function coloursOf(peers) {
  const alike = (peer) => peers.filter(({ isRaw }) => isRaw === peer.isRaw).indexOf(peer)
  const from = (colours, peer) => colours[alike(peer) % colours.length]
  return (peer) => from(peer.isRaw ? RAW_COLOURS : COLOURS, peer)
}

/** @param panels `{ title, bars: [{ label, value, shown, colour }] }`, one under the other, each with a scale of its own */
export function barPlot(title, panels) {
  const parts = []
  let y = 8
  for (const { title, bars } of panels) {
    y += 20
    parts.push(text(8, y, title, ' class="title"'))
    y += 8
    const most = Math.max(...bars.map(({ value }) => value))
    for (const { label, value, shown, colour } of bars) {
      const width = most > 0 ? ((WIDTH - LABELS - 110) * value) / most : 0
      parts.push(text(LABELS - 8, y + 15, label, ' text-anchor="end"'))
      parts.push(
        `<rect x="${LABELS}" y="${y + 3}" width="${round(Math.max(1, width))}" height="${ROW - 6}" fill="${colour}"/>`,
      )
      parts.push(text(LABELS + width + 6, y + 15, shown, ' class="small"'))
      y += ROW
    }
  }
  return svg(title, y + 12, parts)
}

/** @param series `{ label, colour, dashed, points: [[x, y], …] }`; both axes are logarithmic */
export function linePlot(title, { series, x, y, shown }) {
  const columns = 3
  const top = 34 + Math.ceil(series.length / columns) * 18
  const box = { left: 64, right: WIDTH - 16, top, bottom: top + 230 }
  const all = series.flatMap(({ points }) => points)
  const xs = [...new Set(all.map(([value]) => value))].sort((a, b) => a - b)
  const scaleX = logScale(xs[0], xs.at(-1), box.left + 12, box.right - 12)
  const ticks = ticksOf(all.map(([, value]) => value))
  const scaleY = logScale(ticks[0], ticks.at(-1), box.bottom, box.top)
  const parts = [text(8, 20, `${title} (${y}, by ${x})`, ' class="title"')]
  for (const [i, { label, colour }] of series.entries()) {
    const at = { x: 8 + (i % columns) * 238, y: 40 + Math.floor(i / columns) * 18 }
    parts.push(`<rect x="${at.x}" y="${at.y - 9}" width="10" height="10" fill="${colour}"/>`)
    parts.push(text(at.x + 16, at.y, label))
  }
  for (const tick of ticks) {
    const at = round(scaleY(tick))
    parts.push(`<line class="grid" x1="${box.left}" x2="${box.right}" y1="${at}" y2="${at}"/>`)
    parts.push(text(box.left - 6, at + 4, shown(tick), ' class="small" text-anchor="end"'))
  }
  for (const value of xs) {
    parts.push(text(scaleX(value), box.bottom + 18, value.toLocaleString('en'), ' class="small" text-anchor="middle"'))
  }
  for (const { colour, dashed, points } of series) {
    const path = points.map(([px, py]) => `${round(scaleX(px))},${round(scaleY(py))}`)
    const dash = dashed ? ' stroke-dasharray="4 3"' : ''
    parts.push(`<polyline points="${path.join(' ')}" fill="none" stroke="${colour}" stroke-width="2"${dash}/>`)
    for (const point of path) {
      const [cx, cy] = point.split(',')
      parts.push(`<circle cx="${cx}" cy="${cy}" r="3" fill="${colour}"/>`)
    }
  }
  return svg(title, box.bottom + 30, parts)
}

function logScale(from, to, start, end) {
  const span = Math.log(to / from) || 1
  return (value) => start + ((end - start) * Math.log(value / from)) / span
}

/** 1, 2 and 5 times powers of ten, from below the lowest number to above the highest one. */
export function ticksOf(numbers) {
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)]
  const steps = []
  for (let power = Math.floor(Math.log10(least)); power <= Math.ceil(Math.log10(most)); power++) {
    for (const digit of [1, 2, 5]) steps.push(digit * 10 ** power)
  }
  const first = steps.findLastIndex((step) => step <= least)
  const last = steps.findIndex((step) => step >= most)
  return steps.slice(first, Math.max(last, first + 1) + 1)
}
