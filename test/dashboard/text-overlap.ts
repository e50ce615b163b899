/** Finds texts of a page that cover each other, that are cut off without an ellipsis, or that stand at the edge of a table. */

import type { Page } from 'playwright-core'

/**
 * Runs in the page. A text is taken as the middle part of its lines, where its letters are: the boxes of two lines overlap
 * a little by design. An element in a layer of its own (a menu, a bar that stays when the page scrolls) may cover others.
 */
const FIND = `(() => {
  const isScrolled = (style) => /auto|scroll/.test(style.overflowX + style.overflowY)
  const isClipped = (style) => /hidden|clip/.test(style.overflowX + style.overflowY)
  // A text for screen readers alone.
  const isHidden = (element) => {
    for (let one = element; one; one = one.parentElement) if (getComputedStyle(one).clipPath === 'inset(50%)') return true
    return false
  }
  const isCut = (style) => style.textOverflow === 'ellipsis' || style.webkitLineClamp !== 'none'
  const layerOf = (element) => {
    for (let one = element; one && one !== document.body; one = one.parentElement) {
      const { position } = getComputedStyle(one)
      if (position === 'fixed' || position === 'sticky' || position === 'absolute') return one
    }
    return null
  }
  const said = (text) => JSON.stringify(text.trim().slice(0, 40))
  const faults = []
  const shown = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement
    if (node.data.trim() === '' || element.closest('.skip,option,noscript,script,style,title,dialog:not([open])')) continue
    if (isHidden(element)) continue
    if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue
    const range = document.createRange()
    range.selectNodeContents(node)
    const size = parseFloat(getComputedStyle(element).fontSize)
    for (const rect of range.getClientRects()) {
      if (rect.width < 1) continue
      const middle = (rect.top + rect.bottom) / 2
      let box = { left: rect.left, right: rect.right, top: middle - size * 0.35, bottom: middle + size * 0.35 }
      let isAllowed = false
      for (let one = element; one && one !== document.documentElement; one = one.parentElement) {
        const style = getComputedStyle(one)
        if (isCut(style)) isAllowed = true
        if (!isScrolled(style) && !isClipped(style)) continue
        const edge = one.getBoundingClientRect()
        const cut = {
          left: Math.max(box.left, edge.left), right: Math.min(box.right, edge.right),
          top: Math.max(box.top, edge.top), bottom: Math.min(box.bottom, edge.bottom),
        }
        const lost = Math.max(cut.left - box.left, box.right - cut.right, cut.top - box.top, box.bottom - cut.bottom)
        if (isClipped(style) && !isScrolled(style) && !isAllowed && lost > 1.5) {
          faults.push('cut off: ' + said(node.data) + ' in ' + (one.className || one.tagName))
          isAllowed = true
        }
        if (isScrolled(style)) isAllowed = true
        box = cut
      }
      if (box.right - box.left < 1 || box.bottom - box.top < 1) continue
      if (!isAllowed && box.right > innerWidth + 1.5) faults.push('beyond the edge: ' + said(node.data))
      shown.push({ node, box, layer: layerOf(element) })
    }
  }
  shown.sort((a, b) => a.box.top - b.box.top)
  for (const [i, one] of shown.entries()) {
    for (let j = i + 1; j < shown.length && shown[j].box.top < one.box.bottom - 1.5; j++) {
      const other = shown[j]
      if (one.node === other.node || one.layer !== other.layer) continue
      const wide = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left)
      if (wide > 1.5) faults.push(said(one.node.data) + ' over ' + said(other.node.data))
    }
  }
  for (const row of document.querySelectorAll('.list tr')) {
    const cells = [...row.children].filter((cell) => cell.checkVisibility()).map((cell) => getComputedStyle(cell))
    if (parseFloat(cells[0]?.paddingLeft) < 16) faults.push('at the left edge: ' + said(row.textContent))
    if (parseFloat(cells.at(-1)?.paddingRight) < 16) faults.push('at the right edge: ' + said(row.textContent))
  }
  return [...new Set(faults)]
})()`

export function textFaults(page: Page): Promise<string[]> {
  return page.evaluate(FIND) as Promise<string[]>
}
