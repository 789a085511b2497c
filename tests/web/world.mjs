// People and things that pages show, with names of the test's choice.

import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'

import { signIn, visitor } from './browser.mjs'
import { PASSWORD, PKCE } from './service.mjs'

/** Names as people give them. */
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

/** Whatever the pages need, made by the ways people make it. */
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
    world.twoStepUser = await service.user('admin', world.mail('two-step'), names.owner, account)
    world.oauthApp = await service.app('server', `${world.place}/back`, { name: names.app, account })
    world.owner = await world.enter(world.ownerUser)
    world.parent = await world.enter(world.parentUser)
    world.nobody = await world.guest()
    await world.fill()
    return world
  }

  /** The place of the app that people go back to. */
  async listen() {
    // It also receives what webhooks are told, and takes it unless its address says otherwise.
    this.server = createServer((request, response) => {
      const status = Number(/\/answers\/(\d+)/.exec(request.url)?.[1] ?? 200)
      response.writeHead(status, { 'Content-Type': 'text/plain' }).end(request.method === 'POST' ? this.names.note : 'Done')
    })
    await new Promise((done) => this.server.listen(0, '127.0.0.1', done))
    this.server.unref()
    this.place = `http://127.0.0.1:${this.server.address().port}`
  }

  mail(name) {
    return `${name}.${this.tag}@people.example`
  }

  async guest(more = {}) {
    const visit = await visitor(this.browser, {
      home: this.service.url,
      width: 390,
      also: [this.place],
      userAgent: this.names.agent,
      ...more,
    })
    this.visits.push(visit)
    return visit
  }

  async enter(user) {
    const visit = await this.guest()
    await signIn(visit.page, user)
    return visit
  }

  /** A team with somebody on it, a key, links of invitations, somebody who waits to be let in. */
  async fill() {
    const { service, names, key } = this
    const must = async (...asked) => {
      const answer = await service.api(...asked, key)
      if (answer.status >= 300) throw new Error(`${asked.slice(0, 2).join(' ')}: ${JSON.stringify(answer)}`)
      return answer.data
    }
    const team = await must('POST', '/teams', { name: names.team })
    const [first, ...last] = names.person.split(' ')
    const player = { first_name: first, last_name: last.join(' ') || null, role: 'player' }
    this.member = await must('POST', `/teams/${team.id}/roster`, player)
    this.team = team
    const { page } = this.owner
    this.apiKey = await makeKey(page, names.key)
    await page.goto('/admin/members/invite')
    await page.getByLabel('Email', { exact: true }).fill(this.mail('invited'))
    await page.getByRole('button', { name: 'Make the invitation' }).click()
    this.invitation = path(await page.locator('#link').textContent())
    await page.goto('/admin/members/invite')
    await page.getByLabel('Team', { exact: true }).selectOption(team.id)
    await page.getByRole('button', { name: 'Make a link' }).click()
    this.teamLink = path(await page.locator('#link').textContent())
    await this.ask()
    await this.subscribe()
  }

  /** A webhook with a delivery that is tried again, and one that is off. */
  async subscribe() {
    const { page } = this.owner
    const silent = await makeWebhook(page, `${this.place}/silent`, 'Off')
    await page.goto(`${silent.place}/off`)
    await page.getByRole('button', { name: 'Turn it off' }).click()
    this.silentWebhook = silent.place
    this.webhook = (await makeWebhook(page, `${this.place}/answers/500`, this.names.note)).place
    await page.goto(this.webhook)
    await page.getByRole('button', { name: 'Send test' }).click()
    await page.getByText('It answered 500').waitFor()
    this.delivery = path(page.url())
  }

  /** Somebody follows the link of the team and asks to be let in. */
  async ask() {
    const { page } = await this.enter(this.parentUser)
    await page.goto(`${this.teamLink}?as=guardian`)
    await page.getByRole('radio').first().check()
    await page.getByLabel('A word to whoever decides').fill(this.names.note)
    await page.getByRole('button', { name: 'Ask to join' }).click()
    await page.waitForLoadState()
  }

  /** Where the app sends people who shall allow it something. */
  get authorize() {
    const asked = { client_id: this.oauthApp.id, redirect_uri: `${this.place}/back`, response_type: 'code' }
    const query = new URLSearchParams({ ...asked, scope: 'teams:read', state: '"><b>state', ...PKCE })
    return `/oauth/authorize?${query}`
  }

  async close() {
    this.server.close()
    await Promise.all(this.visits.map((visit) => visit.close()))
  }
}

/** Makes a key on its page; answers with its id and its value. */
export async function makeKey(page, name) {
  await page.goto('/admin/keys/new')
  await page.getByLabel('Name', { exact: true }).fill(name)
  await page.locator('input[name=scopes][value="teams:read"]').check()
  await page.getByRole('button', { name: 'Make the key' }).click()
  const value = (await page.locator('#key').textContent()).trim()
  const href = await page.getByRole('link', { name: 'Look at this key' }).getAttribute('href')
  return { value, id: href.split('/').at(-1) }
}

/** Adds a webhook on its page; answers with its page and its secret. */
export async function makeWebhook(page, url, description = '') {
  await page.goto('/admin/webhooks/new')
  await page.getByLabel('Address', { exact: true }).fill(url)
  await page.getByLabel('Description').fill(description)
  await page.locator('input[name=events][value="*"]').check()
  await page.getByRole('button', { name: 'Add the webhook' }).click()
  const secret = (await page.locator('#secret').textContent()).trim()
  return { secret, place: await page.getByRole('link', { name: 'Done' }).getAttribute('href') }
}

/** Receives what a webhook is told, until the test ends. */
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

/** The path of a link to the service. */
export function path(link) {
  const { pathname, search } = new URL(link.trim())
  return pathname + search
}

/** The digits an authenticator app shows for a key. */
export function digits(key, now = Date.now()) {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
  const bits = [...key.toUpperCase().replace(/[^A-Z2-7]/g, '')].map((c) => letters.indexOf(c).toString(2).padStart(5, '0')).join('')
  const secret = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(now / 30_000)))
  const hash = createHmac('sha1', secret).update(counter).digest()
  const at = hash.at(-1) & 15
  return String((hash.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

export { PASSWORD }
