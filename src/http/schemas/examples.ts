/** Examples of bodies and answers, for the OpenAPI document. */

import type { Made, SchemaName } from '../schemas.ts'

const KEY = '1785542400.25~2fd4e1c67a2d28fc'
const TASK = '1f0c9a3b5d7e2468'
const JID = 'b4a577edbccf1d805744efa9'

export const EXAMPLES: { [Name in SchemaName]?: Made<Name> } = {
  NewJobs: { class: 'HardJob', args: [42, 'report'], queue: 'low', in: '5m' },
  PushedJobs: { jid: JID },
  NewBatch: {
    jobs: [
      { class: 'ImportShop', args: [1] },
      { class: 'ImportShop', args: [2], queue: 'low' },
    ],
    description: 'nightly import',
    onSuccess: { class: 'SendReport', args: ['ann'] },
  },
  BatchPushed: { bid: TASK, jids: [JID, '5f9c3b0a7d2e41c68b1a90ff'] },
  JobsAdded: { jids: [JID] },
  NewFlow: { class: 'Publish', args: ['Report'], children: [{ class: 'Render', args: [1] }] },
  FlowPushed: { jid: `${TASK}fc000004`, bid: TASK },
  JobCancelled: { jid: JID, outcome: 'removed' },
  Selected: { jobs: [{ jid: JID, key: KEY }] },
  SelectedForLater: { jobs: [{ jid: JID, key: KEY }], in: 3600 },
  ForLater: { at: '2026-08-01T09:00:00Z' },
  JobFilter: { class: 'HardJob', error: 'ECONNRESET' },
  JobsFilter: { state: ['dead'], class: 'HardJob', args: { '0.customer': '4711' } },
  EditedArgs: { args: [42, 'report'] },
  DuplicateChanges: { args: [43, 'report'], queue: 'low', in: 300 },
  Duplicated: { jid: JID },
  Acted: { done: 1, refused: 0 },
  Sweeping: { done: 120, refused: 0, ended: true },
  LimitSettings: { concurrency: 5 },
  ProcessSettings: { concurrency: 10, capsule: 'default' },
  NewTask: { job: 'ImportProduct', args: [[{ sku: 'a' }], [{ sku: 'b' }]], name: 'spring', maxFailures: '5%' },
  NewExport: { job: 'ExportPage', pages: [[1], [2], [3]], format: 'csv', columns: ['sku', 'price'] },
  TaskAccepted: { id: TASK, total: 2 },
  TaskImported: { id: TASK, total: 5000 },
  TaskSettings: { concurrency: 5 },
  TaskCancel: { reason: 'the wrong file' },
  TaskRetry: { status: ['failed'], code: 'SKU_UNKNOWN' },
  TaskRetryUndo: { undo: '9b2e4f6a8c0d1357' },
  TaskLink: { token: 'abc', rights: 'read', url: `/tasks/${TASK}?token=abc` },
  RowFinish: { result: { paid: true } },
  RowFail: { message: 'the bank refused the card', code: 'REFUSED' },
  RowEnded: { jid: `${JID}`, changed: true, status: 'finished', code: null },
  OrderedItems: { id: '7', payload: { price: 10 } },
  OrderedPushed: { pushed: 1 },
  OrderedIds: { ids: ['7'] },
  OrderedActed: { ids: 1 },
  OrderedReshard: { shards: 8 },
}
