// A passkey from its making to its end, in a browser with an authenticator of its own.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { barriers, launch, open, service } from './browser.mjs'
import { PATIENCE } from './service.mjs'

const { TOUCHLINE_EMAIL: email, TOUCHLINE_PASSWORD: password } = process.env
const look = { width: 390, scheme: 'light' }
let browser

before(async () => { browser = await launch() })
after(() => browser?.close())

test('a passkey is made, signs in, and is removed', { timeout: PATIENCE }, async (t) => {
  const visit = await open(browser, '/sign-in?next=%2Faccount%2Fpasskeys', look)
  t.after(visit.close)
  const { page, faults } = visit
  await withAuthenticator(page)
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.waitForURL((url) => url.pathname !== '/sign-in')

  await page.goto(address('/account/passkeys'))
  await page.getByText('No passkeys yet').waitFor()
  assert.deepEqual(await barriers(page, { except: [] }), [])
  await page.getByLabel('Its name').fill('My <b>phone</b>')
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.getByText('The passkey was added').waitFor()
  await page.getByRole('rowheader', { name: 'My <b>phone</b>' }).waitFor()
  assert.deepEqual(await barriers(page, { except: [] }), [])

  // The same device is not asked to keep a second one.
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.getByText('This device has a passkey of yours already.').waitFor()

  await signOut(page)
  await usePasskey(page, '/account/passkeys')
  await page.waitForURL(address('/account/passkeys'))
  assert.equal(await page.getByText('Never').count(), 0)

  await page.getByRole('link', { name: /^Remove/ }).click()
  await page.getByText('This will happen').waitFor()
  assert.deepEqual(await barriers(page, { except: [] }), [])
  await page.getByRole('button', { name: 'Remove the passkey' }).click()
  await page.getByText('No passkeys yet').waitFor()
  assert.deepEqual(faults, [])

  await signOut(page)
  await usePasskey(page, '/account/passkeys')
  await page.getByText('This passkey does not work here').waitFor()
  const refusal = faults.filter((fault) => !fault.includes('401'))
  assert.deepEqual(refusal, [])
  await page.goto(address('/account/passkeys'))
  assert.equal(new URL(page.url()).pathname, '/sign-in')
})

test('without a script nothing offers what cannot work', { timeout: PATIENCE }, async (t) => {
  const context = await browser.newContext({ javaScriptEnabled: false })
  t.after(() => context.close())
  const page = await context.newPage()
  await page.goto(address('/sign-in'))
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Use a passkey' }).count(), 0)
})

function address(path) {
  return new URL(path, service).href
}

/** Gives the page a device that keeps passkeys and makes sure who holds it. */
async function withAuthenticator(page) {
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
}

async function signOut(page) {
  await page.locator('header.top details.menu > summary').click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.waitForURL((url) => url.pathname === '/sign-in')
}

async function usePasskey(page, next) {
  await page.goto(address(`/sign-in?next=${encodeURIComponent(next)}`))
  await page.getByRole('button', { name: 'Use a passkey' }).click()
}
