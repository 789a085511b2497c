// Card payments of orders and dues on the hosted page of a third-party fake of Stripe, in a real browser. It calls our
// webhook twice for each event, as if it had not received our response.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { launch, visitor } from './browser.mjs'
import { KEY, SECRET, startProvider } from './provider.mjs'
import { TIMEOUT, Service, until } from './service.mjs'

let browser
let service
let provider
let club

before(async () => {
  browser = await launch()
  provider = await startProvider(async (url) => {
    service = await Service.start([], {
      TOUCHLINE_STRIPE_SECRET_KEY: KEY,
      TOUCHLINE_STRIPE_WEBHOOK_SECRET: SECRET,
      TOUCHLINE_STRIPE_URL: url,
    })
    return [`${service.url}/stripe/webhook`, `${service.url}/stripe/webhook`]
  })
  club = await service.club('Harbour')
})

after(async () => {
  await browser?.close()
  await provider?.stop()
  await service?.stop()
})

test('an order is paid once on the hosted page', { timeout: TIMEOUT }, async (t) => {
  const order = await placeOrder()
  const checkout = await must('POST', `/orders/${order.id}/checkout`, {})
  assert.equal(new URL(checkout.url).origin, provider.url)
  const page = await visit(t, checkout.url)
  await page.getByText(`Order ${order.number}`).waitFor()
  await pay(page, '12.50')
  await until('the order is paid', async () => (await must('GET', `/orders/${order.id}`)).status === 'paid')
  assert.equal((await must('GET', `/checkouts/${checkout.id}`)).status, 'paid')
  const paid = await must('GET', `/orders/${order.id}`)
  assert.deepEqual([paid.paid, paid.currency, paid.version], [1250, 'EUR', 2])
  assert.equal(await countNotifications('order.paid', order.id), 1)
  const payments = await must('GET', `/orders/${order.id}/payments`)
  assert.deepEqual(payments.map(({ amount, method }) => [amount, method]), [[1250, 'card']])
  // The hosted page is closed, and the order accepts no second payment.
  await page.goto(checkout.url)
  await page.getByText('no longer available').waitFor()
  const again = await service.api('POST', `/orders/${order.id}/checkout`, {}, club.key)
  assert.deepEqual([again.status, again.code], [409, 'invalid_state'])
})

test('a due is paid in two parts on the hosted page', { timeout: TIMEOUT }, async (t) => {
  const due = await chargeDue()
  const checkout = await must('POST', `/dues/${due.id}/checkout`, { amount: 2000 })
  await pay(await visit(t, checkout.url), '20.00')
  await until('the due is paid in part', async () => (await must('GET', `/dues/${due.id}`)).status === 'partially_paid')
  const rest = await must('POST', `/dues/${due.id}/checkout`, {})
  assert.equal(rest.amount, 3000)
  await pay(await visit(t, rest.url), '30.00')
  await until('the due is paid', async () => (await must('GET', `/dues/${due.id}`)).status === 'paid')
  const payments = await must('GET', `/dues/${due.id}/payments`)
  assert.deepEqual(payments.map(({ amount, method, overpaid }) => [amount, method, overpaid]), [[2000, 'card', 0], [3000, 'card', 0]])
  assert.deepEqual([await countNotifications('dues.payment_recorded', due.id), await countNotifications('dues.paid', due.id)], [2, 1])
})

test('cancelling on the hosted page records no payment', { timeout: TIMEOUT }, async (t) => {
  const order = await placeOrder()
  const checkout = await must('POST', `/orders/${order.id}/checkout`, {})
  const page = await visit(t, checkout.url)
  await page.getByRole('link', { name: 'Cancel' }).click()
  await page.waitForURL(`${service.url}/checkout/back`)
  await page.getByRole('heading', { name: 'Not paid yet' }).waitFor()
  // Opening the success page does not count as a payment.
  await page.goto(`${service.url}/checkout/done`)
  assert.equal((await must('GET', `/orders/${order.id}`)).status, 'placed')
  const again = await must('POST', `/orders/${order.id}/checkout`, {})
  assert.deepEqual([again.id, again.url, again.status], [checkout.id, checkout.url, 'open'])
})

async function must(...request) {
  const response = await service.api(...request, ...(request.length < 3 ? [undefined] : []), club.key)
  if (response.status >= 300) throw new Error(`${request.slice(0, 2).join(' ')}: ${JSON.stringify(response)}`)
  return response.data
}

async function placeOrder() {
  const product = await must('POST', '/products', { name: 'Shirt', price: 1250, currency: 'EUR' })
  const lines = [{ product_id: product.id, quantity: 1 }]
  return must('POST', '/orders', { buyer: { name: 'Ana Costa' }, lines })
}

async function chargeDue() {
  const team = await must('POST', '/teams', { name: 'Under 12 Blue' })
  const player = { first_name: 'Ana', last_name: 'Costa', role: 'player' }
  const member = await must('POST', `/teams/${team.id}/roster`, player)
  const target = { team_id: team.id, member_id: member.id }
  const fee = { title: 'Season fee', category: 'dues', amount: 5000, currency: 'EUR', due_on: '2036-10-01' }
  const [due] = await must('POST', '/dues', { ...target, ...fee })
  return due
}

/** The number of notifications of a type about an object. */
async function countNotifications(kind, id) {
  const notifications = await must('GET', '/notifications?limit=100')
  return notifications.filter(({ type, data }) => type === kind && data.object.id === id).length
}

async function visit(t, url) {
  const { page, faults, close } = await visitor(browser, { home: service.url, also: [provider.url] })
  t.after(async () => {
    await close()
    assert.deepEqual(faults.filter((fault) => !/favicon/.test(fault)), [])
  })
  await page.goto(url)
  return page
}

/** Pays on the hosted page and waits for the return to our page. */
async function pay(page, amount) {
  await page.getByRole('button', { name: `Pay $${amount}` }).click()
  await page.waitForURL(`${service.url}/checkout/done`)
  await page.getByRole('heading', { name: 'Thank you' }).waitFor()
}
