/**
 * The shop around the examples of the docs. An example of a few lines may use these jobs and functions without defining
 * them; an example that defines one itself hides the one here.
 */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Agenda } from 'agenda'
import * as highkiq from 'highkiq'
import type * as activejob from 'highkiq/activejob'
import type { PgBoss } from 'pg-boss'
import * as vitest from 'vitest'

declare global {
  const Highkiq: typeof highkiq.Highkiq
  type DryRun = highkiq.DryRun
  type GlobalId = activejob.GlobalId
  const expect: typeof vitest.expect

  const hq: highkiq.Highkiq
  const otherApp: highkiq.Highkiq
  const task: highkiq.Task
  const jid: string
  const bid: string

  const Reindex: highkiq.Job<[customer: number]>
  const ImportShop: highkiq.Job<[shop: number]>
  const SendReport: highkiq.Job<[bid: string]>
  const HardJob: highkiq.Job<[name: string, count: number]>
  const SendInvoice: highkiq.Job<[order: number]>
  const Welcome: highkiq.Job<[{ name: string }]>
  const WelcomeMail: highkiq.Job<[name: string]>
  const CleanUp: highkiq.Job<[what: string]>
  const FetchRates: highkiq.Job<[at: string]>
  const ImportProduct: highkiq.Job<[product: { sku: string; price: string }]>
  const OtherJob: highkiq.Job<[text: string]>
  const SetPrice: highkiq.Job<[sku: string, price: string]>
  const ExportPage: highkiq.Job<[from: number, to: number], (string | number)[][]>

  const rows: [sku: string, price: string][]
  const moreRows: [text: string][]
  const pages: [from: number, to: number][]
  const columns: Record<string, string>
  const upload: Uint8Array
  const validate: StandardSchemaV1<Record<string, unknown>, { sku: string; price: string }>

  // The queues of others that an app leaves.
  const agenda: Agenda
  const boss: PgBoss

  const db: { orders(where: { shop: string; fromId: number }): AsyncIterable<{ id: number }> }
  function copy(id: string, version: { v: number } | undefined): Promise<void>
  function isAdmin(request: Request): Promise<boolean>
  function makeThumbnail(picture: activejob.GlobalId, size: string, options: { force: boolean }): Promise<void>
  function pagesOf(path: string): Promise<number>
  function resize(path: string, options: { signal: AbortSignal }): Promise<void>
  function rowsBetween(from: number, to: number): Promise<(string | number)[][]>
  function sendInvoice(order: { id: number }): Promise<void>
  function signUp(name: string): Promise<void>
  function sync(ctx: unknown, batch: Map<string, { v: number }[]>): Promise<void>

  // Globals of other runtimes that the examples use.
  const Bun: {
    serve(options: {
      port?: number
      fetch(request: Request, server: { requestIP(request: Request): { address: string } | null }): Promise<Response>
    }): { stop(closeConnections?: boolean): Promise<void> }
  }
  const Deno: {
    serve(
      options: { port?: number },
      fetch: (request: Request, info: { remoteAddr: { hostname: string } }) => Promise<Response>,
    ): { shutdown(): Promise<void> }
  }
}
