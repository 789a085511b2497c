// The life of a passkey, in a browser with a virtual authenticator.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { accessibilityIssues } from './accessibility.mjs'
import { launch, open, service } from './browser.mjs'
import { TIMEOUT } from './service.mjs'

const { TOUCHLINE_EMAIL: email, TOUCHLINE_PASSWORD: password } = process.env
const options = { width: 390, scheme: 'light' }
let browser

before(async () => { browser = await launch() })
after(() => browser?.close())

test('a passkey is added, signs in, and is removed', { timeout: TIMEOUT }, async (t) => {
  const visit = await open(browser, '/sign-in?next=%2Faccount%2Fpasskeys', options)
  t.after(visit.close)
  const { page, faults } = visit
  await withAuthenticator(page)
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.waitForURL((url) => url.pathname !== '/sign-in')

  await page.goto(address('/account/passkeys'))
  await page.getByText('No passkeys yet').waitFor()
  assert.deepEqual(await accessibilityIssues(page, { except: [] }), [])
  await page.getByLabel('Name', { exact: true }).fill('My <b>phone</b>')
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.getByText('The passkey was added').waitFor()
  await page.getByRole('rowheader', { name: 'My <b>phone</b>' }).waitFor()
  assert.deepEqual(await accessibilityIssues(page, { except: [] }), [])

  // The same device does not add a second passkey.
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.getByText('You already have a passkey on this device.').waitFor()

  await signOut(page)
  await usePasskey(page, '/account/passkeys')
  await page.waitForURL(address('/account/passkeys'))
  assert.equal(await page.getByText('Never').count(), 0)

  await page.getByRole('link', { name: /^Remove/ }).click()
  await page.getByText('What happens next').waitFor()
  assert.deepEqual(await accessibilityIssues(page, { except: [] }), [])
  await page.getByRole('button', { name: 'Remove passkey' }).click()
  await page.getByText('No passkeys yet').waitFor()
  assert.deepEqual(faults, [])

  await signOut(page)
  await usePasskey(page, '/account/passkeys')
  await page.getByText('This passkey does not work here').waitFor()
  const unexpected = faults.filter((fault) => !fault.includes('401'))
  assert.deepEqual(unexpected, [])
  await page.goto(address('/account/passkeys'))
  assert.equal(new URL(page.url()).pathname, '/sign-in')
})

test('without JavaScript the passkey button is not shown', { timeout: TIMEOUT }, async (t) => {
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

/** Adds a virtual authenticator that stores passkeys and verifies its user. */
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
