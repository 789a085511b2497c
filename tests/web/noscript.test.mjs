// The most important pages in a browser without JavaScript.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { follow, launch, signIn, signedIn, visitor } from './browser.mjs'
import { TIMEOUT, PKCE, Service, until } from './service.mjs'
import { makeKey, makeWebhook, PASSWORD, path, receiver } from './world.mjs'

const service = Service.shared()
let browser
let person

before(async () => {
  browser = await launch()
  person = await service.user('owner', 'plain@people.example', 'Nora Noscript')
})

after(() => browser?.close())

test('creates a key, uses it, revokes it, and signs out', { timeout: TIMEOUT }, async (t) => {
  const page = await arrive(t)
  await signIn(page, person)
  const key = await makeKey(page, 'Without scripts')
  assert.equal((await service.api('GET', '/teams', undefined, key.value)).status, 200)
  await page.goto(`/admin/keys/${key.id}/revoke`)
  await follow(page.getByRole('button', { name: /^Revoke/ }))
  assert.equal((await service.api('GET', '/teams', undefined, key.value)).status, 401)

  await page.goto('/admin')
  await page.locator('header.top details.menu > summary').click()
  await follow(page.getByRole('button', { name: 'Sign out' }))
  await page.goto('/admin')
  assert.equal(new URL(page.url()).pathname, '/sign-in')
})

test('invites a user, who joins', { timeout: TIMEOUT }, async (t) => {
  const page = await arrive(t, person)
  await page.goto('/admin/members/invite')
  await page.getByLabel('Email', { exact: true }).fill('newcomer@people.example')
  await page.getByRole('button', { name: 'Create invitation' }).click()
  const link = path(await page.locator('#link').textContent())

  const guest = await arrive(t)
  await guest.goto(link)
  await guest.getByLabel('Your name').fill('Nina Newcomer')
  await guest.getByLabel('Email', { exact: true }).fill('newcomer@people.example')
  await guest.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await guest.getByRole('button', { name: 'Create account' }).click()
  // With the invited email address the user is signed in at once.
  await follow(guest.getByRole('button', { name: 'Join the club' }))
  await guest.goto('/account')
  await guest.getByText('Nina Newcomer').first().waitFor()
  await page.goto('/admin/members')
  await page.getByText('newcomer@people.example').first().waitFor()
})

test('connects an app and disconnects it', { timeout: TIMEOUT }, async (t) => {
  const app = await service.app('native', 'http://127.0.0.1/callback', { name: 'Without scripts' })
  const request = { client_id: app.id, redirect_uri: `${service.url.replace('localhost', '127.0.0.1')}/callback`, response_type: 'code' }
  const page = await arrive(t)
  const authorize = `/oauth/authorize?${new URLSearchParams({ ...request, ...PKCE, scope: 'teams:read', state: 's' })}`
  await signIn(page, person, authorize)
  await page.getByRole('button', { name: /^Allow/ }).click()
  await page.waitForURL('**/callback?**')
  const { access_token: token } = await service.exchange(app, page.url())
  assert.equal((await service.api('GET', '/teams', undefined, token)).status, 200)

  await page.goto('/account/apps')
  await page.getByText('Without scripts').first().waitFor()
  await page.getByRole('link', { name: /^Disconnect/ }).first().click()
  await follow(page.getByRole('button', { name: 'Disconnect' }))
  await page.goto('/account/apps')
  assert.equal(await page.getByText('Without scripts').count(), 0)
  assert.equal((await service.api('GET', '/teams', undefined, token)).status, 401)
})

test('adds a webhook, tests it, turns it off and on', { timeout: TIMEOUT }, async (t) => {
  const { url, received } = await receiver(t)
  const page = await arrive(t, person)
  const { href } = await makeWebhook(page, url)
  await page.goto(href)
  await page.getByRole('button', { name: 'Send test' }).click()
  await until('the test arrives', () => received.some(({ type }) => type === 'ping'))
  await until('the page shows the result', async () => {
    await page.getByRole('link', { name: 'Refresh' }).click()
    return page.getByText('Status 200').count()
  })
  await page.goto(`${href}/off`)
  await follow(page.getByRole('button', { name: 'Turn off' }))
  await service.api('POST', '/teams', { name: 'Missed meanwhile' })
  await page.goto(href)
  await page.getByRole('button', { name: 'Turn on and replay missed' }).click()
  await until('the missed notification arrives', () => received.some(({ data }) => data.object?.name === 'Missed meanwhile'))
})

test('fields that do not apply are hidden, and their values are kept but not used', { timeout: TIMEOUT }, async (t) => {
  const team = await service.api('POST', '/teams', { name: 'Charged without scripts' })
  const page = await arrive(t, person)
  await page.goto(`/admin/dues/new?team=${team.data.id}`)
  for (const field of ['#discount', '#late_fee', '#installment_count', '#part_on_1', 'input[name=member_ids]']) {
    assert.equal(await page.locator(field).first().isVisible(), false, field)
  }
  assert.ok(await page.locator('#due_on').isVisible())
  await page.locator('input[name=split][value=rows]').check()
  assert.ok(await page.locator('#part_on_1').isVisible())
  assert.equal(await page.locator('#due_on').isVisible(), false)
  await page.locator('input[name=split][value=once]').check()
  await page.locator('#discount_kind').selectOption('amount')
  await page.locator('#discount').fill('5')
  await page.locator('#discount_kind').selectOption('none')
  assert.equal(await page.locator('#discount').isVisible(), false)
  await page.getByLabel('Title').fill('Fee')
  await page.getByLabel('Amount', { exact: true }).fill('100')
  await page.locator('#due_on').fill('2027-09-01')
  await follow(page.getByRole('button', { name: 'Preview' }))
  assert.equal(await page.locator('#discount').inputValue(), '5')
  assert.ok(await page.locator('#discount').isVisible(), 'a field with an error is visible')
  await page.getByText('You entered a discount but selected “None”.').waitFor()

  await page.goto('/admin/store/products/new')
  assert.equal(await page.locator('#tax_rate_bps').isVisible(), false)
  assert.ok(await page.locator('#stock').isVisible())
  await page.locator('input[name=sized][value=yes]').check()
  assert.equal(await page.locator('#stock').isVisible(), false)
  assert.ok(await page.locator('#variants-0-name').isVisible())
  await page.goto('/admin/webhooks/new')
  assert.equal(await page.locator('input[name=team_ids]').first().isVisible(), false)
  await page.locator('input[name=events][value="*"]').check()
  assert.equal(await page.locator('input[name=events][value="team.*"]').isVisible(), false)
})

/** A page without JavaScript, of a user who is signed in or of a guest. */
async function arrive(t, user) {
  const options = { javaScriptEnabled: false }
  const visit = user ? await signedIn(browser, user, options) : await visitor(browser, options)
  t.after(visit.close)
  return visit.page
}
