import { defineConfig } from 'vite'

/** The server puts the path where it is mounted in the place of this one. */
const BASE = '/__base__/'

export default defineConfig({
  root: import.meta.dirname,
  base: BASE,
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../dist/dashboard',
    emptyOutDir: true,
    target: 'es2022',
    // A policy that forbids data: in styles and scripts holds: nothing is put inside of what asks for it.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: { checks: { pluginTimings: false } },
  },
  // What a page loads later is found beside what is loaded already, wherever that is mounted.
  experimental: {
    renderBuiltUrl: (_, { hostType }) => (hostType === 'html' ? undefined : { relative: true }),
  },
})
