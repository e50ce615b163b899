import './styles/shared.css'
import './styles/highkiq.css'
import './styles/more.css'
import { render } from 'preact'
import { App } from './app.tsx'
import { startI18n } from './i18n/index.ts'
import { startTheme } from './layout/theme.ts'
import { startLiveStats } from './live/live-stats.ts'

startTheme()
startLiveStats()
await startI18n()
render(<App />, document.getElementById('app') as HTMLElement)
