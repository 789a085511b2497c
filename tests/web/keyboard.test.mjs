// Signing in, allowing an app and making a key without a mouse, always seeing where one is.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { launch, signIn, visitor } from './browser.mjs'
import { PATIENCE, PKCE, Service, until } from './service.mjs'
import { receiver } from './world.mjs'

const service = Service.shared()
let browser
let person

before(async () => {
  browser = await launch()
  person = await service.user('owner', 'keyboard@people.example', 'Kim Keys')
})

after(() => browser?.close())

test('signing in', { timeout: PATIENCE }, async (t) => {
  const page = await arrive(t)
  await page.goto('/sign-in')
  await enter(page)
  assert.notEqual(new URL(page.url()).pathname, '/sign-in')
})

test('allowing an app something', { timeout: PATIENCE }, async (t) => {
  const app = await service.app('native', 'http://127.0.0.1/callback')
  const asked = { client_id: app.id, redirect_uri: `${service.url.replace('localhost', '127.0.0.1')}/callback`, response_type: 'code' }
  const page = await arrive(t)
  await page.goto(`/oauth/authorize?${new URLSearchParams({ ...asked, ...PKCE, scope: 'teams:read', state: 's' })}`)
  await enter(page)
  const back = page.waitForRequest((request) => new URL(request.url()).pathname === '/callback')
  await tabTo(page, page.getByRole('button', { name: /^Allow/ }))
  await page.keyboard.press('Enter')
  assert.ok(new URL((await back).url()).searchParams.get('code'))
})

test('making a key and using it', { timeout: PATIENCE }, async (t) => {
  const page = await arrive(t)
  await signIn(page, person)
  await page.goto('/admin')
  // Past the menu in one step, for those who hear it on every page.
  await page.keyboard.press('Tab')
  const first = await page.evaluate(() => document.activeElement.getAttribute('href'))
  assert.equal(first, '#main', 'the first stop leads past the menu')
  await tabTo(page, page.getByRole('link', { name: 'API keys' }).filter({ visible: true }).first())
  await page.keyboard.press('Enter')
  await page.waitForURL('**/admin/keys')
  await tabTo(page, page.getByRole('link', { name: /key/i }).and(page.locator('[href="/admin/keys/new"]')).first())
  await page.keyboard.press('Enter')
  await page.waitForURL('**/admin/keys/new')
  await tabTo(page, page.getByLabel('Name', { exact: true }))
  await page.keyboard.type('Made by keyboard')
  await tabTo(page, page.locator('input[name=scopes][value="teams:read"]'))
  await page.keyboard.press('Space')
  await tabTo(page, page.getByRole('button', { name: 'Make the key' }))
  await page.keyboard.press('Enter')
  const key = (await page.locator('#key').textContent()).trim()
  assert.equal((await service.api('GET', '/teams', undefined, key)).status, 200)
})

test('adding a webhook and testing it', { timeout: PATIENCE }, async (t) => {
  const { url, received } = await receiver(t)
  const page = await arrive(t)
  await signIn(page, person)
  await page.goto('/admin/webhooks/new')
  const address = page.getByLabel('Address', { exact: true })
  const focused = (target) => target.evaluate((element) => element === document.activeElement)
  await tabTo(page, address)
  await page.keyboard.type('https://coach:secret@club.example/hook')
  await page.keyboard.press('Enter')
  // One is where something is wrong, and it is not far to what has to be done.
  await page.getByText('Nothing was saved').waitFor()
  await until('the choice has the focus', () => focused(page.locator('fieldset.wishes')))
  await tabTo(page, page.getByText('Choose among').first())
  await page.keyboard.press('Enter')
  await tabTo(page, page.locator('input[name=events][value="team.created"]'))
  await page.keyboard.press('Space')
  await tabTo(page, page.getByRole('button', { name: 'Add the webhook' }))
  await page.keyboard.press('Enter')
  await page.locator('#url-error').waitFor()
  await until('the address has the focus', () => focused(address))
  await page.keyboard.press('ControlOrMeta+A')
  await page.keyboard.type(url)
  await page.keyboard.press('Enter')
  await page.locator('#secret').waitFor()
  await tabTo(page, page.getByRole('link', { name: 'Done' }))
  await page.keyboard.press('Enter')
  await tabTo(page, page.getByRole('button', { name: 'Send test' }))
  await page.keyboard.press('Enter')
  await page.getByText('It answered 200').waitFor()
  // Among teams that other checks make meanwhile.
  await until('the test arrives', () => received.some(({ type }) => type === 'ping'))
})

async function arrive(t) {
  const visit = await visitor(browser, { also: [service.url.replace('localhost', '127.0.0.1')] })
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

/** Goes on with Tab until it is there; every stop on the way must be seen. */
async function tabTo(page, target) {
  await target.waitFor()
  for (let stops = 0; stops < 80; stops += 1) {
    if (await target.evaluate((element) => element === document.activeElement)) return
    await page.keyboard.press('Tab')
    const hidden = await page.evaluate(() => {
      const now = document.activeElement
      if (!now || now === document.body) return undefined
      const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(now)
      // A box or a dot may show it around its label.
      const around = now.closest('label, .check') && getComputedStyle(now.closest('label, .check'))
      const seen = (outlineStyle !== 'none' && outlineWidth !== '0px') || boxShadow !== 'none'
      return seen || (around && around.outlineStyle !== 'none') ? undefined : now.outerHTML.slice(0, 200)
    })
    assert.equal(hidden, undefined, 'one cannot see where one is')
  }
  assert.fail(`not reached by keyboard: ${target}`)
}
