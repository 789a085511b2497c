// A browser that talks to the service and to nobody else, and remembers every complaint.

import { readFile } from 'node:fs/promises'

import { chromium } from 'playwright-core'

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

/** The address of the service under test. */
export const service = new URL(process.env.TOUCHLINE_URL ?? 'http://127.0.0.1:8080')

/** Starts Chromium with a new, empty profile. */
export function launch() {
  return chromium.launch({
    executablePath: process.env.TOUCHLINE_CHROMIUM ?? '/usr/bin/chromium',
    args: FLAGS,
  })
}

/**
 * Opens a page of the service. `faults` fills up with what a browser would complain about:
 * requests to other places (which are cut off), failed requests, errors on the console.
 */
export async function open(browser, path, { width, scheme }) {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme: scheme,
    // A fading page that is left again at once complains of it.
    reducedMotion: 'reduce',
    // A worker of the page could fetch behind our back.
    serviceWorkers: 'block',
  })
  const faults = []
  await context.route('**/*', (route) => {
    const url = route.request().url()
    if (isOurs(url)) return route.continue()
    faults.push(`request to another place: ${url}`)
    return route.abort()
  })
  const page = await context.newPage()
  page.on('websocket', (socket) => faults.push(`socket to ${socket.url()}`))
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => faults.push(`script: ${error.message}`))
  page.on('response', (response) => {
    if (response.status() >= 400) faults.push(`${response.status()} for ${response.url()}`)
  })
  await page.goto(new URL(path, service).href, { waitUntil: 'load' })
  return { page, faults, close: () => context.close() }
}

/** What axe finds against WCAG 2.1 A and AA: the rule and the first element that breaks it. */
export async function barriers(page, { except }) {
  const axe = new URL('node_modules/axe-core/axe.min.js', import.meta.url)
  await page.evaluate(await readFile(axe, 'utf8'))
  const { violations } = await page.evaluate((except) => {
    const rules = Object.fromEntries(except.map((rule) => [rule, { enabled: false }]))
    return axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'], rules })
  }, except)
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`)
}

function isOurs(url) {
  const { protocol, origin } = new URL(url)
  return origin === service.origin || protocol === 'data:' || protocol === 'blob:'
}
