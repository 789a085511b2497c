// A card provider that nobody here wrote: the Stripe of the package `emulate`, with its hosted page and its signed
// calls. Between our service and it stands a small bridge for what it does not know of Stripe's own language:
//
// - Checkout of an item that is described on the spot (`price_data`): the bridge makes a product and a price first,
//   and asks for those.
// - `currency` and `amount_total` of a session, which Stripe always shows: the bridge adds those of the price, looked
//   up there and not remembered from our request.
// - `payment_intent` of a session that was paid: emulate makes none, so the bridge names one.
//
// Everything else goes through as it is. Emulate calls our webhook by itself, signed as Stripe signs; the bridge has
// no part in that. Neither knows refunds or idempotency keys: those are told in Rust (`tests/it/cards*.rs`).

import { createServer } from 'node:http'

import { createEmulator } from 'emulate'

export const KEY = 'sk_test_harbour'
export const SECRET = 'whsec_harbour'
const SESSIONS = '/v1/checkout/sessions'

/** Starts bridge and provider; `listen` is told where the bridge is and says which addresses are to be called. */
export async function startProvider(listen) {
  const prices = new Map()
  let provider
  const bridge = createServer(async (request, response) => {
    const answer = await pass(provider, prices, request).catch((error) => ({ status: 502, body: { error: { message: error.message } } }))
    response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer.body))
  })
  await new Promise((done) => bridge.listen(0, '127.0.0.1', done))
  const calls = await listen(`http://127.0.0.1:${bridge.address().port}`)
  const webhooks = calls.map((url) => ({ url, events: ['*'], secret: SECRET }))
  provider = await createEmulator({ service: 'stripe', port: 0, seed: { stripe: { webhooks } } })
  const stop = async () => {
    bridge.closeAllConnections()
    await Promise.all([new Promise((done) => bridge.close(done)), provider.close()])
  }
  return { url: provider.url, stop }
}

async function pass(provider, prices, request) {
  const form = new URLSearchParams(await new Response(request).text())
  if (request.headers.authorization !== `Bearer ${KEY}`) return { status: 401, body: { error: { message: 'Invalid API Key' } } }
  const ask = async (method, path, sent) => {
    const headers = { Authorization: request.headers.authorization }
    const answer = await fetch(provider.url + path, { method, headers, body: sent && new URLSearchParams(sent) })
    return { status: answer.status, body: await answer.json() }
  }
  const isNew = request.method === 'POST' && request.url === SESSIONS
  const price = isNew && (await priced(ask, form))
  const answer = await ask(request.method, request.url, request.method === 'POST' ? form : undefined)
  if (answer.body.object !== 'checkout.session') return answer
  if (price) prices.set(answer.body.id, price)
  return { ...answer, body: await whole(ask, prices, answer.body) }
}

/** Puts a price of the provider's in the place of one that is described; answers with its id. */
async function priced(ask, form) {
  const take = (name) => {
    const full = `line_items[0][price_data]${name}`
    const value = form.get(full)
    form.delete(full)
    return value
  }
  const product = await ask('POST', '/v1/products', { name: take('[product_data][name]') })
  const price = { product: product.body.id, currency: take('[currency]'), unit_amount: take('[unit_amount]') }
  const { id } = (await ask('POST', '/v1/prices', price)).body
  form.set('line_items[0][price]', id)
  return id
}

/** A session with what Stripe shows of one. */
async function whole(ask, prices, session) {
  const { body: price } = await ask('GET', `/v1/prices/${prices.get(session.id)}`)
  const intent = session.payment_status === 'paid' ? session.id.replace('cs_', 'pi_') : null
  return { ...session, currency: price.currency, amount_total: price.unit_amount, payment_intent: intent }
}
