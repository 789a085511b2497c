// A browser that talks to the service and to nobody else, and remembers every complaint.

import { readFile } from 'node:fs/promises'

import { chromium } from 'playwright-core'

import { PATIENCE } from './service.mjs'

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** What axe checks: WCAG 2.0 to 2.2, A and AA, and what is good practice. */
const STRICT = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
const AXE = readFile(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')

/** The address of the service under test. */
export const service = new URL(process.env.TOUCHLINE_URL ?? 'http://127.0.0.1:8080')

/** Starts Chromium with a new, empty profile. */
export function launch() {
  return chromium.launch({
    executablePath: process.env.TOUCHLINE_CHROMIUM ?? '/usr/bin/chromium',
    args: FLAGS,
    timeout: PATIENCE / 4,
  })
}

/**
 * Somebody with a browser of their own. `faults` fills up with what a browser would complain about:
 * requests to other places (which are cut off), failed requests, errors on the console, scripts and
 * styles that the page's own policy forbids. `also` lists origins beside the service's own.
 */
export async function visitor(browser, { width = 1200, scheme = 'light', home = service, also = [], ...more } = {}) {
  const context = await browser.newContext({
    baseURL: new URL(home).href,
    viewport: { width, height: 900 },
    colorScheme: scheme,
    // A fading page that is left again at once complains of it.
    reducedMotion: 'reduce',
    // A worker of the page could fetch behind our back.
    serviceWorkers: 'block',
    ...more,
  })
  context.setDefaultTimeout(PATIENCE / 4)
  const faults = []
  const ours = [new URL(home).origin, ...also]
  const isOurs = (url) => ours.includes(new URL(url).origin) || /^(data|blob):/.test(url)
  await context.route('**/*', (route) => {
    const url = route.request().url()
    if (isOurs(url)) return route.continue()
    faults.push(`request to another place: ${url}`)
    return route.abort()
  })
  const page = await context.newPage()
  page.on('request', (request) => {
    // Where an answer leads is not asked above.
    if (request.redirectedFrom() && !isOurs(request.url())) faults.push(`led to another place: ${request.url()}`)
  })
  page.on('websocket', (socket) => faults.push(`socket to ${socket.url()}`))
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => faults.push(`script: ${error.message}`))
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`)
    return dialog.dismiss()
  })
  page.on('response', (response) => {
    if (response.status() >= 400) faults.push(`${response.status()} for ${response.url()}`)
  })
  return { context, page, faults, close: () => context.close() }
}

/** Opens a page of the service in a browser of its own. */
export async function open(browser, path, look) {
  const visit = await visitor(browser, look)
  await visit.page.goto(new URL(path, service).href, { waitUntil: 'load' })
  return visit
}

/** Signs in as people do. */
export async function signIn(page, { email, password }, next = '/sign-in') {
  await page.goto(next)
  await page.getByLabel('Email', { exact: true }).fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.waitForURL((url) => !url.pathname.startsWith('/sign-in'))
}

/** Clicks what leads to another page, and waits until that one is there: nobody goes on from the old one. */
export async function follow(target) {
  await Promise.all([target.page().waitForEvent('framenavigated'), target.click()])
}

/** What axe finds: the rule and the first element that breaks it. */
export async function barriers(page, { except = [], rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] } = {}) {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(await AXE)
  const { violations } = await page.evaluate(
    ([except, rules]) => {
      const off = Object.fromEntries(except.map((rule) => [rule, { enabled: false }]))
      return axe.run({ runOnly: rules, rules: off, resultTypes: ['violations'], selectors: false })
    },
    [except, rules],
  )
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0].html} ${nodes[0].failureSummary ?? ''}`.trim())
}

/** Everything axe finds, good practice included. */
export const allBarriers = (page) => barriers(page, { rules: STRICT })

/** What is too pale to be read, and nothing else: it alone depends on the colours. */
export const paleWords = (page) => barriers(page, { rules: ['color-contrast', 'link-in-text-block'] })

/** The longest word that must not be broken in the middle. */
const WORD = 24
/** The tallest row that a list may have on average on a phone. */
const ROW = 180

/**
 * What does not fit on the page as it is shown now: elements that stick out of the window or are cut off, outside of
 * boxes that scroll; words in tables that are broken in the middle; rows of long lists that are too tall.
 */
export const misfits = (page) => page.evaluate(([word, row]) => {
  const found = []
  const width = document.documentElement.clientWidth
  const name = (element) => `<${element.localName} class="${element.getAttribute('class') ?? ''}"> ${element.textContent.trim().slice(0, 40)}`
  const style = (element) => getComputedStyle(element)
  const ancestors = function* (element) {
    for (let up = element.parentElement; up; up = up.parentElement) yield up
  }
  const scrolls = (element) => ['auto', 'scroll'].includes(style(element).overflowX)
  // Hidden from the eye, or cut off on purpose with an ellipsis or after some lines.
  const cut = (element) => element.matches('.vh, .skip, .icon, details.menu *')
    || style(element).textOverflow === 'ellipsis' || style(element).webkitLineClamp !== 'none'
    || style(element).clipPath !== 'none'
  for (const element of document.body.querySelectorAll('*')) {
    if (element.closest('svg, option') || !element.checkVisibility()) continue
    if (cut(element) || [...ancestors(element)].some((up) => cut(up) || (up !== document.body && scrolls(up)))) continue
    const { left, right, width: own } = element.getBoundingClientRect()
    if (own > 0 && (right > width + 1 || left < -1)) found.push(`sticks out of the window: ${name(element)}`)
    const clips = ['hidden', 'clip'].includes(style(element).overflowX)
    // What is typed into a field can be longer than the field; it scrolls.
    if (clips && !element.matches('input') && element.scrollWidth > element.clientWidth + 1) found.push(`is cut off: ${name(element)}`)
  }
  const range = document.createRange()
  for (const cell of document.querySelectorAll('th, td, .stat .value')) {
    if ([...ancestors(cell)].some(cut)) continue
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT)
    while (texts.nextNode()) {
      const text = texts.currentNode
      // The address of a server has no place where it could be broken well.
      if (text.data.includes('://')) continue
      for (const { 0: part, index } of text.data.matchAll(/[^\s\/–-]+/g)) {
        if (part.length > word || text.parentElement.closest('code, .vh') || !text.parentElement.checkVisibility()) continue
        range.setStart(text, index)
        range.setEnd(text, index + part.length)
        const lines = new Set([...range.getClientRects()].filter((box) => box.width > 0).map((box) => Math.round(box.top)))
        if (lines.size > 1) found.push(`is broken in the middle: ${part}`)
      }
    }
  }
  if (width < 600) {
    for (const body of document.querySelectorAll('tbody')) {
      const rows = [...body.rows].filter((one) => one.offsetHeight > 0)
      const average = body.offsetHeight / rows.length
      if (rows.length >= 10 && average > row) found.push(`rows of ${average} px on average: ${name(body)}`)
    }
  }
  return [...new Set(found)].slice(0, 10)
}, [WORD, ROW])
