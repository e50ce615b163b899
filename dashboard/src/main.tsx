import './sheet/tokens.css'
import './sheet/highkiq.css'
import './sheet/more.css'
import { render } from 'preact'
import { App } from './app.tsx'
import { startTheme } from './frame/theme.ts'
import { startPulse } from './live/pulse.ts'
import { startWords } from './words/index.ts'

startTheme()
startPulse()
await startWords()
render(<App />, document.getElementById('app') as HTMLElement)
