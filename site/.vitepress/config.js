import { readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { defineConfig } from 'vitepress'
import { slugOf } from '../../scripts/slug.js'
import { chineseSearch, indexOptions, searchOptions } from '../search.js'
import { chineseGroups, groups } from '../sidebar.js'

const SOURCES = 'https://github.com/highkiq/highkiq/blob/main'
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

/** The version that the site describes, with its changes, and the way to the docs of other versions. */
const versions = (changes, others) => ({
  text: `v${version}`,
  items: [
    { text: changes, link: `${SOURCES}/CHANGELOG.md` },
    { text: others, link: '/upgrades#read-the-docs-of-your-version' },
  ],
})

/** More groups do not fit beside the search on a tablet. */
const IN_NAV = ['Start', 'Jobs', 'Production', 'Reference']
const navOf = (sidebar) => sidebar.map(({ text, items: [first] }) => ({ text, link: first.link }))

export default defineConfig({
  title: 'Highkiq',
  description: 'Background jobs for Node.js, on SQLite, Redis or PostgreSQL',
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
      md.core.ruler.push('sources', ({ tokens, env }) => {
        const folder = posix.join('docs', posix.dirname(env.relativePath ?? ''))
        for (const { children } of tokens) {
          for (const token of children ?? []) {
            const href = token.type === 'link_open' ? token.attrGet('href') : undefined
            if (!href?.startsWith('../')) continue
            const path = posix.join(folder, href)
            if (!path.startsWith('docs/')) token.attrSet('href', `${SOURCES}/${path}`)
          }
        }
      })
    },
  },
  locales: {
    root: {
      label: 'English',
      lang: 'en',
      themeConfig: {
        nav: [
          ...navOf(groups.filter(({ text }) => IN_NAV.includes(text))),
          versions('Changes', 'Docs of other versions'),
        ],
        sidebar: groups,
      },
    },
    zh: {
      label: '中文',
      lang: 'zh-CN',
      description: 'Node.js 后台作业，使用 SQLite、Redis 或 PostgreSQL',
      themeConfig: {
        nav: [...navOf(chineseGroups), versions('变更记录（英文）', '其他版本的文档（英文）')],
        sidebar: chineseGroups,
        outline: { level: [2, 3], label: '本页内容' },
        docFooter: { prev: '上一页', next: '下一页' },
        langMenuLabel: '语言',
        darkModeSwitchLabel: '外观',
        sidebarMenuLabel: '菜单',
        returnToTopLabel: '回到顶部',
      },
    },
  },
  themeConfig: {
    // Not every page is translated, so the switch of languages leads to the first page.
    i18nRouting: false,
    search: {
      provider: 'local',
      options: { miniSearch: { searchOptions, options: indexOptions }, locales: { zh: chineseSearch } },
    },
    outline: [2, 3],
    socialLinks: [{ icon: 'github', link: 'https://github.com/highkiq/highkiq' }],
  },
})
