// A third-party fake of Stripe: the package `emulate`, with its hosted payment page and its signed webhooks. A small
// bridge between our service and it adds what it lacks:
//
// - Checkout with inline prices (`price_data`): the bridge creates a product and a price first, and uses those.
// - `currency` and `amount_total` of a session, which Stripe always returns: the bridge adds those of the price, read
//   from emulate and not from our request.
// - `payment_intent` of a paid session: emulate creates none, so the bridge makes one up.
//
// The bridge passes everything else through. Emulate calls our webhook directly, signed like Stripe does. Neither
// implements refunds or idempotency keys: the Rust tests cover those (`tests/it/cards*.rs`).

import { createServer } from 'node:http'

import { createEmulator } from 'emulate'

export const KEY = 'sk_test_harbour'
export const SECRET = 'whsec_harbour'
const SESSIONS = '/v1/checkout/sessions'

/** Starts the bridge and the provider. `listen` gets the URL of the bridge and returns the webhook URLs to call. */
export async function startProvider(listen) {
  const prices = new Map()
  let provider
  const bridge = createServer(async (request, response) => {
    const answer = await forward(provider, prices, request).catch((error) => ({ status: 502, body: { error: { message: error.message } } }))
    response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer.body))
  })
  await new Promise((done) => bridge.listen(0, '127.0.0.1', done))
  const urls = await listen(`http://127.0.0.1:${bridge.address().port}`)
  const webhooks = urls.map((url) => ({ url, events: ['*'], secret: SECRET }))
  provider = await createEmulator({ service: 'stripe', port: 0, seed: { stripe: { webhooks } } })
  const stop = async () => {
    bridge.closeAllConnections()
    await Promise.all([new Promise((done) => bridge.close(done)), provider.close()])
  }
  return { url: provider.url, stop }
}

async function forward(provider, prices, request) {
  const form = new URLSearchParams(await new Response(request).text())
  if (request.headers.authorization !== `Bearer ${KEY}`) return { status: 401, body: { error: { message: 'Invalid API Key' } } }
  const send = async (method, path, fields) => {
    const headers = { Authorization: request.headers.authorization }
    const response = await fetch(provider.url + path, { method, headers, body: fields && new URLSearchParams(fields) })
    return { status: response.status, body: await response.json() }
  }
  const isNew = request.method === 'POST' && request.url === SESSIONS
  const price = isNew && (await createPrice(send, form))
  const answer = await send(request.method, request.url, request.method === 'POST' ? form : undefined)
  if (answer.body.object !== 'checkout.session') return answer
  if (price) prices.set(answer.body.id, price)
  return { ...answer, body: await completeSession(send, prices, answer.body) }
}

/** Replaces an inline price by a price that it creates at the provider. Returns its id. */
async function createPrice(send, form) {
  const take = (name) => {
    const field = `line_items[0][price_data]${name}`
    const value = form.get(field)
    form.delete(field)
    return value
  }
  const product = await send('POST', '/v1/products', { name: take('[product_data][name]') })
  const price = { product: product.body.id, currency: take('[currency]'), unit_amount: take('[unit_amount]') }
  const { id } = (await send('POST', '/v1/prices', price)).body
  form.set('line_items[0][price]', id)
  return id
}

/** A session with the fields that Stripe returns. */
async function completeSession(send, prices, session) {
  const { body: price } = await send('GET', `/v1/prices/${prices.get(session.id)}`)
  const intent = session.payment_status === 'paid' ? session.id.replace('cs_', 'pi_') : null
  return { ...session, currency: price.currency, amount_total: price.unit_amount, payment_intent: intent }
}
