// The webhook pages update themselves without moving the focus or the scroll position.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { launch, signedIn } from './browser.mjs'
import { TIMEOUT, Service, until } from './service.mjs'
import { makeWebhook, receiver } from './world.mjs'

const service = Service.shared()
let browser
let person

before(async () => {
  browser = await launch()
  person = await service.user('owner', 'hooks@people.example', 'Hanna Hooks')
})

after(() => browser?.close())

test('new deliveries appear while focus, scroll position and open sections stay', { timeout: TIMEOUT }, async (t) => {
  const { url, received } = await receiver(t)
  const { page, faults } = await arrive(t)
  const { href } = await makeWebhook(page, url)
  await page.goto(href)
  await service.api('POST', '/teams', { name: 'First' })
  await page.locator('tbody tr[id^=dlv_]').first().waitFor()
  await page.getByText('Show as table').click()
  const search = page.getByLabel('ID or type')
  await search.fill('half typed')
  await page.evaluate(() => scrollTo(0, 300))
  const at = await page.evaluate(() => scrollY)
  await service.api('POST', '/teams', { name: 'Second' })
  await until('the second arrives', () => received.some(({ data }) => data.object?.name === 'Second'))
  await page.locator('tbody tr[id^=dlv_]').nth(1).waitFor()
  assert.equal(await search.inputValue(), 'half typed')
  assert.ok(await search.evaluate((field) => field === document.activeElement), 'the focus moved')
  assert.ok(await page.locator('#hours').evaluate((fold) => fold.open), 'the table was closed')
  assert.ok(Math.abs((await page.evaluate(() => scrollY)) - at) < 60, 'the scroll position changed')
  assert.deepEqual(faults, [])
})

test('an attempt appears on the page of its delivery without a reload', { timeout: TIMEOUT }, async (t) => {
  const { url } = await receiver(t)
  const { page, faults } = await arrive(t)
  const { href } = await makeWebhook(page, url)
  await page.goto(href)
  await page.getByRole('button', { name: 'Send test' }).click()
  await page.getByText('Status 200').waitFor()
  const button = page.getByRole('button', { name: /^Copy/ }).last()
  await button.waitFor()
  assert.deepEqual(faults, [])
})

test('the page keeps its content after the session has ended', { timeout: TIMEOUT }, async (t) => {
  const { url } = await receiver(t)
  const { page, context } = await arrive(t)
  const { href } = await makeWebhook(page, url)
  await page.goto(href)
  // Wait from before the sign-out, because the page may refresh at once.
  const redirected = page.waitForResponse((response) => response.url().includes('/sign-in'))
  await context.clearCookies()
  await redirected
  await page.waitForTimeout(300)
  assert.equal(await page.getByRole('heading', { name: 'Deliveries' }).count(), 1)
})

async function arrive(t) {
  const visit = await signedIn(browser, person)
  t.after(visit.close)
  return visit
}
