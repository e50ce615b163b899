/** How the site's search orders what it finds: guides before the many members of the API. A test searches with it, too. */
export const searchOptions = { boostDocument: (id) => (id.startsWith('/api/') ? 0.05 : 1) }

/** Chinese has no spaces between words, so each character of it is a word for the index. */
export const indexOptions = {
  tokenize: (text) =>
    text
      .split(/[\n\r\p{Z}\p{P}]+/u)
      .flatMap((word) => (/\p{Script=Han}/u.test(word) ? word.match(/\p{Script=Han}|[^\p{Script=Han}]+/gu) : word)),
}

/** The search in Chinese. */
export const chineseSearch = {
  translations: {
    button: { buttonText: '搜索', buttonAriaLabel: '搜索' },
    modal: {
      displayDetails: '显示详情',
      resetButtonTitle: '清除',
      backButtonTitle: '返回',
      noResultsText: '没有结果：',
      footer: { selectText: '选择', navigateText: '移动', closeText: '关闭' },
    },
  },
}
