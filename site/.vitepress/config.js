import { defineConfig } from 'vitepress'
import { slugOf } from '../../scripts/slug.js'
import { searchOptions } from '../search.js'
import { groups } from '../sidebar.js'

const SOURCES = 'https://github.com/highkiq/highkiq/blob/main'

export default defineConfig({
  title: 'Highkiq',
  description: 'Background jobs for Node.js, on SQLite or Redis',
  srcDir: 'pages', // the copy of docs/ that build.js makes
  outDir: 'dist',
  // The search index and the API are large, and loaded when they are needed.
  vite: { build: { chunkSizeWarningLimit: 4000 } },
  ignoreDeadLinks: 'localhostLinks',
  markdown: {
    // Headings get the anchors that they have on GitHub, so a link is right in both places.
    anchor: { slugify: slugOf },
    config(md) {
      // A link that leaves docs/ leads to the file on GitHub.
      md.core.ruler.push('sources', ({ tokens }) => {
        for (const { children } of tokens) {
          for (const token of children ?? []) {
            const href = token.type === 'link_open' ? token.attrGet('href') : undefined
            if (href?.startsWith('../')) token.attrSet('href', `${SOURCES}/${href.slice(3)}`)
          }
        }
      })
    },
  },
  themeConfig: {
    search: { provider: 'local', options: { miniSearch: { searchOptions } } },
    outline: [2, 3],
    nav: groups.map(({ text, items: [first] }) => ({ text, link: first.link })),
    sidebar: groups,
    socialLinks: [{ icon: 'github', link: 'https://github.com/highkiq/highkiq' }],
  },
})
