// Which pages are photographed, and what is done on them first.

const opened = 'dialog[open]'

/** Opens a dialog by a key of the page. */
const pressing = (key) => async (page) => {
  await page.keyboard.press(key)
  await page.locator(opened).waitFor()
}

const first = async (page) => page.locator('tbody tr').nth(2).click()

/** Name → the path by what the shop has, or a whole URL, and what is done on the page. */
export const PAGES = {
  task: { path: ({ task }) => `/tasks/${task.id}` },
  submitter: { path: ({ link }) => link },
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
  row: {
    path: ({ task }) => `/tasks/${task.id}#rows`,
    act: async (page) => page.locator('#rows tbody tr').first().click(),
  },
  finished: { path: () => '/finished' },
  batches: { path: () => '/batches' },
  batch: { path: ({ bid }) => `/batches/${bid}` },
  limits: { path: () => '/limits' },
  locks: { path: () => '/locks' },
  events: { path: () => '/events' },
  doctor: { path: () => '/doctor' },
  entry: { path: () => '/cron?entry=nightly-reports' },
  import: {
    path: () => '/tasks',
    async act(page, { sheet }) {
      await page.locator('main .btn.primary').click()
      await page.locator(`${opened} input[type=file]`).setInputFiles(sheet)
      await page.locator(`${opened} select`).first().selectOption('ImportProduct')
      await page.locator(`${opened} tbody tr`).first().waitFor()
    },
  },
  add: { path: () => '/jobs', act: pressing('n') },
  find: { path: () => '/', act: pressing('Control+k') },
  keys: { path: () => '/', act: pressing('?') },
  confirm: {
    path: () => '/busy',
    async act(page) {
      await page.locator('main tbody button.danger, main tbody button').last().click()
      await page.locator(opened).waitFor()
    },
  },
  mine: { path: ({ mine }) => mine },
  login: { path: ({ locked }) => locked },
}
