// The page of a task's submitter: keeps its parts up to date, uploads corrected rows, and cancels the task.

import { followAge, followTheme } from './dress.js'
import { follow } from './live.js'
import { offerCancel, offerUpload } from './send.js'

// The stylesheet shows the parts that need a script from now on.
document.documentElement.classList.add('is-scripted')
followTheme()
followAge()
offerUpload()
offerCancel()
follow()
