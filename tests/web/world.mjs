// A club with everything that the pages show, with names that the test chooses.

import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'

import { follow, signIn, visitor } from './browser.mjs'
import { PASSWORD, PKCE } from './service.mjs'

/** Shorter than the ten minutes after which pages with secrets ask for the password again. */
const CONFIRMED_FOR = 3 * 60_000

/** Ordinary names. */
export const PLAIN = {
  owner: 'Olga Owner',
  parent: 'Pia Parent',
  team: 'Under 12 Blue',
  person: 'Ana Costa',
  key: 'Website',
  app: 'Scores on your phone',
  passkey: 'My phone',
  note: 'Ana’s father, 0170 1234567',
  agent: undefined,
}

/** A club, its users and its data, created over the pages and the API. */
export class World {
  constructor(service, browser, names, club) {
    Object.assign(this, { service, browser, names, ...club })
    this.tag = Math.random().toString(36).slice(2, 8)
    this.visits = []
  }

  static async build(service, browser, names = PLAIN, club = { account: service.account, key: service.key }) {
    const world = new World(service, browser, names, club)
    const { account } = world
    await world.listen()
    world.ownerUser = await service.user('owner', world.mail('owner'), names.owner, account)
    world.parentUser = await service.user('member', world.mail('parent'), names.parent, account)
    world.familyUser = await service.user('member', world.mail('family'), names.parent, account)
    world.twoStepUser = await service.user('admin', world.mail('two-step'), names.owner, account)
    world.oauthApp = await service.app('server', `${world.appUrl}/back`, { name: names.app, account })
    const users = [world.ownerUser, world.parentUser, world.familyUser]
    const visits = [...users.map((user) => world.enter(user)), world.guest(), world.guest()]
    const [owner, parent, family, nobody, twoStep] = await Promise.all(visits)
    Object.assign(world, { owner, parent, family, nobody, twoStep })
    await world.fill()
    return world
  }

  /** Starts the server of the OAuth app's redirect URI. */
  async listen() {
    // It is also a webhook receiver, which answers with 200 unless the path has another status.
    this.server = createServer((request, response) => {
      const status = Number(/\/answers\/(\d+)/.exec(request.url)?.[1] ?? 200)
      response.writeHead(status, { 'Content-Type': 'text/plain' }).end(request.method === 'POST' ? this.names.note : 'Done')
    })
    await new Promise((done) => this.server.listen(0, '127.0.0.1', done))
    this.server.unref()
    this.appUrl = `http://127.0.0.1:${this.server.address().port}`
  }

  mail(name) {
    return `${name}.${this.tag}@people.example`
  }

  async guest(options = {}) {
    const visit = await visitor(this.browser, {
      home: this.service.url,
      width: 390,
      also: [this.appUrl],
      userAgent: this.names.agent,
      ...options,
    })
    this.visits.push(visit)
    return visit
  }

  async enter(user) {
    const visit = await this.guest()
    await signIn(visit.page, user)
    return Object.assign(visit, { user, confirmedAt: Date.now() })
  }

  /** The browser of a user. It confirms the password first if the last time was too long ago. */
  async as(who) {
    const visit = this[who]
    if (visit.user && Date.now() - visit.confirmedAt > CONFIRMED_FOR) {
      const { page, user } = visit
      await page.goto('/confirm?next=/account')
      await page.getByLabel('Password', { exact: true }).fill(user.password)
      await follow(page.getByRole('button', { name: 'Continue', exact: true }))
      visit.confirmedAt = Date.now()
    }
    return visit
  }

  /** Creates a team with a member, a key, invitation links and an open request to join. */
  async fill() {
    const { service, names, key } = this
    const must = async (...request) => {
      const response = await service.api(...request, key)
      if (response.status >= 300) throw new Error(`${request.slice(0, 2).join(' ')}: ${JSON.stringify(response)}`)
      return response.data
    }
    const team = await must('POST', '/teams', { name: names.team })
    const [first, ...last] = names.person.split(' ')
    const player = { first_name: first, last_name: last.join(' ') || null, role: 'player' }
    this.member = await must('POST', `/teams/${team.id}/roster`, player)
    this.team = team
    this.location = await must('POST', '/locations', { name: names.team, address: names.note })
    const planned = { team_id: team.id, type: 'game', opponent: names.person, location_id: this.location.id }
    this.planned = await must('POST', '/events', { ...planned, starts_at: '2199-05-04T18:00', recurrence: 'FREQ=WEEKLY;COUNT=3' })
    const inHours = (hours) => new Date(Date.now() + hours * 3_600_000).toISOString()
    const practice = (starts_at) => must('POST', '/events', { team_id: team.id, type: 'practice', title: names.note, starts_at })
    this.practice = await practice(inHours(1))
    this.later = await practice(inHours(100))
    const game = { team_id: team.id, type: 'game', opponent: names.person, home_away: 'away' }
    this.game = await must('POST', '/events', { ...game, starts_at: inHours(2) })
    this.played = await must('POST', '/events', { ...game, starts_at: inHours(3) })
    const periods = [{ for: 1, against: 0 }, { for: 1, against: 2 }]
    const score = { score_for: 2, score_against: 2, periods, overtime: true, shootout: { for: 4, against: 3 } }
    await must('PUT', `/events/${this.played.id}/result`, score)
    const { page } = this.owner
    this.apiKey = await makeKey(page, names.key)
    await page.goto('/admin/members/invite')
    await page.getByLabel('Email', { exact: true }).fill(this.mail('invited'))
    await page.getByRole('button', { name: 'Create invitation' }).click()
    this.invitation = path(await page.locator('#link').textContent())
    await page.goto('/admin/members/invite')
    await page.getByLabel('Team', { exact: true }).selectOption(team.id)
    await page.getByRole('button', { name: 'Create team link' }).click()
    this.teamLink = path(await page.locator('#link').textContent())
    await this.join()
    await this.plan(must)
    await this.write(must)
    await this.charge(must)
    await this.ask(this.parent)
    await this.sell(must)
    await this.subscribe()
  }

  /** Posts an announcement, a conversation and a scheduled message, and adds a template. */
  async write(must) {
    const { names, team } = this
    const text = { team_id: team.id, body: `Bring **water**.\n\n- ${names.note}\n- ${names.person}` }
    const post = (more) => must('POST', '/messages', { ...text, ...more })
    this.announcement = await post({ kind: 'announcement', subject: names.note, pinned: true })
    this.conversation = await post({ kind: 'message' })
    this.scheduled = await post({ kind: 'announcement', subject: names.team, publish_at: new Date(Date.now() + 86_400_000).toISOString() })
    this.template = await must('POST', '/message_templates', { name: `${names.note} ${this.tag}`.slice(0, 120), subject: names.team, body: names.note })
  }

  /** Creates products of the team and the club, a discount code, and orders in different states. */
  async sell(must) {
    const { names, team, member } = this
    const variants = [{ name: '140', stock: 12 }, { name: '152', stock: 0 }, { name: [...names.person].slice(0, 40).join('').trim(), price: 3999 }]
    this.product = await must('POST', '/products', {
      name: `Home kit ${names.team}`, description: names.note, team_id: team.id, price: 3499, tax_rate_bps: 2300, variants,
      pickup_date: '2026-12-24', on_sale_until: '2099-12-31T20:00:00Z', max_per_order: 3,
    })
    const scarf = await must('POST', '/products', { name: 'Scarf', price: 1250, tax_rate_bps: 750, tax_included: false })
    await must('POST', '/products', { name: 'Whistle', team_id: team.id, price: 500, available_to: 'staff' })
    this.code = await must('POST', '/discounts', { code: `TENTH${this.tag}`, percent_bps: 1000, max_uses: 50, min_subtotal: 1000, currency: 'EUR' })
    const kit = { product_id: this.product.id, variant_id: this.product.variants[0].id, quantity: 2 }
    const lines = [kit, { product_id: scarf.id, quantity: 1 }]
    const buy = (more) => must('POST', '/orders', { team_id: team.id, buyer: { member_id: member.id }, lines, note: names.note, ...more })
    this.placed = await buy({})
    this.paid = await buy({ discount_code: this.code.code })
    await must('POST', `/orders/${this.paid.id}/pay`, { method: 'bank_transfer', reference: names.note })
    await must('POST', `/orders/${this.paid.id}/refund`, { amount: 500, reason: names.note })
    this.free = await must('POST', '/orders', { buyer: { name: names.parent }, lines: [{ product_id: scarf.id, quantity: 1 }] })
  }

  /** Creates a webhook with a delivery that is retried, and a disabled one. */
  async subscribe() {
    const { page } = this.owner
    const silent = await makeWebhook(page, `${this.appUrl}/silent`, 'Off')
    await page.goto(`${silent.href}/off`)
    await follow(page.getByRole('button', { name: 'Turn off' }))
    this.silentWebhook = silent.href
    this.webhook = (await makeWebhook(page, `${this.appUrl}/answers/500`, this.names.note)).href
    await page.goto(this.webhook)
    await page.getByRole('button', { name: 'Send test' }).click()
    await page.getByText('Status 500').waitFor()
    this.delivery = path(page.url())
  }

  /** A parent of the player asks to join, and the owner approves. */
  async join() {
    await this.ask(this.family)
    const { page } = this.owner
    await page.goto('/admin/members/claims')
    const claim = page.locator('section.card', { hasText: this.familyUser.email })
    await follow(claim.getByRole('button', { name: /^Approve/ }))
  }

  /** Plans events of the team: one with everything, a cancelled one and a practice every day. */
  async plan(must) {
    const { names, team } = this
    const day = (days) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
    const at = (days) => ({ team_id: team.id, type: 'practice', starts_at: `${day(days)}T18:00:00Z`, ends_at: `${day(days)}T19:30:00Z` })
    const place = await must('POST', '/locations', { name: names.note, address: names.note, latitude: 38.7, longitude: -9.1, notes: names.note })
    const more = { location_id: place.id, opponent: names.team, uniform: names.note, notes: names.note, arrival_minutes: 30, capacity: 1 }
    this.event = await must('POST', '/events', { ...at(2), ...more, type: 'game', title: names.team, duties: [{ name: names.note, slots: 2 }] })
    this.cancelledEvent = await must('POST', '/events', { ...at(3), title: names.note })
    await must('POST', `/events/${this.cancelledEvent.id}/cancel`, { reason: names.note })
    await must('POST', '/events', { ...at(4), recurrence: 'FREQ=DAILY;COUNT=30', title: 'Training' })
    this.feed = await must('POST', '/calendar_feeds', { team_id: team.id })
  }

  /** Creates dues of the player: one partly paid, one overpaid, one unpaid. */
  async charge(must) {
    const fee = { team_id: this.team.id, member_id: this.member.id, title: this.names.note, amount: 13500, note: this.names.note }
    const charge = async (more) => (await must('POST', '/dues', { ...fee, ...more }))[0]
    const pay = async (due, amount) => must('POST', `/dues/${due.id}/payments`, { amount, method: 'bank_transfer', reference: this.names.note })
    this.due = await charge({ due_on: '2026-01-31', installment_count: 3, late_fee: { amount: 500 } })
    this.payment = await pay(this.due, 6000)
    const travel = await charge({ due_on: '2099-01-01', category: 'travel', amount: 4000, use_credit: false })
    await pay(travel, 5000)
    this.freshDue = await charge({ due_on: '2099-06-30', installment_count: 2, use_credit: false })
  }

  /** A user opens the team link and asks to join. */
  async ask(visit) {
    const { page } = visit
    await page.goto(`${this.teamLink}?as=guardian`)
    await page.getByRole('radio').first().check()
    await page.getByLabel('Note to the club').fill(this.names.note)
    await follow(page.getByRole('button', { name: 'Send request' }))
  }

  /** The authorization URL of the app. */
  get authorize() {
    const request = { client_id: this.oauthApp.id, redirect_uri: `${this.appUrl}/back`, response_type: 'code' }
    const query = new URLSearchParams({ ...request, scope: 'teams:read', state: '"><b>state', ...PKCE })
    return `/oauth/authorize?${query}`
  }

  async close() {
    this.server.close()
    await Promise.all(this.visits.map((visit) => visit.close()))
  }
}

/** Creates an API key on its page. Returns its id and value. */
export async function makeKey(page, name) {
  await page.goto('/admin/keys/new')
  await page.getByLabel('Name', { exact: true }).fill(name)
  await page.locator('input[name=scopes][value="teams:read"]').check()
  await page.getByRole('button', { name: 'Create key' }).click()
  const value = (await page.locator('#key').textContent()).trim()
  const href = await page.getByRole('link', { name: 'View key' }).getAttribute('href')
  return { value, id: href.split('/').at(-1) }
}

/** Adds a webhook on its page. Returns its secret and the path of its page. */
export async function makeWebhook(page, url, description = '') {
  await page.goto('/admin/webhooks/new')
  await page.getByLabel('URL', { exact: true }).fill(url)
  await page.getByLabel('Description').fill(description)
  await page.locator('input[name=events][value="*"]').check()
  await page.getByRole('button', { name: 'Add webhook' }).click()
  const secret = (await page.locator('#secret').textContent()).trim()
  return { secret, href: await page.getByRole('link', { name: 'Done' }).getAttribute('href') }
}

/** Starts a webhook receiver that runs until the test ends. */
export async function receiver(t) {
  const received = []
  const server = createServer(async (request, response) => {
    const body = await new Response(request).text()
    received.push(JSON.parse(body))
    response.end('ok')
  })
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => server.close())
  server.unref()
  return { url: `http://127.0.0.1:${server.address().port}/hook`, received }
}

/** The path and query of a link to the service. */
export function path(link) {
  const { pathname, search } = new URL(link.trim())
  return pathname + search
}

/** The TOTP code of an authenticator app for a key. */
export function digits(key, now = Date.now()) {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
  const bits = [...key.toUpperCase().replace(/[^A-Z2-7]/g, '')].map((c) => alphabet.indexOf(c).toString(2).padStart(5, '0')).join('')
  const secret = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(now / 30_000)))
  const hash = createHmac('sha1', secret).update(counter).digest()
  const at = hash.at(-1) & 15
  return String((hash.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

export { PASSWORD }
