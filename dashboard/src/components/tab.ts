/** The tab of the browser: its title, the number of alerts, and an icon with a dot when there are some. */

/** The logo in colours that can be seen on light and dark tabs. */
const LOGO =
  '<rect width="24" height="24" rx="6" fill="#5b6472"/><path d="M8 18.5V5.5M8 14l8.5-8M11.2 11l4.3 7.5" fill="none" stroke="#fff" stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round"/>'
const DOT = '<circle cx="19" cy="5" r="5" fill="#e5484d"/>'

export function showInTab(title: string, alerts: number): void {
  document.title = `${alerts > 0 ? `(${alerts}) ` : ''}${title} · Highkiq`
  const drawn = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24">${LOGO}${alerts > 0 ? DOT : ''}</svg>`
  document.querySelector('link[rel=icon]')?.setAttribute('href', `data:image/svg+xml,${encodeURIComponent(drawn)}`)
}
