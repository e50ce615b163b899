import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { chance } from '../conformance/chance.js'
import { type Faults, NO_FAULTS, type Weather } from './faults.ts'
import { Link, MANNERS } from './link.ts'
import { freePort } from './port.ts'
import { type Act, type Match, type Request, Step } from './step.ts'

const SEED = Number(process.env.HIGHKIQ_TEST_SEED ?? 20260517)

/**
 * Stands between clients and a Redis server, and behaves like a bad network. It runs in the process of the test, so
 * that the test chooses requests with functions of its own. Work that blocks the event loop belongs into a child
 * process.
 */
export class FaultProxy {
  readonly port: number
  readonly #server: Server
  readonly #links = new Set<Link>()
  readonly #weather: Weather
  #steps: { match: Match; step: Step }[] = []
  #refuses = false
  #cutter: NodeJS.Timeout | undefined

  constructor(port: number, target: number, seed: number) {
    this.port = port
    this.#weather = { faults: NO_FAULTS, random: chance(seed) }
    this.#server = createServer((client) => this.#connect(client, target))
  }

  /** The number of connected clients. */
  get connections(): number {
    return this.#links.size
  }

  url(database = 0): string {
    return `redis://127.0.0.1:${this.port}/${database}`
  }

  async listen(): Promise<void> {
    const listening = once(this.#server, 'listening')
    this.#server.listen(this.port, '127.0.0.1')
    await listening
  }

  /** Changes the given faults; the others stay. */
  set(faults: Partial<Faults>): void {
    this.#weather.faults = { ...this.#weather.faults, ...faults }
    clearTimeout(this.#cutter)
    this.#cutLater()
  }

  /** Ends all random faults. A message that a step holds stays held. */
  calm(): void {
    this.set(NO_FAULTS)
  }

  /**
   * Makes something happen to the next request that matches, once. `match` is called for every request just before it
   * is sent on, until it returns true. Of several steps the oldest that matches is used.
   */
  onRequest(match: Match, act: Act): Step {
    const step = new Step(act)
    this.#steps.push({ match, step })
    return step
  }

  /** Cuts all connections now. */
  cutAll(): void {
    for (const link of this.#links) link.cut()
  }

  /** Behaves like a server that is down: cuts all connections, and every new one at once, until `accept`. */
  refuse(): void {
    this.#refuses = true
    this.cutAll()
  }

  accept(): void {
    this.#refuses = false
  }

  async close(): Promise<void> {
    this.calm()
    this.refuse()
    const closed = once(this.#server, 'close')
    this.#server.close()
    await closed
  }

  #connect(client: Socket, target: number): void {
    if (this.#refuses) {
      client.on('error', () => {})
      client.resetAndDestroy()
      return
    }
    const server = connect({ port: target, host: '127.0.0.1' })
    const link = new Link(client, server, this.#weather, (request) => this.#stepOf(request))
    this.#links.add(link)
    client.on('close', () => this.#links.delete(link))
  }

  #stepOf(request: Request): Step | undefined {
    const found = this.#steps.find(({ match }) => match(request.name, request.args))
    this.#steps = this.#steps.filter((one) => one !== found)
    return found?.step
  }

  #cutLater(): void {
    const { faults, random } = this.#weather
    if (faults.cut <= 0) return
    // The probability is the same at any moment.
    const ms = -Math.log(1 - random()) * faults.cut
    this.#cutter = setTimeout(() => {
      const links = [...this.#links]
      const manner = MANNERS[Math.floor(random() * MANNERS.length)]
      links[Math.floor(random() * links.length)]?.cut(manner)
      this.#cutLater()
    }, ms)
  }
}

/** Starts a proxy in front of a server. HIGHKIQ_TEST_SEED seeds its random numbers, unless the test does. */
export async function startProxy(server: { port: number }, seed = SEED): Promise<FaultProxy> {
  const proxy = new FaultProxy(await freePort(), server.port, seed)
  await proxy.listen()
  return proxy
}
