// The peers and the workloads: each file of `peers/` and `workloads/` adds its own.
import { readdirSync } from 'node:fs'

async function modulesOf(folder) {
  const names = readdirSync(new URL(`../${folder}/`, import.meta.url)).filter((name) => name.endsWith('.js'))
  const urls = names.map((name) => new URL(`../${folder}/${name}`, import.meta.url).href)
  return Promise.all(urls.map(async (url) => (await import(url)).default))
}

/** @returns all peers, in the order of tables */
export async function loadPeers() {
  return (await modulesOf('peers')).flat().sort((a, b) => a.order - b.order)
}

/** @returns the groups of workloads, in the order of the page */
export async function loadGroups() {
  return (await modulesOf('workloads')).sort((a, b) => a.order - b.order)
}

/** Whether a peer can do what a workload needs: `app` is a Highkiq app; a peer `lacks` other things by name. */
export function fits(workload, peer) {
  const can = (need) => (need === 'app' ? peer.app : !peer.lacks?.includes(need))
  return (!workload.for || workload.for(peer)) && (workload.needs ?? []).every(can)
}

/** How many times as many jobs run where `manyJobs` says so: fewer are over before V8 has compiled the code. */
export const MANY_JOBS_FACTOR = 4

/**
 * The share of the jobs that a peer runs in a workload.
 * @param {{ manyJobs?: string | false }} workload `manyJobs` names who runs more: `fast peers` or `all peers`
 * @param {{ part?: number, isFast?: boolean }} peer
 */
export function partOf({ manyJobs }, { part = 1, isFast }) {
  return manyJobs === 'all peers' || (manyJobs && isFast) ? part * MANY_JOBS_FACTOR : part
}
