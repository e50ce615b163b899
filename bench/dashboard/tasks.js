// Measures the dashboard at 50,000 tasks, one more of 500,000 rows with 200,000 rejected for 5,000 codes, 1,000,000 dead jobs,
// and the store of `crowd.js`: first answers, and what one open page costs the server, the browser and Redis.
import { CODE, jidOf, LARGE_TASK } from './catalogue.js'
import { openServed, startPrograms } from './served.js'

const [, , url, dead] = process.argv
const LARGE = `/tasks/${LARGE_TASK}`
const REJECTED = `${LARGE}/events?status=failed,error,cancelled&limit=25`

const stop = await startPrograms(['catalogue.js', url, dead], ['crowd.js', url])
const { figures, firstAnswer, live, close } = await openServed(url)
try {
  for (const [name, path] of [
    ['the live stats', '/live-stats'],
    ['the tasks', '/tasks?limit=25'],
    ['the tasks that run', '/tasks?state=running&limit=25'],
    ['the tasks with a name', '/tasks?search=nowhere&limit=25'],
    ['the large task', LARGE],
    ['its rejected rows', REJECTED],
    ['its rejected rows with a code', `${REJECTED}&code=${CODE}`],
    ['its rejected rows with a text', `${REJECTED}&search=nowhere`],
    ['its reasons', `${LARGE}/reasons?samples=1&limit=20`],
    ['the dead jobs', '/dead?desc=true&limit=50'],
    ['the errors of dead jobs', '/dead/errors'],
    ['the dead jobs with a text', '/dead?search=nowhere&limit=50'],
    ['all jobs', '/jobs?limit=50'],
    ['all jobs: an argument of one', '/jobs?limit=50&args.*.customer=4711'],
  ]) {
    await firstAnswer(path, name)
  }
  await live('overview with tasks', '/', '.stat .v')
  await live('tasks', '/tasks', 'tbody tr')
  await live('the large task', LARGE, '.hero')
  await live('its rows with a code', `${LARGE}?code=${CODE}`, 'tbody tr')
  await live('dead', '/dead', 'tbody tr')
  await live('a dead job', `/jobs/${jidOf(Math.floor(dead / 2))}`, 'h1 .pill')
  await live('jobs', '/jobs', 'tbody tr')
  await live('jobs of a customer', '/jobs?args.*.customer=4711', 'tbody tr', '.more:not(:has([disabled]))')
  console.log(JSON.stringify(figures))
} finally {
  stop()
  await close()
}
