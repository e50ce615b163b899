/** Light or dark: as the system is set, unless the user chose one. */

import { signal } from '@preact/signals'

const KEPT = 'highkiq-theme'
type Theme = 'light' | 'dark'

const system = matchMedia('(prefers-color-scheme: dark)')
const own = () => localStorage.getItem(KEPT) as Theme | null

/** The theme that is shown. */
export const theme = signal<Theme>('light')

export function startTheme(): void {
  follow()
  system.addEventListener('change', follow)
}

export function switchTheme(): void {
  localStorage.setItem(KEPT, theme.value === 'dark' ? 'light' : 'dark')
  follow()
}

function follow(): void {
  const chosen = own()
  if (chosen === null) delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = chosen
  theme.value = chosen ?? (system.matches ? 'dark' : 'light')
}
