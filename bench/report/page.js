// Writes docs/benchmarks.md with its plots, and docs/benchmark-figures.md, from the results of a whole run.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { FIGURES, figureOf } from '../core/figures.js'
import { ratiosOf } from '../core/ratios.js'
import { summarize } from '../core/statistics.js'
import { IDLE } from '../workloads/latency.js'
import { barPlot, coloursOf, linePlot } from './svg.js'

const DOCS = new URL('../../docs/', import.meta.url)
const IMAGES = new URL('images/benchmarks/', DOCS)
/** The counted jobs of the idle latency. */
const LATENCY_JOBS = IDLE.jobs - IDLE.warmup
/** A peer counts as better from this difference on. */
const CLEARLY = 0.05

/** The columns of the first table: title, workload, figure. */
const GLANCE = [
  ['enqueue singly, /s', 'enqueue.single', 'rate'],
  ['in waves, /s', 'enqueue.waves', 'rate'],
  ['in bulk, /s', 'enqueue.bulk', 'rate'],
  ['process no-ops, /s', 'process.noop', 'rate'],
  ['client CPU, µs', 'process.noop', 'client'],
  ['server CPU, µs', 'process.noop', 'redis'],
  ['memory, MB', 'process.noop', 'memory'],
  ['bytes a job', 'process.noop', 'bytes'],
  ['idle latency p50, ms', 'latency.idle', 'p50'],
  ['start, ms', 'life.start', 'start'],
]

/** @returns the paths of the written files */
export function writePage(results, groups, peers) {
  mkdirSync(IMAGES, { recursive: true })
  for (const name of readdirSync(IMAGES)) rmSync(new URL(name, IMAGES))
  const { page, figures, images } = renderPages(results, groups, peers)
  for (const [name, content] of Object.entries(images)) writeFileSync(new URL(name, IMAGES), content)
  writeFileSync(new URL('benchmarks.md', DOCS), page)
  writeFileSync(new URL('benchmark-figures.md', DOCS), figures)
  return [
    'docs/benchmarks.md',
    'docs/benchmark-figures.md',
    ...Object.keys(images).map((name) => `docs/images/benchmarks/${name}`),
  ]
}

/** @returns {{ page: string, figures: string, images: Record<string, string> }} two pages of Markdown, and an SVG by file name */
export function renderPages(results, groups, allPeers) {
  const peers = allPeers.filter(({ name }) => name in results.versions)
  const colourOf = coloursOf(peers)
  const images = {}
  const sections = []
  const tables = []
  for (const group of groups) {
    const measured = group.workloads.filter(({ name }) => results.cells[name])
    if (measured.length === 0) continue
    const plots = plotsOf(group, measured, results, peers, colourOf)
    for (const { file, content } of plots) images[file] = content
    sections.push(
      `## ${group.title}`,
      group.text,
      ...plots.flatMap(({ file, title, data }) => [`![${title}](images/benchmarks/${file})`, ...(data ? [data] : [])]),
    )
    tables.push(
      `## ${group.title}`,
      group.text,
      ...measured.flatMap((workload) => [`### ${workload.title}`, tableOf(results.cells[workload.name], peers)]),
    )
  }
  const page = [
    '# Benchmarks',
    'This page shows Highkiq beside other queues and beside raw commands. Raw commands store, fetch and remove jobs in a loop, without retries or statistics. `npm run bench` measures all of this, and writes this page and [all figures](benchmark-figures.md).',
    ...conditions(results, peers),
    '## At a glance',
    'CPU, memory and bytes are those of no-op jobs. The best figure of a column is bold, for each store; raw commands are not compared.',
    glance(results.cells, peers),
    '## The ratios',
    'A ratio is the median over the rounds, because machines drift. A round measures both sides one after the other; those of `cost.…` are some minutes apart in a whole run. `npm run bench -- --check` compares these ratios with a new run.',
    ratioTable(results, groups, peers),
    '## Where peers are better',
    ...better(results, groups, peers),
    ...sections,
    '## Left out',
    ...leftOut(results),
    '## Measure it yourself',
    'You need Linux, a clone of the repository with `npm ci` and `npm run build`, and the Debian packages `redis-server` and `postgresql`. For Sidekiq you also need Ruby and `gem install sidekiq`. Queues that can’t run are left out.',
    'A whole run takes at most 90 minutes. It writes this page, [all figures](benchmark-figures.md) and `bench/results/latest.json`. The first run installs the other queues into `bench/peers`. [CONTRIBUTING.md](../CONTRIBUTING.md#how-to-add-) says how to add a peer or a workload.',
    '```sh\nnpm run bench                      # everything\nnpm run bench -- --quick --json    # the ratios, in 4 minutes\nnpm run bench -- --check           # compares them with the published ones\nnpm run bench -- --only process --peers highkiq-redis,bullmq\n```',
  ].join('\n\n')
  const figures = [
    '# All figures of the benchmarks',
    'These are the figures behind [the benchmarks](benchmarks.md), which say how and on which machine they were measured. A cell is the median of the rounds. Brackets hold the lowest and the highest round.',
    ...tables,
  ].join('\n\n')
  return { page: `${page}\n`, figures: `${figures}\n`, images }
}

function conditions({ at, commit, machine, quick, jobs, manyJobsFactor, rounds, seconds, versions }, peers) {
  const { node, cpu, cores, memory, load } = machine
  return [
    [
      ...(load > cores / 2 || rounds < 3
        ? [
            '- **A trial run**: the machine did other work, or there were fewer than three rounds. Do not quote these figures.',
          ]
        : []),
      ...(quick
        ? ['- **Only the ratios**: this run measured only the workloads and queues that the ratios need (`--quick`).']
        : []),
      `- **Run**: ${at.slice(0, 10)}${commit ? `, commit ${commit}` : ''}, ${rounds} interleaved ${rounds === 1 ? 'round' : 'rounds'}, ${Math.round(seconds / 60)} minutes.`,
      `- **Jobs**: ${count(jobs)} counted ones a measurement, after half as many that warm up. Slow workloads have fewer: a fifth for single pushes, a twentieth for jobs that compute, a tenth for pushes of 10 kB, ${LATENCY_JOBS} for the idle latency.`,
      ...(manyJobsFactor
        ? [
            `- **More jobs**: all queues run ${manyJobsFactor} times as many in waves and in bulk; Highkiq on Redis and SQLite and raw commands also where a job takes microseconds. Fewer are over before Node has compiled the code, and a worker lives for hours. Their memory is that of more jobs, too.`,
          ]
        : []),
      `- **Machine**: ${cpu}, ${cores} cores, ${memory} GB, Node ${node}, load ${load} before the run. Clients, workers and servers share it.`,
      '- **Redis** keeps nothing on disk. **SQLite** uses WAL: `full` durability unless the title says “normal”. **PostgreSQL** syncs each commit.',
      ...peers.flatMap(({ remark }) => (remark ? [`- ${remark}`] : [])),
      '- **Logs** are off in all queues.',
      '- **Effects**: every job has a number. A measurement with a job that does not run exactly once is listed as failed, without figures.',
      `- **Versions**: ${Object.entries(versions)
        .filter(([name]) => !name.startsWith('highkiq') && !name.startsWith('raw'))
        .map(([name, version]) => `${name} ${version}`)
        .join(', ')}.`,
    ].join('\n'),
    'A cell is the median of the rounds. Brackets hold the lowest and the highest round. Client CPU counts all threads of the process that is measured, and memory is its peak.',
  ]
}

function tableOf(byPeer, peers) {
  const shown = peers.filter(({ name }) => byPeer[name])
  const figures = Object.keys(FIGURES).filter((figure) =>
    shown.some(({ name }) => byPeer[name][0][figure] !== undefined),
  )
  return table(
    ['', ...figures.map((figure) => FIGURES[figure].title)],
    shown.map(({ name, title }) => [
      title,
      ...figures.map((figure, i) => {
        const summary = summaryOf(byPeer, name, figure)
        if (!summary) return ''
        return i === 0 && summary.rounds.length > 1
          ? `${count(summary.median)} (${count(summary.min)}–${count(summary.max)})`
          : count(summary.median)
      }),
    ]),
  )
}

function glance(cells, peers) {
  const columns = GLANCE.map(([, workload, figure]) => {
    const values = new Map(peers.map((peer) => [peer, summaryOf(cells[workload], peer.name, figure)?.median]))
    const best = FIGURES[figure].better === 'more' ? Math.max : Math.min
    const bestOf = (store) => {
      const rivals = [...values].filter(([peer, value]) => peer.store === store && !peer.isRaw && value !== undefined)
      return best(...rivals.map(([, value]) => value))
    }
    return { values, bestOf }
  })
  const cellOf = (peer, { values, bestOf }) => {
    const value = values.get(peer)
    if (value === undefined) return ''
    return value === bestOf(peer.store) && !peer.isRaw ? `**${count(value)}**` : count(value)
  }
  return table(
    ['', ...GLANCE.map(([title]) => title)],
    peers.map((peer) => [peer.title, ...columns.map((column) => cellOf(peer, column))]),
  )
}

function summaryOf(byPeer, peer, figure) {
  const rounds = byPeer?.[peer]?.map((round) => figureOf(round, figure)).filter((value) => value !== undefined)
  return rounds?.length > 0 ? summarize(rounds) : undefined
}

function plotsOf(group, workloads, { cells }, peers, colourOf) {
  if (group.plots) return group.plots.flatMap((plot) => linesOf(group, plot, cells, peers, colourOf))
  const panels = workloads.map(({ name, title }) => {
    const figure = Object.keys(FIGURES).find((one) => Object.values(cells[name])[0][0][one] !== undefined)
    const bars = peers.flatMap((peer) => {
      const summary = summaryOf(cells[name], peer.name, figure)
      return summary
        ? [{ label: peer.title, value: summary.median, shown: count(summary.median), colour: colourOf(peer) }]
        : []
    })
    return { title: `${title}: ${FIGURES[figure].title}`, bars }
  })
  return [{ file: `${group.name}.svg`, title: group.title, content: barPlot(group.title, panels) }]
}

function linesOf(group, { figure, x, points }, cells, peers, colourOf) {
  const series = peers.flatMap((peer) => {
    const known = points.flatMap(([at, workload]) => {
      const summary = summaryOf(cells[workload], peer.name, figure)
      return summary?.median > 0 ? [[at, summary.median]] : []
    })
    return known.length > 1 ? [{ label: peer.title, colour: colourOf(peer), dashed: peer.isRaw, points: known }] : []
  })
  if (series.length === 0) return []
  const title = `${group.title}: ${FIGURES[figure].title}`
  const content = linePlot(group.title, { series, x, y: FIGURES[figure].title, shown: count })
  const all = points.filter(([at]) => series.some(({ points }) => points.some(([x]) => x === at)))
  const data = table(
    [`${FIGURES[figure].title}, by ${x}`, ...all.map(([at]) => count(at))],
    series.map(({ label, points }) => [
      label,
      ...all.map(([at]) => points.filter(([x]) => x === at).map(([, y]) => count(y))),
    ]),
  )
  return [{ file: `${group.name}-${figure}.svg`, title, content, data }]
}

function ratioTable({ ratios, driver }, groups, peers) {
  const workloads = new Map(groups.flatMap((group) => group.workloads.map(({ name }) => [name, group.name])))
  const titles = new Map(peers.map(({ name, title }) => [name, title]))
  const definitions = ratiosOf(driver)
  return table(
    ['ratio', 'median', 'rounds', 'what it divides', 'better'],
    Object.entries(ratios).map(([name, { median, min, max }]) => {
      const { figure, of, to } = definitions[name]
      const side = ([workload, peer]) => (of[0] === to[0] ? titles.get(peer) : `\`${workload}\``)
      const what =
        of[0] === to[0]
          ? `${FIGURES[figure].title}, ${workloads.get(of[0])}`
          : `${FIGURES[figure].title}, ${titles.get(of[1])}`
      const direction = FIGURES[figure].better
      return [
        `\`${name}\``,
        count(median),
        `${count(min)}–${count(max)}`,
        `${what}: ${side(of)} ÷ ${side(to)}`,
        direction,
      ]
    }),
  )
}

/** The figures in which a peer that is not raw commands beats Highkiq on the same store. The cost is a sum of two of them. */
function betterPeers({ cells }, groups, peers) {
  const rivals = peers.filter((peer) => !peer.app && !peer.isRaw)
  return groups.flatMap(({ workloads }) =>
    workloads
      .filter(({ isOwnRate }) => !isOwnRate)
      .flatMap(({ name, title }) =>
        rivals.flatMap((peer) =>
          Object.entries(FIGURES).flatMap(([figure, { title: unit, better }]) => {
            const theirs = summaryOf(cells[name], peer.name, figure)?.median
            const own = summaryOf(cells[name], peer.comparedTo ?? 'highkiq-redis', figure)?.median
            if (theirs === undefined || own === undefined) return []
            if (figure === 'cost') return []
            const lead = better === 'more' ? theirs / own : own / theirs
            return lead > 1 + CLEARLY ? [{ workload: name, title, peer: peer.title, figure, unit, theirs, own }] : []
          }),
        ),
      ),
  )
}

function better(results, groups, peers) {
  const rows = betterPeers(results, groups, peers)
  if (rows.length === 0)
    return [
      'In this run, no measured figure of another queue is better by more than 5% than that of Highkiq on the same store.',
    ]
  const memory = rows.filter(({ figure }) => figure === 'memory')
  const others = rows.filter(({ figure }) => figure !== 'memory')
  return [
    'Each row is a figure of another queue that is better by more than 5% than that of Highkiq on the same store.',
    table(
      ['workload', 'figure', 'queue', 'its figure', 'Highkiq’s'],
      others.map(({ workload, unit, peer, theirs, own }) => [`\`${workload}\``, unit, peer, count(theirs), count(own)]),
    ),
    ...(memory.length > 0 ? ['The peak of memory, in MB:', memoryTable(memory)] : []),
  ]
}

function memoryTable(rows) {
  return table(
    ['workload', 'queue', 'its memory', 'Highkiq’s'],
    rows.map(({ workload, peer, theirs, own }) => [`\`${workload}\``, peer, count(theirs), count(own)]),
  )
}

function leftOut({ absent, failures, cells }) {
  const rows = Object.entries(absent).map(([name, reason]) => `- \`${name}\`: ${reason}.`)
  if (failures.length > 0) rows.push(...failures.map((failure) => `- Failed: ${failure}`))
  if (!cells['depth.1e7']) rows.push('- 10,000,000 queued jobs: only `--deep` measures them.')
  rows.push('- A table lists only the queues that have the feature.')
  return [rows.join('\n')]
}

/** Columns of numbers are aligned to the right. */
function table(head, rows) {
  const isNumeric = (i) => rows.every((cells) => /^[\d.,–() *]*$/.test(cells[i]))
  const all = [head, head.map((_, i) => (isNumeric(i) ? '---:' : '---')), ...rows]
  return all.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** Three digits; the rounds agree on no more. */
export const count = (number) => Number(number.toPrecision(3)).toLocaleString('en', { maximumFractionDigits: 9 })
