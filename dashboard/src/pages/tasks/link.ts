/** Copies a link for a submitter, which needs no login. */

import { ask, type Query } from '../../api/client.ts'
import { copy } from '../../components/copy.tsx'
import { doing } from '../../components/toast.tsx'

/** @param path of the link in the API */
export async function copyLink(path: string, query: Query = {}): Promise<void> {
  const link = await doing(ask<{ url: string }>(path, query))
  if (link) await copy(location.origin + link.url)
}
