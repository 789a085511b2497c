// Signing in, connecting an app, creating a key and adding a webhook with the keyboard only. The focus is always
// visible.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { launch, signedIn, visitor } from './browser.mjs'
import { hasFocus, tabTo } from './drivers.mjs'
import { TIMEOUT, PKCE, Service, until } from './service.mjs'
import { receiver } from './world.mjs'

const service = Service.shared()
let browser
let person

before(async () => {
  browser = await launch()
  person = await service.user('owner', 'keyboard@people.example', 'Kim Keys')
})

after(() => browser?.close())

test('signs in', { timeout: TIMEOUT }, async (t) => {
  const page = await arrive(t)
  await page.goto('/sign-in')
  await enter(page)
  assert.notEqual(new URL(page.url()).pathname, '/sign-in')
})

test('connects an app', { timeout: TIMEOUT }, async (t) => {
  const app = await service.app('native', 'http://127.0.0.1/callback')
  const request = { client_id: app.id, redirect_uri: `${service.url.replace('localhost', '127.0.0.1')}/callback`, response_type: 'code' }
  const page = await arrive(t)
  await page.goto(`/oauth/authorize?${new URLSearchParams({ ...request, ...PKCE, scope: 'teams:read', state: 's' })}`)
  await enter(page)
  const callback = page.waitForRequest((request) => new URL(request.url()).pathname === '/callback')
  await tabTo(page, page.getByRole('button', { name: /^Allow/ }))
  await page.keyboard.press('Enter')
  assert.ok(new URL((await callback).url()).searchParams.get('code'))
})

test('creates a key and uses it', { timeout: TIMEOUT }, async (t) => {
  const page = await arrive(t, person)
  await page.goto('/admin')
  // The first link skips the menu, which a screen reader would read on every page.
  await page.keyboard.press('Tab')
  const first = await page.evaluate(() => document.activeElement.getAttribute('href'))
  assert.equal(first, '#main', 'the first focus stop is the skip link')
  await tabTo(page, page.getByRole('link', { name: 'API keys' }).filter({ visible: true }).first())
  await page.keyboard.press('Enter')
  await page.waitForURL('**/admin/keys')
  await tabTo(page, page.getByRole('link', { name: /key/i }).and(page.locator('[href="/admin/keys/new"]')).first())
  await page.keyboard.press('Enter')
  await page.waitForURL('**/admin/keys/new')
  await tabTo(page, page.getByLabel('Name', { exact: true }))
  await page.keyboard.type('Created by keyboard')
  await tabTo(page, page.locator('input[name=scopes][value="teams:read"]'))
  await page.keyboard.press('Space')
  await tabTo(page, page.getByRole('button', { name: 'Create key' }))
  await page.keyboard.press('Enter')
  const key = (await page.locator('#key').textContent()).trim()
  assert.equal((await service.api('GET', '/teams', undefined, key)).status, 200)
})

test('adds a webhook and tests it', { timeout: TIMEOUT }, async (t) => {
  const { url, received } = await receiver(t)
  const page = await arrive(t, person)
  await page.goto('/admin/webhooks/new')
  const address = page.getByLabel('URL', { exact: true })
  await tabTo(page, address)
  await page.keyboard.type('https://coach:secret@club.example/hook')
  await page.keyboard.press('Enter')
  // The focus moves to the first field with an error.
  await page.getByText('Nothing was saved').waitFor()
  await until('the choice has the focus', () => hasFocus(page.locator('fieldset.event-choices')))
  await tabTo(page, page.getByText('Choose from').first())
  await page.keyboard.press('Enter')
  await tabTo(page, page.locator('input[name=events][value="team.created"]'))
  await page.keyboard.press('Space')
  await tabTo(page, page.getByRole('button', { name: 'Add webhook' }))
  await page.keyboard.press('Enter')
  await page.locator('#url-error').waitFor()
  await until('the address has the focus', () => hasFocus(address))
  await page.keyboard.press('ControlOrMeta+A')
  await page.keyboard.type(url)
  await page.keyboard.press('Enter')
  await page.locator('#secret').waitFor()
  await tabTo(page, page.getByRole('link', { name: 'Done' }))
  await page.keyboard.press('Enter')
  await tabTo(page, page.getByRole('button', { name: 'Send test' }))
  await page.keyboard.press('Enter')
  await page.getByText('Status 200').waitFor()
  // Other tests create teams at the same time, so look only for the test event.
  await until('the test arrives', () => received.some(({ type }) => type === 'ping'))
})

/** A page of a user who is signed in or of a guest. */
async function arrive(t, user) {
  const options = { also: [service.url.replace('localhost', '127.0.0.1')] }
  const visit = user ? await signedIn(browser, user, options) : await visitor(browser, options)
  t.after(visit.close)
  return visit.page
}

async function enter(page) {
  await tabTo(page, page.getByLabel('Email', { exact: true }))
  await page.keyboard.type(person.email)
  await tabTo(page, page.getByLabel('Password', { exact: true }))
  await page.keyboard.type(person.password)
  await page.keyboard.press('Enter')
  await page.waitForURL((url) => !url.pathname.startsWith('/sign-in'))
}
