// Every page on a phone and on a desk, by day and by night: readable with a screen reader, no wider than the
// window, complete, and silent towards everybody else.

import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'

import { allBarriers, launch, misfits, paleWords, visitor } from './browser.mjs'
import { FIRST_PAGES, PAGES } from './pages.mjs'
import { pageRoutes } from './routes.mjs'
import { PATIENCE, Service } from './service.mjs'
import { World } from './world.mjs'

const pictures = process.env.TOUCHLINE_SCREENSHOTS
const LOOKS = [[390, 'light'], [390, 'dark'], [1280, 'light'], [1280, 'dark']]

let browser
let world

before(async () => {
  if (pictures) await mkdir(pictures, { recursive: true })
  browser = await launch()
  world = await World.build(Service.shared(), browser)
  world.twoStep = await world.guest()
}, { timeout: PATIENCE })

after(async () => {
  await world?.close()
  await browser?.close()
})

test('no page is forgotten', () => {
  const there = pageRoutes().filter(({ methods }) => methods.includes('get')).map(({ path }) => path)
  const listed = new Set([...PAGES, ...FIRST_PAGES].map(([, route]) => route).filter(Boolean))
  assert.deepEqual(there.filter((path) => !listed.has(path)), [], 'pages without a look at them')
  assert.deepEqual([...listed].filter((path) => !there.includes(path)), [], 'listed, but not there')
})

for (const [name, , who, go, status = 200] of PAGES) {
  test(name, { timeout: PATIENCE }, async () => {
    const visit = await world.as(who)
    visit.faults.length = 0
    await go(visit.page, world)
    await isFit(visit, name, status)
  })
}

test('the first pages of a new service', { timeout: PATIENCE }, async (t) => {
  const service = await Service.start()
  t.after(service.stop)
  const visit = await visitor(browser, { home: service.url, width: 390, timezoneId: 'Europe/Lisbon' })
  t.after(visit.close)
  for (const [name, , go] of FIRST_PAGES) {
    await t.test(name, async () => {
      visit.faults.length = 0
      await go(visit.page, service)
      await isFit(visit, name, 200)
    })
  }
})

/** Looks at a page four times, without loading it again: what it loads does not depend on the window. */
async function isFit({ page, faults }, name, status) {
  await page.waitForLoadState()
  const wrong = []
  for (const [width, scheme] of LOOKS) {
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme: scheme })
    if (pictures) await page.screenshot({ path: join(pictures, `${name}-${width}-${scheme}.png`), fullPage: true })
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    if (wide > 0) wrong.push(`${width} ${scheme}: the page is ${wide} px wider than the window`)
    if (scheme === 'light') wrong.push(...(await misfits(page)).map((fault) => `${width}: ${fault}`))
    // By night a page has other colours and nothing else.
    const barriers = scheme === 'dark' ? await paleWords(page) : await allBarriers(page)
    wrong.push(...barriers.map((barrier) => `${width} ${scheme}: ${barrier}`))
  }
  if (name !== 'confirm' && page.url().includes('/confirm?')) wrong.push('the page asks for the password')
  // A browser complains about a page that is itself the news of a failure.
  const expected = status < 400 ? () => false : (fault) => fault.includes(`${status}`) && !/\.(js|css|svg|woff2)/.test(fault)
  wrong.push(...faults.filter((fault) => !expected(fault)))
  if (status >= 400 && !faults.some((fault) => fault.startsWith(`${status} `))) wrong.push(`was not answered with ${status}`)
  assert.deepEqual(wrong, [], page.url())
}
