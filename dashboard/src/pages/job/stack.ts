/** Tells the app's own frames of a backtrace from those of packages. */

export interface Run {
  isOwn: boolean
  frames: string[]
  /** The names of the packages. */
  of: string[]
}

/** Groups consecutive frames: own frames, and runs of frames of packages. */
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

/** Returns the package of a frame; null for the app's own. */
function ownerOf(frame: string): string | null {
  const path = frame.replaceAll('\\', '/')
  const modules = path.lastIndexOf('/node_modules/')
  if (modules !== -1) {
    const [scope = '', name = ''] = path.slice(modules + '/node_modules/'.length).split('/')
    return scope.startsWith('@') ? `${scope}/${name}` : scope
  }
  if (/(?:^|[\s(])node:|\(internal\/|<anonymous>\)?$/.test(path)) return 'Node.js'
  if (/\/highkiq\/(?:dist|src)\//.test(path)) return 'highkiq'
  const gem = path.match(/\/gems\/([^/]+?)-\d[^/]*\//)
  if (gem) return gem[1] as string
  if (/\/lib\/ruby\/|<internal:/.test(path)) return 'Ruby'
  return null
}

/** `    at send (/app/client.ts:48:19)` → `send (/app/client.ts:48:19)` */
export function frameText(frame: string): string {
  return frame.trim().replace(/^at /, '').replace('file://', '')
}
