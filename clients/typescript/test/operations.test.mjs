// Every operation of the API, called at least once through the client with real data.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { NotFoundError, Touchline } from '../dist/index.js'
import { launch } from '../../../tests/web/browser.mjs'
import { KEY, SECRET, startProvider } from '../../../tests/web/provider.mjs'
import { Service, spawnLineProgram, TIMEOUT, until } from '../../../tests/web/service.mjs'
import { connect, operations, serve } from './support.mjs'

/** A PNG image with one pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
)
const DAY = 86_400_000
const timeout = TIMEOUT

let service
let mail
let provider
let browser
let touchline
let team
let player
let coach
const called = new Set()

before(async () => {
  mail = spawnLineProgram(process.env.TOUCHLINE_PYTHON, ['server.py', 'accept'], new URL('../../../tests/mail/', import.meta.url))
  const { port } = await mail.receive()
  provider = await startProvider(async (url) => {
    service = await Service.start([], {
      TOUCHLINE_SMTP_URL: `smtp://127.0.0.1:${port}`,
      TOUCHLINE_STRIPE_SECRET_KEY: KEY,
      TOUCHLINE_STRIPE_WEBHOOK_SECRET: SECRET,
      TOUCHLINE_STRIPE_URL: url,
      TOUCHLINE_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
    })
    return [`${service.url}/stripe/webhook`]
  })
  const club = await service.club('Harbour')
  service.startup = { demo: { account: { id: club.account }, key: { value: club.key } } }
  touchline = new Touchline({ baseUrl: service.url, apiKey: club.key, fetch: await recordingFetch() })
  team = await touchline.teams.create({ name: 'Harbour Hawks U12', sport: 'soccer', timezone: 'Europe/Lisbon' })
  const members = await touchline.roster.addBatch({
    members: [
      { team_id: team.id, first_name: 'Inês', last_name: 'Duarte', email: 'ines@people.example', birth_date: '1999-02-27' },
      { team_id: team.id, first_name: 'Tomás', role: 'coach' },
    ],
  })
  ;[player, coach] = members
})

after(async () => {
  await browser?.close()
  await provider?.stop()
  await service?.stop()
  mail?.stop()
})

test('teams', { timeout }, async () => {
  assert.equal(team.object, 'team')
  const updated = await touchline.teams.update(team.id, { season: '2026/27', color: null })
  assert.deepEqual([updated.season, updated.color], ['2026/27', null])
  const other = await touchline.teams.create({ name: 'Harbour Herons' })
  assert.deepEqual((await touchline.teams.list().all()).map(({ name }) => name), [team.name, other.name])
  assert.equal((await touchline.teams.archive(other.id)).status, 'archived')
  assert.equal((await touchline.teams.restore(other.id)).status, 'active')
  assert.equal((await touchline.teams.get(other.id)).name, 'Harbour Herons')
  await assert.rejects(touchline.teams.get('team_01kbm2x5q8f7vr0n3hd9tzc4wy'), NotFoundError)
})

test('the roster', { timeout }, async () => {
  const added = await touchline.roster.add(team.id, { first_name: 'Nuno', guardians: [{ first_name: 'Rita', email: 'rita@people.example' }] })
  assert.equal(added.guardians[0].first_name, 'Rita')
  assert.equal((await touchline.roster.update(team.id, added.id, { jersey_number: '7' })).jersey_number, '7')
  assert.equal((await touchline.roster.get(team.id, added.id)).jersey_number, '7')
  const names = (await touchline.roster.list(team.id, { role: 'player' }).all()).map(({ first_name }) => first_name)
  assert.deepEqual(names, ['Inês', 'Nuno'])
  assert.equal((await touchline.roster.remove(team.id, added.id)).status, 'removed')
})

test('people', { timeout }, async () => {
  const { people } = touchline
  const [one, two, three] = await touchline.roster.addBatch({
    members: ['Ada', 'Bea', 'Cleo'].map((first_name) => ({ team_id: team.id, first_name })),
  })
  assert.equal((await people.update(one.person_id, { preferred_name: 'Addie', email: 'ada@people.example' })).preferred_name, 'Addie')
  assert.equal((await people.get(one.person_id)).first_name, 'Ada')
  assert.ok((await people.list({ q: 'Ada' }).all()).length >= 1)
  assert.equal((await people.markMinor(one.person_id)).is_minor, true)
  assert.ok((await people.confirmAdult(one.person_id)).adult_confirmed_at)
  await people.requestEmailConfirmation(one.person_id)
  assert.equal((await people.export(one.person_id)).person_id, one.person_id)
  assert.equal((await people.merge(two.person_id, { into_person_id: one.person_id })).id, one.person_id)
  assert.ok((await people.erase(three.person_id)).erased_at)
  const away = await touchline.awayDates.create(one.person_id, { starts_on: '2027-08-01', ends_on: '2027-08-14' })
  assert.deepEqual(await touchline.awayDates.list(one.person_id).all(), [away])
  await touchline.awayDates.delete(one.person_id, away.id)
})

test('events', { timeout }, async () => {
  const { events, locations, rsvps, duties, results, attendance, calendarFeeds } = touchline
  const pitch = await locations.create({ name: 'Lower pitch' })
  assert.equal((await locations.update(pitch.id, { notes: 'Gate code at the desk' })).notes, 'Gate code at the desk')
  assert.deepEqual((await locations.list().all()).map(({ id }) => id), [pitch.id])
  const game = await events.create({
    team_id: team.id,
    type: 'game',
    starts_at: new Date(Date.now() - DAY / 24).toISOString(),
    ends_at: new Date(Date.now() + DAY / 24).toISOString(),
    location_id: pitch.id,
    opponent: 'Breakwater',
    duties: [{ name: 'Referee' }],
  })
  assert.equal((await events.get(game.id)).location.name, 'Lower pitch')
  assert.equal((await events.list({ team_id: [team.id], type: ['game'] }).page()).data[0].id, game.id)
  assert.equal((await events.update(game.id, { uniform: 'blue' })).uniform, 'blue')
  const answer = await rsvps.answer(game.id, player.id, { answer: 'yes', note: 'Ten minutes late' })
  assert.equal(answer.answer, 'yes')
  assert.equal((await rsvps.get(game.id, player.id)).note, 'Ten minutes late')
  assert.equal((await rsvps.list(game.id).all()).length, 1)
  assert.equal((await rsvps.listHistory(game.id, player.id).all()).length, 1)
  assert.ok((await rsvps.listUnanswered(game.id).all()).length >= 1)
  const [duty] = game.duties
  await duties.assign(game.id, duty.id, coach.person_id)
  await duties.unassign(game.id, duty.id, coach.person_id)
  const scored = await results.record(game.id, { score_for: 3, score_against: 2 })
  assert.equal(scored.result.outcome, 'win')
  assert.equal((await results.delete(game.id)).result, null)
  await attendance.record(game.id, { entries: [{ member_id: player.id, status: 'present' }] })
  assert.equal((await attendance.get(game.id)).entries.find(({ member_id }) => member_id === player.id).status, 'present')
  assert.ok((await attendance.listForTeam(team.id).all()).length >= 1)
  const feed = await calendarFeeds.create({ team_id: team.id })
  assert.match(feed.url, /^http/)
  assert.equal((await calendarFeeds.get(feed.id)).id, feed.id)
  assert.equal((await calendarFeeds.list().all()).length, 1)
  await calendarFeeds.revoke(feed.id)
  const [training] = await trainings()
  assert.equal((await events.postpone(training.id)).status, 'postponed')
  assert.equal((await events.cancel(training.id, { reason: 'Pitch under water' })).cancel_reason, 'Pitch under water')
  const spare = await events.create({ team_id: team.id, type: 'meeting', starts_at: new Date(Date.now() + DAY).toISOString() })
  await events.delete(spare.id, { apply_to: 'this' })
  assert.equal((await locations.get(pitch.id)).status, 'active')
  assert.equal((await locations.archive(pitch.id)).status, 'archived')
})

/** Three trainings in a row. */
async function trainings() {
  const starts_at = new Date(Date.now() + 7 * DAY).toISOString()
  const first = await touchline.events.create({ team_id: team.id, type: 'practice', starts_at, recurrence: 'FREQ=DAILY;COUNT=3' })
  return touchline.events.list({ series_id: first.series_id }).all()
}

test('messages, templates, emails and files', { timeout }, async () => {
  const { messages, messageTemplates, files, emails } = touchline
  const file = await files.create({ file: new Blob([PNG], { type: 'image/png' }), purpose: 'attachment' })
  assert.equal((await files.get(file.id)).content_type, 'image/png')
  const content = await files.download(file.id)
  assert.equal(content.headers.get('content-type'), 'image/png')
  assert.ok((await content.arrayBuffer()).byteLength > 0)
  // A team without children: a message to a child needs a second adult.
  const seniors = await touchline.teams.create({ name: 'Harbour Seniors' })
  await touchline.roster.add(seniors.id, { person_id: player.person_id })
  const body = { team_id: seniors.id, kind: 'announcement', subject: 'Saturday', body: 'Bring **water**.', audience: { to: 'all' } }
  assert.ok((await messages.preview(body)).recipients >= 1)
  const message = await messages.create({ ...body, attachment_ids: [file.id] })
  assert.equal((await messages.get(message.id)).attachments.length, 1)
  assert.equal((await messages.update(message.id, { pinned: true })).pinned, true)
  assert.equal((await messages.list({ kind: 'announcement' }).all()).length, 1)
  await messages.markRead(message.id, player.person_id)
  assert.ok((await messages.listReceipts(message.id).all()).some(({ read_at }) => read_at))
  assert.equal((await messages.countUnread({ person_id: player.person_id })).total, 0)
  const sent = await until('an email waits', async () => (await emails.list().page()).data[0])
  assert.equal((await emails.get(sent.id)).id, sent.id)
  assert.equal((await messages.retract(message.id)).status, 'retracted')
  const template = await messageTemplates.create({ name: 'Match day', subject: 'Match', body: 'Meet at the pitch.' })
  assert.equal((await messageTemplates.update(template.id, { subject: 'Game' })).subject, 'Game')
  assert.equal((await messageTemplates.get(template.id)).name, 'Match day')
  assert.equal((await messageTemplates.list().all()).length, 1)
  await messageTemplates.delete(template.id)
})

test('the store', { timeout }, async () => {
  const { products, discounts, orders, paymentSettings, payments, refunds, checkouts } = touchline
  assert.equal((await paymentSettings.update({ currency: 'EUR' })).currency, 'EUR')
  assert.equal((await paymentSettings.get()).currency, 'EUR')
  const kit = await products.create({ team_id: team.id, name: 'Home kit', price: 2499, currency: 'EUR', variants: [{ name: 'S', stock: 10 }] })
  assert.equal((await products.update(kit.id, { price: 1999 })).price, 1999)
  assert.equal((await products.get(kit.id)).variants[0].stock, 10)
  assert.equal((await products.list().all()).length, 1)
  const code = await discounts.create({ code: 'SIBLING10', percent_bps: 1000 })
  assert.equal((await discounts.update(code.id, { max_uses: 100 })).max_uses, 100)
  assert.equal((await discounts.get(code.id)).code, 'SIBLING10')
  assert.equal((await discounts.list().all()).length, 1)
  const place = (discount_code) => {
    const lines = [{ product_id: kit.id, variant_id: kit.variants[0].id, quantity: 2 }]
    const buyer = { name: 'Rui Duarte', email: 'rui@people.example' }
    return orders.create({ team_id: team.id, buyer, lines, ...(discount_code && { discount_code }) })
  }
  const order = await place('SIBLING10')
  assert.equal(order.total, 3598)
  assert.equal((await orders.update(order.id, { note: 'Ring twice' })).note, 'Ring twice')
  assert.equal((await orders.pay(order.id, { method: 'cash' })).status, 'paid')
  const [line] = (await orders.get(order.id)).lines
  await orders.fulfill(order.id, { lines: [{ line_id: line.id, quantity: 1 }] })
  const refunded = await orders.refund(order.id, { lines: [{ line_id: line.id, quantity: 1 }], reason: 'Too small', restock: true })
  assert.ok(refunded.refund.amount > 0)
  assert.equal((await orders.payments.list(order.id).all()).length, 1)
  assert.equal((await orders.refunds.list(order.id).all()).length, 1)
  assert.equal((await payments.list().all()).length, 1)
  assert.equal((await refunds.list().all()).length, 1)
  const card = await place()
  const checkout = await orders.checkout(card.id)
  assert.equal((await checkouts.get(checkout.id)).status, 'open')
  assert.equal((await orders.eraseBuyer(order.id)).buyer.email, null)
  const cancelled = await place()
  assert.equal((await orders.cancel(cancelled.id, { reason: 'Ordered twice' })).status, 'cancelled')
  assert.equal((await orders.list().all()).length, 3)
  assert.equal((await discounts.archive(code.id)).status, 'archived')
  assert.equal((await products.archive(kit.id)).status, 'archived')
})

test('dues', { timeout }, async () => {
  const { dues } = touchline
  const due_on = new Date(Date.now() + 30 * DAY).toISOString().slice(0, 10)
  const charge = (title, fields = {}) => dues.charge({ team_id: team.id, member_ids: [player.id], amount: 15000, due_on, title, ...fields })
  const [due] = await charge('Season fee')
  assert.equal((await dues.update(due.id, { note: 'Please pay by bank transfer' })).note, 'Please pay by bank transfer')
  assert.equal((await dues.get(due.id)).amount, 15000)
  const paid = await dues.payments.create(due.id, { amount: 5000, method: 'bank_transfer' })
  const [payment] = await dues.payments.list(due.id).all()
  assert.ok(paid)
  assert.equal((await dues.payments.get(due.id, payment.id)).amount, 5000)
  await dues.payments.refund(due.id, payment.id, { amount: 1000, reason: 'Paid twice' })
  assert.match((await dues.checkout(due.id, { amount: 2500 })).url, /^http/)
  await dues.remind(due.id)
  await dues.remindTeam({ team_id: team.id })
  const [waived] = await charge('Tournament fee')
  assert.equal((await dues.waive(waived.id, { reason: 'Moved away' })).status, 'waived')
  assert.equal((await dues.list({ team_id: [team.id] }).all()).length, 2)
  assert.equal((await dues.statement(player.person_id)).object, 'statement')
  assert.equal((await dues.teamStatement(team.id)).team_id, team.id)
})

test('exports are responses with CSV', { timeout }, async () => {
  for (const name of ['attendance', 'dues', 'events', 'ledger', 'orders', 'roster', 'rsvps']) {
    const response = await touchline.exports[name]()
    assert.match(response.headers.get('content-type'), /^text\/csv/)
    assert.match(await response.text(), /^\w+,/)
  }
})

test('webhooks and notifications', { timeout }, async (t) => {
  const { webhooks, deliveries, eventTypes, notifications } = touchline
  const received = []
  const url = await serve(t, async (request, response) => {
    received.push(JSON.parse(await new Response(request).text()))
    response.writeHead(204).end()
  })
  assert.ok((await eventTypes.list().all()).some(({ name }) => name === 'team.created'))
  const webhook = await webhooks.create({ url: `${url}/hook`, events: ['team.*'] })
  assert.match(webhook.secret, /^whsec_/)
  await webhooks.test(webhook.id)
  await until('the test arrives', () => received.some(({ type }) => type === 'ping'))
  assert.equal((await webhooks.update(webhook.id, { description: 'Our website' })).description, 'Our website')
  assert.equal((await webhooks.get(webhook.id)).status, 'enabled')
  assert.equal((await webhooks.list().all()).length, 1)
  const [delivery] = await until('the delivery is listed', async () => {
    const all = await deliveries.list(webhook.id).all()
    return all.length > 0 && all
  })
  assert.equal((await deliveries.get(delivery.id)).id, delivery.id)
  await deliveries.redeliver(delivery.id)
  assert.match((await webhooks.rotateSecret(webhook.id)).secret, /^whsec_/)
  await webhooks.replay(webhook.id, { from_sequence: 1, to_sequence: 5 })
  assert.equal((await webhooks.disable(webhook.id)).status, 'disabled')
  assert.equal((await webhooks.enable(webhook.id)).status, 'enabled')
  await webhooks.delete(webhook.id)
  const page = await notifications.list({ type: ['team.created'] }).page()
  assert.equal(page.data[0].data.object.name, team.name)
  assert.ok(page.body.next_sequence >= page.data.at(-1).sequence)
  for await (const notification of notifications.follow({ after: 0 })) {
    assert.equal(notification.sequence, 1)
    break
  }
})

test('the caller, and the settings of a user', { timeout }, async (t) => {
  const me = await touchline.me.get()
  assert.equal(me.account.name, 'Harbour')
  browser = await launch()
  const user = await service.user('owner', 'olga@people.example', 'Olga Owner')
  const { app, store } = await connect(t, browser, service, user, ['messages:read', 'messages:write'])
  const settings = { baseUrl: service.url, auth: app.session(store), fetch: await recordingFetch() }
  const { notificationSettings } = new Touchline(settings)
  const current = await notificationSettings.get()
  const announcements = current.announcements === 'daily' ? 'at_once' : 'daily'
  assert.equal((await notificationSettings.update({ announcements })).announcements, announcements)
})

test('every operation was called, and has a method', async () => {
  const all = await operations()
  for (const { id, names } of all) {
    const method = names.reduce((object, name) => object?.[name], touchline)
    assert.equal(typeof method, 'function', `${id} has no method`)
  }
  const missing = all.filter(({ method, path }) => !called.has(`${method} ${path}`))
  assert.deepEqual(missing.map(({ id }) => id), [])
})

/** The global `fetch`, which records the operations that succeeded. */
async function recordingFetch() {
  const patterns = (await operations()).map(({ method, path }) => {
    const pattern = path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')
    return { method, path, pattern: new RegExp(`^/api/public/v1${pattern}$`), parameters: path.split('{').length }
  })
  // `/notifications/stream` before `/notifications/{id}`.
  patterns.sort((one, other) => one.parameters - other.parameters)
  return async (url, init) => {
    const response = await fetch(url, init)
    const { pathname } = new URL(url)
    const found = patterns.find(({ method, pattern }) => method === init.method && pattern.test(pathname))
    if (response.ok && found) called.add(`${found.method} ${found.path}`)
    return response
  }
}
