/** All icons. */

import type { EventStatus } from '../api/types.ts'

const ICONS = {
  busy: (
    <>
      <path d="M1.5 8.5h2.7l2-5 3.4 9.5 2-4.5h2.9" />
    </>
  ),
  check: (
    <>
      <path d="m3 8.5 3.2 3.2L13 4.5" />
    </>
  ),
  copy: (
    <>
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
      <path d="M10.5 3.5v-.5a.5.5 0 0 0-.5-.5H3a.5.5 0 0 0-.5.5v7a.5.5 0 0 0 .5.5h.5" />
    </>
  ),
  cron: (
    <>
      <rect x="2.5" y="3.5" width="11" height="10" rx="1.5" />
      <path d="M2.5 6.8h11M5.5 2v2.5M10.5 2v2.5" />
    </>
  ),
  dead: (
    <>
      <path d="M3 7.2a5 5 0 0 1 10 0c0 1.9-.9 2.7-1.7 3.2v2.1H4.7v-2.1C3.9 9.9 3 9.1 3 7.2zM6.8 12.5v-1.2M9.2 12.5v-1.2" />
      <circle cx="6.2" cy="7.5" r=".6" />
      <circle cx="9.8" cy="7.5" r=".6" />
    </>
  ),
  dots: (
    <>
      <path d="M3.5 8h.01M8 8h.01M12.5 8h.01" stroke-width="2" />
    </>
  ),
  doctor: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M8 5.2v5.6M5.2 8h5.6" />
    </>
  ),
  down: (
    <>
      <path d="m4.5 6.5 3.5 3.5 3.5-3.5" />
    </>
  ),
  download: (
    <>
      <path d="M8 2.5v7.5M5 7.2 8 10.2l3-3M3 13.2h10" />
    </>
  ),
  flag: (
    <>
      <path d="M4 14V2.5h8.5l-2 3 2 3H4" />
    </>
  ),
  group: (
    <>
      <path d="M2.5 3.5h11M5 8h8.5M5 12.5h8.5" />
    </>
  ),
  left: (
    <>
      <path d="M9.5 4.5 6 8l3.5 3.5" />
    </>
  ),
  metrics: (
    <>
      <path d="M3 13V9M6.4 13V5M9.7 13V7.5M13 13V3" />
    </>
  ),
  minus: (
    <>
      <path d="M3.5 8h9" />
    </>
  ),
  ordered: (
    <>
      <path d="M4 2.5v10.5M1.8 10.8 4 13l2.2-2.2M9 4h2.5M9 8h3.5M9 12h5" />
    </>
  ),
  overview: (
    <>
      <rect x="2.5" y="2.5" width="4.5" height="4.5" rx="1" />
      <rect x="9" y="2.5" width="4.5" height="4.5" rx="1" />
      <rect x="2.5" y="9" width="4.5" height="4.5" rx="1" />
      <rect x="9" y="9" width="4.5" height="4.5" rx="1" />
    </>
  ),
  pause: (
    <>
      <path d="M5.5 3.5v9M10.5 3.5v9" />
    </>
  ),
  play: (
    <>
      <path d="M5 3.2v9.6L12.5 8z" />
    </>
  ),
  plug: (
    <>
      <path d="M6 2.5v3M10 2.5v3M4 5.5h8v2a4 4 0 0 1-8 0zM8 11.5v2" />
    </>
  ),
  plus: (
    <>
      <path d="M8 3.5v9M3.5 8h9" />
    </>
  ),
  queues: (
    <>
      <path d="M2.5 3.5h11v3h-11zM2.5 9.5h11v3h-11z" />
    </>
  ),
  retries: (
    <>
      <path d="M13 8a5 5 0 1 1-1.6-3.7M13.2 2v2.8h-2.8" />
    </>
  ),
  right: (
    <>
      <path d="m6.5 4.5 3.5 3.5-3.5 3.5" />
    </>
  ),
  scheduled: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M8 5v3.2l2 1.3" />
    </>
  ),
  search: (
    <>
      <circle cx="7" cy="7" r="4.5" />
      <path d="m10.5 10.5 3 3" />
    </>
  ),
  sun: (
    <>
      <circle cx="8" cy="8" r="2.8" />
      <path d="M8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9" />
    </>
  ),
  tasks: (
    <>
      <path d="m2.5 4 1.2 1.2L6 3M2.5 11l1.2 1.2L6 10M8.5 4.5h5M8.5 11.5h5" />
    </>
  ),
  trash: (
    <>
      <path d="M2.8 4.5h10.4M6 4.5V2.8h4v1.7M4.2 4.5l.6 8.7h6.4l.6-8.7" />
    </>
  ),
  up: (
    <>
      <path d="m4.5 9.5 3.5-3.5 3.5 3.5" />
    </>
  ),
  upload: (
    <>
      <path d="M8 10.5V3M5 5.8l3-3 3 3M3 13.2h10" />
    </>
  ),
  x: (
    <>
      <path d="m4 4 8 8M12 4l-8 8" />
    </>
  ),
}

const SHAPES = {
  enqueued: (
    <circle cx="7" cy="7" r="5.25" fill="none" stroke="currentColor" stroke-width="1.5" stroke-dasharray="2.2 1.92" />
  ),
  working: (
    <>
      <circle cx="7" cy="7" r="5.25" fill="none" stroke="currentColor" stroke-width="1.5" />
      <path d="M7 3.6a3.4 3.4 0 0 1 0 6.8z" fill="currentColor" />
    </>
  ),
  finished: (
    <>
      <circle cx="7" cy="7" r="6" fill="currentColor" />
      <path
        d="m4.4 7.2 1.8 1.8 3.4-3.8"
        fill="none"
        stroke="var(--surface)"
        stroke-width="1.5"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </>
  ),
  failed: (
    <>
      <path
        d="M7 .9 13.1 7 7 13.1.9 7z"
        fill="currentColor"
        stroke="currentColor"
        stroke-width="1"
        stroke-linejoin="round"
      />
      <path d="M4.8 7h4.4" stroke="var(--surface)" stroke-width="1.6" stroke-linecap="round" />
    </>
  ),
  error: (
    <>
      <path d="M4.5 1h5L13 4.5v5L9.5 13h-5L1 9.5v-5z" fill="currentColor" />
      <path d="m5 5 4 4M9 5 5 9" stroke="var(--surface)" stroke-width="1.5" stroke-linecap="round" />
    </>
  ),
  cancelled: (
    <>
      <circle cx="7" cy="7" r="5.25" fill="none" stroke="currentColor" stroke-width="1.5" />
      <path d="m3.4 10.6 7.2-7.2" stroke="currentColor" stroke-width="1.5" />
    </>
  ),
}

export type IconName = keyof typeof ICONS

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="i" viewBox="0 0 16 16" aria-hidden="true">
      {ICONS[name]}
    </svg>
  )
}

/** A status as shape and colour; its word is shown beside it. */
export function StatusIcon({ status }: { status: EventStatus }) {
  return (
    <svg class={`st-i ${status}`} viewBox="0 0 14 14" aria-hidden="true">
      {SHAPES[status]}
    </svg>
  )
}

export function Logo() {
  return (
    <svg viewBox="0 0 24 24" aria-hidden="true">
      <rect width="24" height="24" rx="6" fill="var(--ink)" />
      <path
        d="M8 18.5V5.5M8 14l8.5-8M11.2 11l4.3 7.5"
        fill="none"
        stroke="var(--canvas)"
        stroke-width="2.2"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  )
}
