// The page of a task's submitter: what the server wrote is kept up to date, files go back, and what waits can be stopped.

import { followAge, followTheme } from './dress.js'
import { follow } from './live.js'
import { takeFiles, takeStop } from './send.js'

// What needs a script is shown by the sheet from now on.
document.documentElement.classList.add('is-scripted')
followTheme()
followAge()
takeFiles()
takeStop()
follow()
