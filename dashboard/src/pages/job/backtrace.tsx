/** A backtrace: frames of the app in full, frames of packages folded. */

import { useState } from 'preact/hooks'
import { Copy } from '../../components/copy.tsx'
import { t } from '../../i18n/index.ts'
import { visible } from './json.tsx'
import { frameText, type Run, runsOf } from './stack.ts'

export function Backtrace({ frames }: { frames: readonly string[] }) {
  const runs = runsOf(frames)
  // A fold that hides everything helps nobody.
  const isFolded = runs.some(({ isOwn }) => isOwn)
  return (
    <>
      <div class="sec">
        <h3>{t('job.backtrace')}</h3>
        <span class="aside">
          <Copy text={frames.join('\n')} label={t('job.backtrace.copy')} />
        </span>
      </div>
      <ol class="trace">
        {runs.map((run, i) =>
          run.isOwn || !isFolded ? <Frames key={i} run={run} /> : <Fold key={`fold ${i}`} run={run} />,
        )}
      </ol>
    </>
  )
}

function Frames({ run }: { run: Run }) {
  return (
    <>
      {run.frames.map((frame, i) => (
        <li key={i} class={run.isOwn ? 'own' : ''}>
          <bdi>{visible(frameText(frame))}</bdi>
        </li>
      ))}
    </>
  )
}

const NAMED = 3

function Fold({ run }: { run: Run }) {
  const [isOpen, setOpen] = useState(false)
  const of = run.of.slice(0, NAMED).join(', ') + (run.of.length > NAMED ? ', …' : '')
  return (
    <>
      <li class="fold">
        <button type="button" class="plain" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <bdi>{t('job.backtrace.fold', { n: run.frames.length, of })}</bdi>
        </button>
      </li>
      {isOpen && <Frames run={run} />}
    </>
  )
}
