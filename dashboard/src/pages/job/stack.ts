/** Which lines of a backtrace are the app's own, and whose the others are. */

export interface Run {
  isOwn: boolean
  frames: string[]
  /** Packages, or what they belong to. */
  of: string[]
}

/** Frames as they follow each other: own ones, and runs of others. */
export function runsOf(frames: readonly string[]): Run[] {
  const runs: Run[] = []
  for (const frame of frames) {
    const owner = ownerOf(frame)
    const isOwn = owner === null
    const last = runs.at(-1)
    const run = last && last.isOwn === isOwn ? last : { isOwn, frames: [], of: [] }
    if (run !== last) runs.push(run)
    run.frames.push(frame)
    if (owner !== null && !run.of.includes(owner)) run.of.push(owner)
  }
  return runs
}

/** null: the app's own. */
function ownerOf(frame: string): string | null {
  const place = frame.replaceAll('\\', '/')
  const modules = place.lastIndexOf('/node_modules/')
  if (modules !== -1) {
    const [scope = '', name = ''] = place.slice(modules + '/node_modules/'.length).split('/')
    return scope.startsWith('@') ? `${scope}/${name}` : scope
  }
  if (/(?:^|[\s(])node:|\(internal\/|<anonymous>\)?$/.test(place)) return 'Node.js'
  if (/\/highkiq\/(?:dist|src)\//.test(place)) return 'highkiq'
  const gem = place.match(/\/gems\/([^/]+?)-\d[^/]*\//)
  if (gem) return gem[1] as string
  if (/\/lib\/ruby\/|<internal:/.test(place)) return 'Ruby'
  return null
}

/** `    at send (/app/client.ts:48:19)` → `send (/app/client.ts:48:19)` */
export function frameText(frame: string): string {
  return frame.trim().replace(/^at /, '').replace('file://', '')
}
