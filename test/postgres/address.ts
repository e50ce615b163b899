import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** An address that leads to one server, and later to another one, such as that of a load balancer. */
export class Address {
  readonly #server = createServer((client) => this.#accept(client))
  readonly #sockets = new Set<Socket>()
  /** The port that it leads to; undefined: it refuses connections. */
  #to: number | undefined

  static async open(to: number): Promise<Address> {
    const address = new Address()
    address.#to = to
    address.#server.listen(0, '127.0.0.1')
    await once(address.#server, 'listening')
    return address
  }

  close(): void {
    this.moveTo(undefined)
    this.#server.close()
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Cuts all connections. Later ones lead to this port, or are refused. */
  moveTo(to: number | undefined): void {
    this.#to = to
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Later connections lead to this port. Those that are open stay, as they do when only a name changes. */
  leadTo(to: number): void {
    this.#to = to
  }

  #accept(client: Socket): void {
    if (this.#to === undefined) return void client.destroy()
    const server = connect(this.#to, '127.0.0.1')
    const cut = () => {
      client.destroy()
      server.destroy()
    }
    for (const socket of [client, server]) {
      this.#sockets.add(socket)
      socket.on('error', cut).on('close', () => {
        this.#sockets.delete(socket)
        cut()
      })
    }
    client.pipe(server)
    server.pipe(client)
  }
}
