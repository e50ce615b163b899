/** Maps addresses to pages. */

import { LocationProvider, lazy, Route, Router, useLocation } from 'preact-iso'
import { at, BASE, decoded } from './base.ts'
import { Layout } from './layout/layout.tsx'
import { Nowhere } from './pages/not-found.tsx'
import { Overview } from './pages/overview/index.tsx'

// These pages are loaded when the user opens them.
const Busy = lazy(() => import('./pages/busy/index.tsx'))
const Batch = lazy(() => import('./pages/batches/batch.tsx'))
const Batches = lazy(() => import('./pages/batches/index.tsx'))
const Cron = lazy(() => import('./pages/cron/index.tsx'))
const Deploys = lazy(() => import('./pages/deploys/index.tsx'))
const Doctor = lazy(() => import('./pages/doctor/index.tsx'))
const Events = lazy(() => import('./pages/events/index.tsx'))
const JobMetrics = lazy(() => import('./pages/metrics/job.tsx'))
const Limits = lazy(() => import('./pages/limits/index.tsx'))
const Locks = lazy(() => import('./pages/locks/index.tsx'))
const Metrics = lazy(() => import('./pages/metrics/index.tsx'))
const Ordered = lazy(() => import('./pages/ordered/index.tsx'))
const Queue = lazy(() => import('./pages/queues/queue.tsx'))
const Queues = lazy(() => import('./pages/queues/index.tsx'))
const Sets = lazy(() => import('./pages/job-sets/index.tsx'))
const Task = lazy(() => import('./pages/tasks/task.tsx'))
const Tasks = lazy(() => import('./pages/tasks/index.tsx'))
const Job = lazy(() => import('./pages/job/index.tsx'))
const Jobs = lazy(() => import('./pages/jobs/index.tsx'))

export function App() {
  return (
    <LocationProvider scope={BASE === '' ? '/' : BASE}>
      <Layout>
        <Pages />
      </Layout>
    </LocationProvider>
  )
}

function Pages() {
  const { path } = useLocation()
  // The router fails for an address that is not validly encoded.
  if (decoded(path) === undefined) return <Nowhere />
  return (
    <Router>
      <Route path={at('/')} component={Overview} />
      <Route path={at('/tasks')} component={Tasks} />
      <Route path={at('/tasks/:id')} component={Task} />
      <Route path={at('/queues')} component={Queues} />
      <Route path={at('/queues/:name')} component={Queue} />
      <Route path={at('/busy')} component={Busy} />
      <Route path={at('/ordered')} component={Ordered} />
      <Route path={at('/ordered/:name')} component={Ordered} />
      <Route path={at('/deploys')} component={Deploys} />
      <Route path={at('/metrics')} component={Metrics} />
      <Route path={at('/metrics/:name')} component={JobMetrics} />
      <Route path={at('/batches')} component={Batches} />
      <Route path={at('/limits')} component={Limits} />
      <Route path={at('/batches/:bid')} component={Batch} />
      <Route path={at('/locks')} component={Locks} />
      <Route path={at('/events')} component={Events} />
      <Route path={at('/doctor')} component={Doctor} />
      <Route path={at('/cron')} component={Cron} />
      <Route path={at('/retries')} component={Sets} set="retries" />
      <Route path={at('/scheduled')} component={Sets} set="scheduled" />
      <Route path={at('/dead')} component={Sets} set="dead" />
      <Route path={at('/finished')} component={Sets} set="finished" />
      <Route path={at('/jobs')} component={Jobs} />
      <Route path={at('/jobs/:jid')} component={Job} />
      <Route default component={Nowhere} />
    </Router>
  )
}
