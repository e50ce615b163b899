// Which pages are photographed, and what is done on them first.

const first = async (page) => page.locator('tbody tr').nth(2).click()

/** Name → path, or a function of what the shop has. */
export const PAGES = {
  task: { path: ({ task }) => `/tasks/${task.id}` },
  submitter: { path: ({ link }) => link, isApart: true },
  overview: { path: () => '/' },
  tasks: { path: () => '/tasks' },
  queues: { path: () => '/queues' },
  queue: { path: () => '/queues/images' },
  busy: { path: () => '/busy' },
  retries: { path: () => '/retries' },
  retry: { path: () => '/retries?error=ECONNREFUSED&desc=true', act: first },
  scheduled: { path: () => '/scheduled' },
  dead: { path: () => '/dead' },
  jobs: { path: () => '/jobs?error=ECONNREFUSED' },
  job: { path: ({ jid }) => `/jobs/${jid}` },
  ordered: { path: () => '/ordered/ApplyStockChange' },
  morgue: { path: () => '/ordered/PostLedger?tab=morgue' },
  cron: { path: () => '/cron' },
  metrics: { path: () => '/metrics' },
  deploys: { path: () => '/deploys' },
  metric: { path: () => '/metrics/SyncStock' },
}
