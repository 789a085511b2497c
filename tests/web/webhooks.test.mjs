// The pages of webhooks while one looks at them: they keep themselves up to date, and nothing moves under the reader.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { launch, signIn, visitor } from './browser.mjs'
import { PATIENCE, Service, until } from './service.mjs'
import { makeWebhook, receiver } from './world.mjs'

const service = Service.shared()
let browser
let person

before(async () => {
  browser = await launch()
  person = await service.user('owner', 'hooks@people.example', 'Hanna Hooks')
})

after(() => browser?.close())

test('deliveries appear by themselves, and focus, scroll and what is open stay', { timeout: PATIENCE }, async (t) => {
  const { url, received } = await receiver(t)
  const { page, faults } = await arrive(t)
  const { place } = await makeWebhook(page, url)
  await page.goto(place)
  await service.api('POST', '/teams', { name: 'First' })
  await page.locator('tbody tr[id^=dlv_]').first().waitFor()
  await page.getByText('The same as a table').click()
  const search = page.getByLabel('Id or kind')
  await search.fill('half typed')
  await page.evaluate(() => scrollTo(0, 300))
  const at = await page.evaluate(() => scrollY)
  await service.api('POST', '/teams', { name: 'Second' })
  await until('the second arrives', () => received.some(({ data }) => data.object?.name === 'Second'))
  await page.locator('tbody tr[id^=dlv_]').nth(1).waitFor()
  assert.equal(await search.inputValue(), 'half typed')
  assert.ok(await search.evaluate((field) => field === document.activeElement), 'the focus has moved')
  assert.ok(await page.locator('#hours').evaluate((fold) => fold.open), 'the table was closed')
  assert.ok(Math.abs((await page.evaluate(() => scrollY)) - at) < 60, 'the page has jumped')
  assert.deepEqual(faults, [])
})

test('an attempt appears on the page of its delivery', { timeout: PATIENCE }, async (t) => {
  const { url } = await receiver(t)
  const { page, faults } = await arrive(t)
  const { place } = await makeWebhook(page, url)
  await page.goto(place)
  await page.getByRole('button', { name: 'Send test' }).click()
  await page.getByText('It answered 200').waitFor()
  const button = page.getByRole('button', { name: /^Copy/ }).last()
  await button.waitFor()
  assert.deepEqual(faults, [])
})

test('somebody who was signed out meanwhile keeps what they see', { timeout: PATIENCE }, async (t) => {
  const { url } = await receiver(t)
  const { page, context } = await arrive(t)
  const { place } = await makeWebhook(page, url)
  await page.goto(place)
  // Waited for from before: the page may look again at once.
  const refused = page.waitForResponse((response) => response.url().includes('/sign-in'))
  await context.clearCookies()
  await refused
  await page.waitForTimeout(300)
  assert.equal(await page.getByRole('heading', { name: 'Deliveries' }).count(), 1)
})

async function arrive(t) {
  const visit = await visitor(browser)
  t.after(visit.close)
  await signIn(visit.page, person)
  return visit
}
