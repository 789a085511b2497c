// Home and Schedule without a network: readable for the user who opened them, and for nobody else.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'

import { launch, signIn, visitor } from './browser.mjs'
import { Network, TIMEOUT, Service, until } from './service.mjs'

const HOME = '/'
const SCHEDULE = '/schedule'
const LOGO = new URL('../../crates/web/assets/icon-192.png', import.meta.url)

const service = Service.shared()
let browser
let ana
let ben

before(async () => {
  browser = await launch()
  ana = await service.user('member', 'ana.offline@people.example', 'Ana Offline')
  ben = await service.user('member', 'ben.offline@people.example', 'Ben Offline')
})

after(() => browser?.close())

/**
 * A browser profile with the service worker, in which a user has signed in. `network.cut()` cuts it off from the service:
 * the browser's own offline mode does not reach the requests of service workers in every version.
 */
async function arrive(t, user, home = service.url) {
  const network = await Network.to(home)
  const visit = await visitor(browser, { width: 390, serviceWorkers: 'allow', home: network.url })
  t.after(async () => {
    await visit.close()
    network.close()
  })
  await visit.page.goto('/sign-in')
  await ready(visit.page)
  await signIn(visit.page, user)
  return { ...visit, network }
}

/** Waits until the service worker answers the requests of the page. */
const ready = (page) => page.evaluate(async () => {
  await navigator.serviceWorker.ready
  if (navigator.serviceWorker.controller) return
  await new Promise((done) => navigator.serviceWorker.addEventListener('controllerchange', done, { once: true }))
})

/** Opens a page and waits until it is kept. */
async function keep(page, path) {
  await page.goto(path)
  await until(`${path} is kept`, () => isKept(page, path))
}

const isKept = (page, path) => page.evaluate(async (path) => Boolean(await caches.match(path, { cacheName: 'pages' })), path)

async function assertOfflinePage(page, path) {
  await page.goto(path)
  await page.getByRole('heading', { level: 1, name: 'You are offline' }).waitFor()
  assert.ok(!(await page.content()).includes('Ana'), `${path} shows nothing of Ana`)
  assert.ok(await page.evaluate(() => document.styleSheets[0]?.cssRules.length > 0), 'the page has its styles')
}

test('Home and Schedule can be read offline', { timeout: TIMEOUT }, async (t) => {
  const { page, network } = await arrive(t, ana)
  for (const path of [HOME, SCHEDULE]) await keep(page, path)
  // What a filter shows is not kept as the schedule.
  await page.goto(`${SCHEDULE}?past=1`)
  await page.goto('/account')
  network.cut()
  for (const path of [HOME, SCHEDULE]) {
    await page.goto(path)
    assert.equal(new URL(page.url()).pathname, path)
    await page.getByText('You are offline. This page was saved').waitFor()
    assert.match(await page.locator('#offline time').textContent(), /\d\d:\d\d$/)
    assert.ok((await page.content()).includes('Ana'), 'it is her page')
    assert.equal(await page.locator('a[aria-current][href*="past=1"]').count(), 0, 'it is not filtered')
    assert.ok(await page.evaluate(() => document.styleSheets[0]?.cssRules.length > 0), 'the page has its styles')
  }
  await assertOfflinePage(page, `${SCHEDULE}?past=1`)
  await assertOfflinePage(page, '/account')
  network.restore()
  await page.goto(HOME)
  assert.ok(await page.locator('#offline').isHidden())
})

test('the logos of teams are kept until signing out', { timeout: TIMEOUT }, async (t) => {
  const own = await Service.start(['--demo'])
  t.after(() => own.stop())
  const { data: teams } = await own.api('GET', '/teams?limit=100')
  for (const { id } of teams) await addLogo(own, id)
  const { sign_ins: people, password } = own.startup.demo
  const { page } = await arrive(t, { email: people.find(({ who }) => who === 'coach').email, password }, own.url)
  await keep(page, HOME)
  const logo = page.locator('.tabs .crest img').first()
  const url = await logo.getAttribute('src')
  await until('the logo is kept', () => isKept(page, url))
  await own.stop()
  await page.goto(HOME)
  await page.getByText('You are offline. This page was saved').waitFor()
  await logo.evaluate((image) => { image.loading = 'eager' })
  await until('the logo is shown', () => logo.evaluate((image) => image.naturalWidth > 0))
  await signOut(page)
  await page.getByRole('heading', { level: 1, name: 'You are offline' }).waitFor()
  await until('the logo is deleted', async () => !(await isKept(page, url)))
})

test('a kept page is shown while the service does not answer', { timeout: TIMEOUT }, async (t) => {
  const own = await Service.start()
  t.after(() => own.signal('SIGCONT') && own.stop())
  const club = await own.club('Slow')
  const cleo = await own.user('member', 'cleo.offline@people.example', 'Cleo Offline', club.account)
  const { page } = await arrive(t, cleo, own.url)
  await keep(page, HOME)
  await own.pause()
  await page.goto(HOME)
  await page.getByText('You are offline. This page was saved').waitFor()
  own.signal('SIGCONT')
  await page.goto(HOME)
  assert.ok(await page.locator('#offline').isHidden())
})

test('nothing can be read offline after signing out', { timeout: TIMEOUT }, async (t) => {
  const { page, network } = await arrive(t, ana)
  await keep(page, SCHEDULE)
  await page.goto('/account')
  await signOut(page)
  await page.waitForURL((url) => url.pathname === '/sign-in')
  await ready(page)
  await until('the pages are deleted', async () => !(await isKept(page, SCHEDULE)))
  network.cut()
  for (const path of [HOME, SCHEDULE]) await assertOfflinePage(page, path)
})

test('signing out without a network deletes what was kept', { timeout: TIMEOUT }, async (t) => {
  const { page, network } = await arrive(t, ana)
  await keep(page, SCHEDULE)
  network.cut()
  await signOut(page)
  await page.getByRole('heading', { level: 1, name: 'You are offline' }).waitFor()
  await until('the pages are deleted', async () => !(await isKept(page, SCHEDULE)))
  await assertOfflinePage(page, SCHEDULE)
})

test('another user of the same browser sees nothing of the first', { timeout: TIMEOUT }, async (t) => {
  const { page, context, network } = await arrive(t, ana)
  await keep(page, SCHEDULE)
  // The session of the first user ends without signing out.
  await context.clearCookies()
  await page.goto('/sign-in')
  await until('the pages are deleted', async () => !(await isKept(page, SCHEDULE)))
  await signIn(page, ana)
  await keep(page, SCHEDULE)
  await context.clearCookies()
  const cookies = await sessionOf(t, ben)
  await context.addCookies(cookies)
  await page.goto('/account')
  await until('the pages are deleted', async () => !(await isKept(page, SCHEDULE)))
  network.cut()
  await assertOfflinePage(page, SCHEDULE)
})

test('a form that is sent offline keeps what was entered', { timeout: TIMEOUT }, async (t) => {
  const { page, context } = await arrive(t, ana)
  await page.goto('/account/notifications')
  await context.setOffline(true)
  await page.getByLabel('Announcements').selectOption('never')
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('nothing was sent').waitFor()
  assert.equal(await page.getByLabel('Announcements').inputValue(), 'never')
  await context.setOffline(false)
  await page.locator('#unsent').waitFor({ state: 'hidden' })
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('Your changes were saved.').waitFor()
})

/** Uploads a logo for a team. */
async function addLogo(service, team) {
  const body = new FormData()
  body.set('purpose', 'logo')
  body.set('file', new Blob([await readFile(LOGO)], { type: 'image/png' }), 'logo.png')
  const headers = { Authorization: `Bearer ${service.key}` }
  const response = await fetch(`${service.url}/api/public/v1/files`, { method: 'POST', headers, body })
  const { data: file } = await response.json()
  const { status } = await service.api('PATCH', `/teams/${team}`, { logo_file_id: file.id })
  assert.equal(status, 200)
}

/** The cookies of a user who signed in with another browser. */
async function sessionOf(t, user) {
  const { page, context, close } = await visitor(browser)
  t.after(close)
  await signIn(page, user)
  return context.cookies()
}

const signOut = (page) => page.evaluate(() => document.querySelector('form[action="/sign-out"]').requestSubmit())
