// What work costs: time, CPU of this process (all its threads), CPU and memory of Redis. How busy the machine was with
// anything else says how far to believe the time.
import { cpus } from 'node:os'
import Redis from 'ioredis'

export function openMeter(url) {
  const redis = new Redis(url)
  const infoOf = async (section, field) => Number(new RegExp(`^${field}:(.*)$`, 'm').exec(await redis.info(section))[1])

  async function redisMicros() {
    const [user, system] = await Promise.all([infoOf('cpu', 'used_cpu_user'), infoOf('cpu', 'used_cpu_sys')])
    return (user + system) * 1e6
  }

  async function read() {
    // What is ours is read at once, before Redis is asked.
    const at = performance.now()
    const { user, system } = process.cpuUsage()
    return { at, client: user + system, machine: busyMicros(), redis: await redisMicros() }
  }

  return {
    usedMemory: () => infoOf('memory', 'used_memory'),
    read,
    close: () => redis.disconnect(),
  }
}

/** Of all cores, since the machine started. */
function busyMicros() {
  return cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + (user + nice + sys + irq) * 1000, 0)
}

/** Between two readings, for each of `jobs`. */
export function costs(before, after, jobs) {
  const [took, client, redis, machine] = ['at', 'client', 'redis', 'machine'].map((what) => after[what] - before[what])
  return {
    'jobs/s': jobs / (took / 1000),
    'client µs/job': client / jobs,
    'Redis µs/job': redis / jobs,
    'cores busy otherwise': Math.max(0, machine - client - redis) / (took * 1000),
  }
}
