// The most frequent tasks of coaches and parents, each from Home with at most three taps: on a phone and on a desktop,
// in light and dark mode, with and without JavaScript, and the main ones with the keyboard only. docs/pages.md lists the
// number of taps.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'

import { follow, launch, signedIn } from './browser.mjs'
import { Keyboard, Pointer } from './drivers.mjs'
import { Service, TIMEOUT } from './service.mjs'
import { path } from './world.mjs'

const VARIANTS = [
  { name: 'phone', width: 390, scheme: 'light' },
  { name: 'desktop', width: 1280, scheme: 'dark' },
  { name: 'phone without JavaScript', width: 390, scheme: 'dark', javaScriptEnabled: false },
  { name: 'desktop without JavaScript', width: 1280, scheme: 'light', javaScriptEnabled: false },
]
const KEYBOARD = { name: 'keyboard', width: 1280, scheme: 'light', Driver: Keyboard }
const MAX_TAPS = 3
const HOUR = 3_600_000

const service = Service.shared()
let browser
let club

/**
 * What people do most often. `task` is its name in docs/pages.md, `prepare` creates what the task needs, and `run` does
 * it from Home and checks the result.
 */
const JOBS = [
  {
    task: 'Answer for two children',
    who: 'parent',
    taps: 2,
    keyboard: true,
    prepare: () => club.plan('game', 30, { opponent: 'Gulls' }),
    async run(user, event) {
      for (const [child, answer, result] of [['ana', 'Going', 'yes'], ['bo', 'Can’t go', 'no']]) {
        const form = user.page.locator(`#answers-${event.id} form`, { has: user.page.locator(`input[value="${club[child].id}"]`) })
        await user.tap(form.getByRole('button', { name: answer, exact: true }))
        await form.locator('.said').waitFor()
        const rsvp = await club.must('GET', `/events/${event.id}/rsvps/${club[child].id}`)
        assert.equal(rsvp.answer, result)
      }
    },
  },
  {
    task: 'See where the next game is',
    who: 'parent',
    taps: 1,
    prepare: () => club.plan('game', 4, { opponent: 'Herons', location_id: club.place.id }),
    async run(user, event) {
      await user.page.getByText('Harbour pitch').first().waitFor()
      await user.tap(linkTo(user.page, event))
      await user.page.getByText('Quay 7').waitFor()
    },
  },
  {
    task: 'Read an announcement',
    who: 'parent',
    taps: 1,
    prepare: () => club.announce('Match photos are online'),
    async run(user, message) {
      await user.tap(user.page.locator(`main a[href="/messages/${message.id}"]`))
      await user.page.getByText('They are on the club page.').waitFor()
    },
  },
  {
    task: 'Create a weekly practice',
    who: 'coach',
    taps: 3,
    keyboard: true,
    async run(user) {
      const { page } = user
      await user.tap(page.getByRole('link', { name: 'New event', exact: true }))
      await user.type(page.locator('#title'), 'Weekly practice')
      await user.choose(page.getByLabel('Repeats'), 'Weekly')
      await user.type(page.getByLabel('Number of dates'), '4')
      await user.tap(page.getByRole('button', { name: 'Preview', exact: true }))
      await user.tap(page.locator('.dock').getByRole('button', { name: /^(Create|Save anyway)$/ }))
      await page.getByRole('heading', { level: 1, name: 'Weekly practice' }).waitFor()
      const events = await club.must('GET', `/events?team_id=${club.team.id}&limit=100`)
      const planned = events.filter(({ title }) => title === 'Weekly practice')
      assert.equal(planned.length, 4)
      for (const { id } of planned) await club.must('DELETE', `/events/${id}`)
    },
  },
  {
    task: 'Cancel tonight’s practice',
    who: 'coach',
    taps: 3,
    keyboard: true,
    prepare: () => club.plan('practice', 3),
    async run(user, event) {
      await user.tap(linkTo(user.page, event))
      await user.tap(user.page.getByRole('link', { name: 'Cancel event' }))
      await user.type(user.page.getByLabel('Reason'), 'The pitch is flooded')
      await user.tap(user.page.getByRole('button', { name: 'Cancel event' }))
      await user.page.getByRole('heading', { name: 'This event is cancelled' }).waitFor()
      const { status, cancel_reason: reason } = await club.must('GET', `/events/${event.id}`)
      assert.deepEqual([status, reason], ['cancelled', 'The pitch is flooded'])
    },
  },
  {
    task: 'See who is coming',
    who: 'coach',
    taps: 1,
    async prepare() {
      const event = await club.plan('practice', 26)
      await club.must('PUT', `/events/${event.id}/rsvps/${club.ana.id}`, { answer: 'yes' })
      return event
    },
    async run(user, event) {
      await user.tap(linkTo(user.page, event))
      await user.page.locator('details.fold > summary', { hasText: 'Going' }).getByText('Ana Costa').waitFor()
    },
  },
  {
    task: 'Take attendance',
    who: 'coach',
    taps: 3,
    keyboard: true,
    prepare: () => club.plan('practice', 0.5),
    async run(user, event) {
      const { page } = user
      await user.tap(linkTo(page, event))
      await user.tap(page.getByRole('link', { name: 'Take attendance' }))
      await user.mark(page.locator(`input[name="s-${club.ana.id}"][value=present]`))
      await user.mark(page.locator(`input[name="s-${club.bo.id}"][value=absent]`))
      await user.tap(page.getByRole('button', { name: 'Save', exact: true }))
      await page.waitForURL('**/attendance?done=saved')
      const { entries } = await club.must('GET', `/events/${event.id}/attendance`)
      const statuses = Object.fromEntries(entries.map(({ member_id: id, status }) => [id, status]))
      assert.deepEqual([statuses[club.ana.id], statuses[club.bo.id]], ['present', 'absent'])
    },
  },
  {
    task: 'Add a player with a parent',
    who: 'coach',
    taps: 2,
    async run(user) {
      const { page } = user
      const name = `Cleo ${club.nextNumber()}`
      await user.tap(page.getByRole('link', { name: 'Add people' }))
      await user.type(page.getByLabel('First name', { exact: true }), name)
      await user.type(page.locator('#last_name'), 'Berg')
      await user.type(page.getByLabel('First name of parent 1'), 'Dora')
      await user.type(page.locator('#guardian-1-email'), `dora.${club.nextNumber()}@people.example`)
      await user.tap(page.getByRole('button', { name: 'Add person' }))
      await page.getByText(`${name} Berg`).first().waitFor()
      const members = await club.must('GET', `/teams/${club.team.id}/roster?limit=100`)
      const added = members.find(({ first_name: first }) => first === name)
      const { guardians } = await club.must('GET', `/teams/${club.team.id}/roster/${added.id}`)
      assert.equal(guardians[0].first_name, 'Dora')
      await club.must('DELETE', `/teams/${club.team.id}/roster/${added.id}`)
    },
  },
  {
    task: 'Write to the parents',
    who: 'coach',
    taps: 3,
    keyboard: true,
    async run(user) {
      const { page } = user
      const subject = `Bring water ${club.nextNumber()}`
      await user.tap(page.getByRole('link', { name: 'Write a message' }))
      await user.type(page.locator('#subject'), subject)
      await user.type(page.locator('#body'), 'It will be hot.')
      await user.tap(page.locator('.dock').getByRole('button', { name: 'Preview' }))
      await user.tap(page.getByRole('button', { name: 'Send', exact: true }))
      await page.getByRole('heading', { level: 1, name: subject }).waitFor()
      const [message] = await club.must('GET', '/messages?limit=1&order=desc')
      assert.equal(message.subject, subject)
    },
  },
  {
    task: 'Move a player to another team',
    who: 'owner',
    taps: 3,
    prepare: () => club.must('POST', `/teams/${club.team.id}/roster`, { first_name: `Max ${club.nextNumber()}`, role: 'player' }),
    async run(user, member) {
      const { page } = user
      await user.tap(page.getByRole('link', { name: 'Teams', exact: true }).filter({ visible: true }).first())
      await user.tap(page.getByRole('link', { name: 'Move a player' }))
      await user.choose(page.getByLabel('Player', { exact: true }), `${member.first_name} · ${club.team.name}`)
      await user.choose(page.getByLabel('New team', { exact: true }), 'Otters')
      await user.tap(page.getByRole('button', { name: 'Move', exact: true }))
      await page.getByRole('button', { name: 'Move', exact: true }).waitFor({ state: 'detached' })
      const members = await club.must('GET', `/teams/${club.other.id}/roster?limit=100`)
      assert.ok(members.some(({ person_id: person }) => person === member.person_id))
    },
  },
]

/** The first link to an event on the page. */
const linkTo = (page, event) => page.locator(`main a[href="/events/${event.id}"]`).first()

/** The club of these tests: two teams, a coach and a parent of two children. */
class Club {
  static async build() {
    const club = Object.assign(new Club(), await service.club('Jobs'), { numbers: 0 })
    const { must } = club
    club.owner = await club.user('owner')
    club.coach = await club.user('member', 'coach')
    club.parent = await club.user('member', 'parent')
    club.team = await must('POST', '/teams', { name: 'Hawks' })
    club.other = await must('POST', '/teams', { name: 'Otters' })
    club.place = await must('POST', '/locations', { name: 'Harbour pitch', address: 'Quay 7' })
    const player = (first_name) => must('POST', `/teams/${club.team.id}/roster`, { first_name, last_name: 'Costa', birth_date: '2015-03-01' })
    club.ana = await player('Ana')
    club.bo = await player('Bo')
    await club.join()
    return club
  }

  /** Sends a request to the API and returns its data. */
  must = async (method, path, body) => {
    const response = await service.api(method, path, body, this.key)
    if (response.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(response)}`)
    return response.data
  }

  user(role, name = role) {
    return service.user(role, `${name}.${this.account}@jobs.example`, name, this.account)
  }

  /** The coach and the parent ask to join the team, and the owner approves. */
  async join() {
    const { page, close } = await signedIn(browser, this.owner)
    await page.goto('/admin/members/invite')
    await page.getByLabel('Team', { exact: true }).selectOption(this.team.id)
    await page.getByRole('button', { name: 'Create team link' }).click()
    const link = path(await page.locator('#link').textContent())
    await this.ask(this.coach, `${link}?as=coach`)
    await this.ask(this.parent, `${link}?as=guardian`)
    await page.goto('/admin/members/claims')
    for (let open = 2; open > 0; open -= 1) await follow(page.getByRole('button', { name: /^Approve/ }).first())
    await close()
    const { guardians } = await this.must('GET', `/teams/${this.team.id}/roster/${this.ana.id}`)
    await this.must('PATCH', `/teams/${this.team.id}/roster/${this.bo.id}`, { guardians: [{ id: guardians[0].id }] })
  }

  async ask(user, link) {
    const { page, close } = await signedIn(browser, user)
    await page.goto(link)
    const child = page.getByRole('radio', { name: 'Ana' })
    if (link.endsWith('guardian')) await child.check()
    await follow(page.getByRole('button', { name: 'Send request' }))
    await close()
  }

  /** Creates an event that starts in some hours. */
  plan(type, hours, more = {}) {
    const at = (ms) => new Date(ms).toISOString()
    const start = Date.now() + hours * HOUR
    return this.must('POST', '/events', { team_id: this.team.id, type, starts_at: at(start), ends_at: at(start + HOUR), ...more })
  }

  announce(subject) {
    return this.must('POST', '/messages', { team_id: this.team.id, kind: 'announcement', subject, body: 'They are on the club page.' })
  }

  /** A number that no other run has. */
  nextNumber() {
    this.numbers += 1
    return this.numbers
  }
}

before(async () => {
  browser = await launch()
  club = await Club.build()
}, { timeout: TIMEOUT })

after(() => browser?.close())

for (const job of JOBS) {
  for (const variant of job.keyboard ? [...VARIANTS, KEYBOARD] : VARIANTS) {
    test(`${job.task}: ${variant.name}`, { timeout: TIMEOUT }, async (t) => {
      const { name, Driver = Pointer, ...options } = variant
      const prepared = await job.prepare?.()
      const { page, faults, close } = await signedIn(browser, club[job.who], options)
      t.after(close)
      await page.goto('/')
      const user = new Driver(page)
      await job.run(user, prepared)
      await user.checkWidth()
      assert.equal(user.taps, job.taps)
      assert.deepEqual(faults, [])
    })
  }
}

/** The form for the answer of a child. */
const answerForm = (page, event, child) => page.locator(`#answers-${event.id} form`, { has: page.locator(`input[value="${child.id}"]`) })

test('an answer keeps the note that is typed for another child, and updates the numbers', { timeout: TIMEOUT }, async (t) => {
  const { page, faults, close } = await signedIn(browser, club.parent, { width: 390 })
  t.after(close)
  const event = await club.plan('game', 0.1, { opponent: 'Terns' })
  await page.goto('/')
  const open = parseInt(await page.locator('#lead').textContent(), 10)
  const [ana, bo] = [answerForm(page, event, club.ana), answerForm(page, event, club.bo)]
  const note = bo.locator('textarea')
  await bo.getByText('Add a note').click()
  await note.fill('Leaves at four')
  await ana.getByRole('button', { name: 'Going', exact: true }).click()
  await ana.locator('.said').waitFor()
  await page.locator('#lead', { hasText: new RegExp(`^${open - 1} answer`) }).waitFor()
  assert.deepEqual([await note.isVisible(), await note.inputValue()], [true, 'Leaves at four'])
  // The same while the answer of the other child is changed.
  await bo.getByRole('button', { name: 'Going', exact: true }).click()
  await bo.getByText('Change', { exact: true }).click()
  await note.fill('Leaves at five')
  await ana.getByRole('button', { name: 'Undo' }).click()
  await ana.getByRole('button', { name: 'Maybe', exact: true }).click()
  await ana.locator('.said').waitFor()
  assert.equal(await ana.locator('details').getAttribute('open'), null)
  assert.deepEqual([await note.isVisible(), await note.inputValue()], [true, 'Leaves at five'])
  await bo.getByRole('button', { name: 'Save note' }).click()
  await bo.locator('.said:not([open])').waitFor()
  const rsvp = await club.must('GET', `/events/${event.id}/rsvps/${club.bo.id}`)
  assert.deepEqual([rsvp.answer, rsvp.note], ['yes', 'Leaves at five'])
  assert.deepEqual(faults, [])
})

test('the numbers of a coach change when they answer for their child', { timeout: TIMEOUT }, async (t) => {
  const roster = await club.must('GET', `/teams/${club.team.id}/roster?limit=100`)
  const { person_id: coach } = roster.find(({ role }) => role === 'coach')
  const child = await club.must('POST', `/teams/${club.team.id}/roster`, { first_name: 'Cara', birth_date: '2015-03-01', guardians: [{ id: coach }] })
  t.after(() => club.must('DELETE', `/teams/${club.team.id}/roster/${child.id}`))
  const event = await club.plan('game', 0.2, { opponent: 'Skuas' })
  const { page, faults, close } = await signedIn(browser, club.coach)
  t.after(close)
  await page.goto('/')
  await answerForm(page, event, child).getByRole('button', { name: 'Can’t go', exact: true }).click()
  await page.locator(`#asked-${event.id}`).getByText('1 can’t go').waitFor()
  await page.getByText('Nothing needs your answer.').or(page.locator('#lead', { hasText: 'needed' })).waitFor()
  assert.deepEqual(faults, [])
})

test('docs/pages.md lists the taps of each task', async () => {
  const text = await readFile(new URL('../../docs/pages.md', import.meta.url), 'utf8')
  const rows = [...text.matchAll(/^\| ([^|]+) \| [^|]+ \| (\d)(?: or (\d))? \|$/gm)]
  const listed = Object.fromEntries(rows.map(([, task, taps, most]) => [task, Number(most ?? taps)]))
  assert.deepEqual(listed, Object.fromEntries(JOBS.map(({ task, taps }) => [task, taps])))
})

test('every task takes at most three taps', () => {
  assert.deepEqual(JOBS.filter(({ taps }) => taps > MAX_TAPS).map(({ task }) => task), [])
})
