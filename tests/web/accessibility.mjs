// What axe finds on a page.

import { readFile } from 'node:fs/promises'

/** The rules of axe for all checks: WCAG 2.0 to 2.2, levels A and AA, and best practices. */
const ALL = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
/** The only rules that depend on colors. They take as long as all others together. */
const CONTRAST = ['color-contrast', 'link-in-text-block']
const AXE = readFile(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')

/** The issues that axe finds: the rule and the first element that violates it. */
export async function accessibilityIssues(page, { except = [], rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'], within } = {}) {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(await AXE)
  const { violations } = await page.evaluate(
    ([except, rules, within]) => {
      const off = Object.fromEntries(except.map((rule) => [rule, { enabled: false }]))
      const context = within ? [...document.querySelectorAll(within)] : document
      return axe.run(context, { runOnly: rules, rules: off, resultTypes: ['violations'], selectors: false })
    },
    [except, rules, within],
  )
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0].html} ${nodes[0].failureSummary ?? ''}`.trim())
}

/** All issues that do not depend on colors, including best practices. */
export async function structuralIssues(page) {
  await page.evaluate(releaseBars)
  try {
    return await accessibilityIssues(page, { rules: ALL, except: CONTRAST })
  } finally {
    await page.evaluate(() => document.querySelectorAll('[data-bar]').forEach((bar) => bar.style.removeProperty('position')))
  }
}

/** Bars at the edges of the window hide what is behind them until it is scrolled into view. Runs in the page. */
function releaseBars() {
  const isBar = (element) => ['sticky', 'fixed'].includes(getComputedStyle(element).position)
  for (const bar of [...document.body.querySelectorAll('*')].filter(isBar)) {
    bar.dataset.bar = ''
    bar.style.position = 'static'
  }
}

/** The looks whose contrast is sufficient. */
const checked = new Set()
const UNCHECKED = 'data-unchecked'

/**
 * Issues of color contrast. Of the texts that look the same on all pages, only the first is checked: those with the same
 * classes, colors and fonts, in elements with the same classes and backgrounds.
 */
export async function contrastIssues(page) {
  const looks = await page.evaluate(markUnchecked, [[...checked], UNCHECKED])
  if (!looks.length) return []
  const issues = await accessibilityIssues(page, { rules: CONTRAST, within: `[${UNCHECKED}]` })
  if (!issues.length) looks.forEach((look) => checked.add(look))
  return issues
}

/** Marks the elements with text whose look is not among the known ones, and returns their looks. Runs in the page. */
function markUnchecked([known, mark]) {
  const looks = new Map()
  const isKnown = new Set(known)
  /** 64 bits are enough to tell all looks apart. */
  const hash = (text) => {
    let [a, b] = [0xdeadbeef, 0x41c6ce57]
    for (let i = 0; i < text.length; i += 1) {
      a = Math.imul(a ^ text.charCodeAt(i), 2654435761)
      b = Math.imul(b ^ text.charCodeAt(i), 1597334677)
    }
    return `${a >>> 0}.${b >>> 0}`
  }
  /** How an element is painted, with everything behind it. */
  const lookOf = (element) => {
    if (!element) return ''
    if (!looks.has(element)) {
      const { color, backgroundColor, backgroundImage, opacity, fontSize, fontWeight, position, textDecorationLine } = getComputedStyle(element)
      const own = [element.localName, element.getAttribute('class'), element.disabled, color, backgroundColor, backgroundImage, opacity, fontSize, fontWeight, position, textDecorationLine]
      looks.set(element, hash(`${lookOf(element.parentElement)} ${own.join()}`))
    }
    return looks.get(element)
  }
  const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim())
  document.querySelectorAll(`[${mark}]`).forEach((element) => element.removeAttribute(mark))
  // All styles are read before the first change, so that the browser computes them once.
  const found = new Map()
  for (const element of document.body.querySelectorAll('*')) {
    if (!(hasText(element) || element.matches('input, select, textarea')) || !element.checkVisibility()) continue
    const look = lookOf(element)
    if (!isKnown.has(look) && !found.has(look)) found.set(look, element)
  }
  found.forEach((element) => element.setAttribute(mark, ''))
  return [...found.keys()]
}
