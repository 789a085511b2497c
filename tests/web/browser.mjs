// A browser that can reach only the service, and records all errors.

import { chromium } from 'playwright-core'

import { TIMEOUT } from './service.mjs'

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

/** The URL of the service under test. */
export const service = new URL(process.env.TOUCHLINE_URL ?? 'http://127.0.0.1:8080')

/** Starts Chromium with a new, empty profile. */
export function launch() {
  return chromium.launch({
    executablePath: process.env.TOUCHLINE_CHROMIUM ?? '/usr/bin/chromium',
    args: FLAGS,
    timeout: TIMEOUT / 4,
  })
}

/**
 * A separate browser profile. `faults` collects errors: requests to other origins (which are blocked), failed
 * requests, console errors, and violations of the page's Content-Security-Policy. `also` lists further origins
 * that are allowed.
 */
export async function visitor(browser, { width = 1200, scheme = 'light', home = service, also = [], ...options } = {}) {
  const context = await browser.newContext({
    baseURL: new URL(home).href,
    viewport: { width, height: 900 },
    colorScheme: scheme,
    // A page transition that is interrupted by the next one logs an error.
    reducedMotion: 'reduce',
    // Requests of a service worker would bypass our checks.
    serviceWorkers: 'block',
    ...options,
  })
  context.setDefaultTimeout(TIMEOUT / 4)
  const faults = []
  const allowed = [new URL(home).origin, ...also]
  const isAllowed = (url) => allowed.includes(new URL(url).origin) || /^(data|blob):/.test(url)
  await context.route('**/*', (route) => {
    const url = route.request().url()
    if (isAllowed(url)) return route.continue()
    faults.push(`request to another origin: ${url}`)
    return route.abort()
  })
  const page = await context.newPage()
  page.on('request', (request) => {
    // Targets of redirects do not pass through the route above.
    if (request.redirectedFrom() && !isAllowed(request.url())) faults.push(`redirect to another origin: ${request.url()}`)
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

/** Opens a page of the service in a separate browser profile. */
export async function open(browser, path, options) {
  const visit = await visitor(browser, options)
  await visit.page.goto(new URL(path, service).href, { waitUntil: 'load' })
  return visit
}

/** Signs in with the form. */
export async function signIn(page, { email, password }, next = '/sign-in') {
  await page.goto(next)
  await page.getByLabel('Email', { exact: true }).fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.waitForURL((url) => !url.pathname.startsWith('/sign-in'))
}

/** The cookies of the users who have signed in. */
const sessions = new Map()

/** A separate browser profile in which a user is signed in. All tests of a file share the user's session. */
export async function signedIn(browser, user, options = {}) {
  if (!sessions.has(user.email)) {
    const { page, context, close } = await visitor(browser, { home: options.home })
    await signIn(page, user)
    sessions.set(user.email, await context.storageState())
    await close()
  }
  return visitor(browser, { storageState: sessions.get(user.email), ...options })
}

/** Clicks a link or button and waits for the navigation, so that the test does not continue on the old page. */
export async function follow(target) {
  await Promise.all([target.page().waitForEvent('framenavigated'), target.click()])
}

/** Words up to this length must not be broken. */
const MAX_UNBROKEN_WORD = 24
/** The maximum average row height of a list on a phone, in pixels. */
const MAX_ROW_HEIGHT = 180

/**
 * Layout problems of the current page: elements that overflow the window or are cut off, except inside of scrolling
 * boxes; words in tables that are broken in the middle; rows of long lists that are too tall.
 */
export const layoutIssues = (page) => page.evaluate(([word, row]) => {
  const found = []
  const width = document.documentElement.clientWidth
  const name = (element) => `<${element.localName} class="${element.getAttribute('class') ?? ''}"> ${element.textContent.trim().slice(0, 40)}`
  const style = (element) => getComputedStyle(element)
  const ancestors = function* (element) {
    for (let up = element.parentElement; up; up = up.parentElement) yield up
  }
  const scrolls = (element) => ['auto', 'scroll'].includes(style(element).overflowX)
  // Visually hidden, or cut off on purpose with an ellipsis or a line clamp.
  const cut = (element) => element.matches('.vh, .skip, .icon, details.menu *')
    || style(element).textOverflow === 'ellipsis' || style(element).webkitLineClamp !== 'none'
    || style(element).clipPath !== 'none'
  for (const element of document.body.querySelectorAll('*')) {
    if (element.closest('svg, option') || !element.checkVisibility()) continue
    if (cut(element) || [...ancestors(element)].some((up) => cut(up) || (up !== document.body && scrolls(up)))) continue
    const { left, right, width: own } = element.getBoundingClientRect()
    if (own > 0 && (right > width + 1 || left < -1)) found.push(`overflows the window: ${name(element)}`)
    const clips = ['hidden', 'clip'].includes(style(element).overflowX)
    // The value of an input field can be longer than the field; it scrolls.
    if (clips && !element.matches('input') && element.scrollWidth > element.clientWidth + 1) found.push(`is cut off: ${name(element)}`)
  }
  const range = document.createRange()
  for (const cell of document.querySelectorAll('th, td, .stat .value')) {
    if ([...ancestors(cell)].some(cut)) continue
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT)
    while (texts.nextNode()) {
      const text = texts.currentNode
      // A URL has no good position for a line break.
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
}, [MAX_UNBROKEN_WORD, MAX_ROW_HEIGHT])
