// Every page on a phone and on a desktop, in light and dark mode: accessible, no wider than the window, without errors,
// without requests to other origins, and translated.

import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'

import { contrastIssues, structuralIssues } from './accessibility.mjs'
import { launch, layoutIssues, visitor } from './browser.mjs'
import { FIRST_PAGES, PAGES } from './pages.mjs'
import { pageRoutes } from './routes.mjs'
import { TIMEOUT, Service } from './service.mjs'
import { untranslated } from './translation.mjs'
import { World } from './world.mjs'

const screenshots = process.env.TOUCHLINE_SCREENSHOTS
const VIEWPORTS = [[390, 'light'], [390, 'dark'], [1280, 'light'], [1280, 'dark']]

let browser
let world

before(async () => {
  if (screenshots) await mkdir(screenshots, { recursive: true })
  browser = await launch()
  world = await World.build(Service.shared(), browser)
}, { timeout: TIMEOUT })

after(async () => {
  await world?.close()
  await browser?.close()
})

test('every page has a test', () => {
  const routes = pageRoutes().filter(({ methods }) => methods.includes('get')).map(({ path }) => path)
  const listed = new Set([...PAGES, ...FIRST_PAGES].map(([, route]) => route).filter(Boolean))
  assert.deepEqual(routes.filter((path) => !listed.has(path)), [], 'pages without a test')
  assert.deepEqual([...listed].filter((path) => !routes.includes(path)), [], 'tests of pages that do not exist')
})

for (const [name, , who, go, status = 200] of PAGES) {
  test(name, { timeout: TIMEOUT }, async () => {
    const visit = await world.as(who)
    visit.faults.length = 0
    await go(visit.page, world)
    await checkPage(visit, name, status)
    assert.deepEqual(await untranslated(visit.page, world), [], `${visit.page.url()}: not translated`)
  })
}

test('the first pages of a new service', { timeout: TIMEOUT }, async (t) => {
  const service = await Service.start()
  t.after(service.stop)
  const visit = await visitor(browser, { home: service.url, width: 390, timezoneId: 'Europe/Lisbon' })
  t.after(visit.close)
  for (const [name, , go] of FIRST_PAGES) {
    await t.test(name, async () => {
      visit.faults.length = 0
      await go(visit.page, service)
      await checkPage(visit, name, 200)
    })
  }
})

/** Checks a page in all viewports, without loading it again: what it loads does not depend on the viewport. */
async function checkPage({ page, faults }, name, status) {
  await page.waitForLoadState()
  const problems = []
  for (const [width, scheme] of VIEWPORTS) {
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme: scheme })
    if (screenshots) await page.screenshot({ path: join(screenshots, `${name}-${width}-${scheme}.png`), fullPage: true })
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    if (overflow > 0) problems.push(`${width} ${scheme}: the page is ${overflow} px wider than the window`)
    // Dark mode only changes colors.
    const layout = scheme === 'light' ? [...(await layoutIssues(page)), ...(await structuralIssues(page))] : []
    const issues = [...layout, ...(await contrastIssues(page))]
    problems.push(...issues.map((issue) => `${width} ${scheme}: ${issue}`))
  }
  if (name !== 'confirm' && page.url().includes('/confirm?')) problems.push('the page asks for the password')
  // The browser logs an error for a page whose own status is an error.
  const expected = status < 400 ? () => false : (fault) => fault.includes(`${status}`) && !/\.(js|css|svg|woff2)/.test(fault)
  problems.push(...faults.filter((fault) => !expected(fault)))
  if (status >= 400 && !faults.some((fault) => fault.startsWith(`${status} `))) problems.push(`the status was not ${status}`)
  assert.deepEqual(problems, [], page.url())
}
