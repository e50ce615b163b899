// The pages of the site in the order of the sidebar. A test compares them with docs/.
const group = (text, items, isCollapsed = false) => ({
  text,
  collapsed: isCollapsed,
  items: Object.entries(items).map(([name, title]) => ({ text: title, link: name === 'index' ? '/' : `/${name}` })),
})

export const groups = [
  group('Start', {
    index: 'What Highkiq is',
    start: 'First hour',
    'choosing-a-store': 'Choose a store',
  }),
  group('Jobs', {
    guide: 'Jobs and pushes',
    'good-jobs': 'Write good jobs',
    retries: 'Retries and errors',
    cron: 'Cron jobs',
    unique: 'Unique jobs',
    queues: 'Queues, priorities, cancellation',
    limits: 'Limits',
    batches: 'Batches and flows',
    ordered: 'Ordered queues',
    iterable: 'Iterable jobs',
    threads: 'CPU-heavy jobs',
    context: 'Contexts',
    encryption: 'Encryption',
    finished: 'Finished jobs',
    events: 'Events and webhooks',
    inspect: 'Inspect and change jobs',
    testing: 'Test your jobs',
    'sql-libraries': 'Drizzle, Kysely, Knex',
    nextjs: 'Next.js',
    nestjs: 'NestJS',
  }),
  group('Tasks and files', {
    tasks: 'Tracked tasks',
    import: 'Import and export files',
    'rows-per-job': 'Several rows in one call',
    deferred: 'Deferred rows',
    submitters: 'Links for submitters',
    rows: 'Rows of a task',
  }),
  group('Production', {
    workers: 'Workers',
    deployment: 'Deploy',
    upgrades: 'Upgrade and roll back',
    scaling: 'Scale',
    secure: 'Secure the dashboard',
    dashboard: 'Dashboard',
    logging: 'Logs and error reports',
    observability: 'Traces and metrics',
    performance: 'Performance',
    move: 'Move to another store',
    troubleshooting: 'Troubleshooting',
  }),
  group('Coming from', {
    'from-bullmq': 'BullMQ',
    'from-sidekiq': 'Sidekiq',
    'from-pg-boss': 'pg-boss',
    'from-agenda': 'Agenda',
    'from-lowkiq': 'Lowkiq',
    'from-go-workers': 'go-workers',
    'from-own-tables': 'Your own table',
  }),
  group(
    'Reference',
    {
      'api/': 'API',
      configuration: 'Configuration',
      cli: 'Command line',
      http: 'HTTP API',
      'http-routes': 'Routes of the HTTP API',
      errors: 'Errors',
      glossary: 'Glossary',
      'state-machine': 'States',
      sqlite: 'SQLite store',
      redis: 'Redis store',
      'redis-keys': 'Keys in Redis',
      store: 'Stores of your own',
      wire: 'Wire format',
      architecture: 'Architecture',
      dependencies: 'Dependencies',
      benchmarks: 'Benchmarks',
      'benchmark-figures': 'All figures of the benchmarks',
    },
    true,
  ),
]

/** The pages in Chinese. The others are read in English. */
export const chineseGroups = [
  {
    text: '开始',
    items: [
      { text: 'Highkiq 是什么', link: '/zh/' },
      { text: '第一个小时', link: '/zh/start' },
      { text: '选择存储', link: '/zh/choosing-a-store' },
    ],
  },
  {
    text: '作业',
    items: [
      { text: '编写好的作业', link: '/zh/good-jobs' },
      { text: '重试与错误', link: '/zh/retries' },
    ],
  },
  { text: '更多（英文）', items: groups.slice(1).flatMap(({ items }) => items.slice(0, 1)) },
]
