// The developer portal in a browser: on a phone and on a desktop, in light and dark mode, accessible, without requests to
// other origins, and without JavaScript.

import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'

import { accessibilityIssues } from './accessibility.mjs'
import { launch, layoutIssues, open } from './browser.mjs'
import { TIMEOUT } from './service.mjs'

const screenshots = process.env.TOUCHLINE_SCREENSHOTS
let browser

before(async () => {
  if (screenshots) await mkdir(screenshots, { recursive: true })
  browser = await launch()
})

after(() => browser?.close())

const PAGES = {
  start: '/docs',
  quickstart: '/docs/quickstart',
  webhooks: '/docs/webhooks',
  dues: '/docs/dues',
  errors: '/docs/errors',
  reference: '/docs/reference',
  events: '/docs/reference/events',
  'notification types': '/docs/reference/notification-types',
  search: '/docs/search?q=webhook',
}

for (const width of [390, 1280]) {
  for (const scheme of ['light', 'dark']) {
    for (const [name, path] of Object.entries(PAGES)) {
      test(`${name} at ${width} px, ${scheme}`, { timeout: TIMEOUT }, async (t) => {
        const visit = await open(browser, path, { width, scheme })
        t.after(visit.close)
        await checkPage(visit, `docs-${name.replace(' ', '-')}-${width}-${scheme}`)
      })
    }
  }
}

test('the menu of a phone', { timeout: TIMEOUT }, async (t) => {
  const visit = await open(browser, '/docs/reference/teams', { width: 390 })
  t.after(visit.close)
  const { page } = visit
  const menu = page.getByRole('navigation', { name: 'Pages' })
  assert.equal(await menu.isVisible(), false)
  await page.getByRole('button', { name: 'Menu' }).click()
  assert.equal(await menu.getByRole('link', { name: 'Teams', exact: true }).getAttribute('aria-current'), 'page')
  await checkPage(visit, 'docs-menu-390')
  await menu.getByRole('link', { name: 'Create a team' }).click()
  await menu.waitFor({ state: 'hidden' })
  assert.equal(new URL(page.url()).hash, '#teams.create')
})

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? 'with' : 'without'

  test(`a link to an operation, ${how} JavaScript`, { timeout: TIMEOUT }, async (t) => {
    const visit = await open(browser, '/docs/reference/calendars#calendar_feeds.create', { javaScriptEnabled })
    t.after(visit.close)
    const heading = visit.page.getByRole('heading', { name: 'Create a calendar feed' })
    await inViewport(heading)
    assert.deepEqual(visit.faults, [])
  })

  test(`the language of an example, ${how} JavaScript`, { timeout: TIMEOUT }, async (t) => {
    const visit = await open(browser, '/docs/reference/teams#teams.create', { javaScriptEnabled })
    t.after(visit.close)
    const operation = visit.page.locator('section', { has: visit.page.getByRole('heading', { name: 'Create a team' }) })
    assert.ok(await operation.getByText('curl http').isVisible())
    await operation.getByRole('radio', { name: 'TypeScript' }).check()
    assert.ok(await operation.getByText('touchline.teams.create').isVisible())
    assert.equal(await operation.getByText('curl http').isVisible(), false)
  })

  test(`the search, ${how} JavaScript`, { timeout: TIMEOUT }, async (t) => {
    const visit = await open(browser, '/docs', { javaScriptEnabled })
    t.after(visit.close)
    const { page } = visit
    await page.getByRole('searchbox').fill('create a team')
    await page.getByRole('searchbox').press('Enter')
    await page.waitForURL('**/docs/search?q=create+a+team')
    assert.equal(await page.locator('mark').first().textContent(), 'Create')
    await page.getByRole('link', { name: 'Create a team', exact: true }).click()
    await page.waitForURL('**/docs/reference/teams#teams.create')
    assert.deepEqual(visit.faults, [])
  })
}

test('results change while you type', { timeout: TIMEOUT }, async (t) => {
  const visit = await open(browser, '/docs/search')
  t.after(visit.close)
  await visit.page.getByRole('searchbox').fill('rate_limited')
  await visit.page.getByRole('link', { name: 'rate_limited', exact: true }).first().waitFor()
  assert.deepEqual(visit.faults, [])
})

test('the chosen language is remembered', { timeout: TIMEOUT }, async (t) => {
  const visit = await open(browser, '/docs/reference/teams')
  t.after(visit.close)
  await visit.page.getByRole('radio', { name: 'TypeScript' }).first().check()
  await visit.page.goto('/docs/pagination')
  assert.ok(await visit.page.getByText("for await (const team of touchline.teams.list({ limit: 2 }))").isVisible())
})

test('a button copies an example', { timeout: TIMEOUT }, async (t) => {
  const visit = await open(browser, '/docs/quickstart', { permissions: ['clipboard-read', 'clipboard-write'] })
  t.after(visit.close)
  const sample = visit.page.locator('.sample', { hasText: 'data.account.name' })
  await sample.getByRole('button', { name: 'Copy' }).click()
  await sample.getByRole('button', { name: 'Copied' }).waitFor()
  const copied = await visit.page.evaluate(() => navigator.clipboard.readText())
  assert.ok(copied.startsWith('curl -s "$TOUCHLINE_URL/api/public/v1/me"'), copied)
})

test('links of the former reference lead to the new one', { timeout: TIMEOUT }, async (t) => {
  const visit = await open(browser, '/docs#tag/teams/GET/teams')
  t.after(visit.close)
  await visit.page.waitForURL('**/docs/reference/teams')
})

async function inViewport(locator) {
  const box = await locator.boundingBox()
  assert.ok(box && box.y >= 0 && box.y < 400, JSON.stringify(box))
}

async function checkPage({ page, faults }, name) {
  await page.waitForLoadState('networkidle')
  if (screenshots) await page.screenshot({ path: join(screenshots, `${name}.png`) })
  assert.deepEqual(faults, [])
  // Parts that are not in view are not laid out, and would not be checked.
  await page.evaluate(() => document.querySelectorAll('.op').forEach((part) => (part.style.contentVisibility = 'visible')))
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
  assert.ok(overflow <= 0, `the page is ${overflow} px wider than the window`)
  assert.deepEqual(await layoutIssues(page), [])
  assert.deepEqual(await accessibilityIssues(page), [])
}
