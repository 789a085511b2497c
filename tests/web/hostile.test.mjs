// Names with HTML, scripts and control characters on every page: they are shown as typed, no script runs, and the
// Content-Security-Policy is never violated.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { launch } from './browser.mjs'
import { PAGES } from './pages.mjs'
import { TIMEOUT, Service } from './service.mjs'
import { World } from './world.mjs'

const SCRIPT = '<script>window.pwned=1</script>'
const IMAGE = '"><img src=x onerror=window.pwned=1>'
const RIGHT_TO_LEFT = '\u202Egnp.exe'

const NAMES = {
  owner: `${IMAGE} ${RIGHT_TO_LEFT}`,
  parent: SCRIPT,
  team: `${IMAGE}${SCRIPT}`,
  person: `${SCRIPT} ${IMAGE}`,
  key: `'${IMAGE}${RIGHT_TO_LEFT}`,
  app: `${SCRIPT}${IMAGE}`,
  passkey: IMAGE,
  note: `${SCRIPT}${IMAGE}${RIGHT_TO_LEFT}`,
  agent: `Mozilla/5.0 ${SCRIPT} ${IMAGE}`,
}
const CLUB = `${IMAGE}${SCRIPT}`

let browser
let service
let world

before(async () => {
  browser = await launch()
  service = await Service.start(['--demo'], { TOUCHLINE_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' })
  const club = await service.club(CLUB)
  world = await World.build(service, browser, NAMES, club)
  for (const { context } of world.visits) {
    await context.addInitScript(() => {
      globalThis.violations = []
      addEventListener('securitypolicyviolation', (event) => globalThis.violations.push(`${event.violatedDirective} ${event.blockedURI}`))
    })
  }
}, { timeout: TIMEOUT })

after(async () => {
  await world?.close()
  await browser?.close()
  await service?.stop()
})

const shown = new Set()

for (const [name, , who, go] of PAGES) {
  test(name, { timeout: TIMEOUT }, async () => {
    const visit = await world.as(who)
    await go(visit.page, world)
    await visit.page.waitForLoadState()
    const found = await visit.page.evaluate(() => ({
      pwned: globalThis.pwned,
      violations: globalThis.violations,
      foreign: document.querySelectorAll('img[src="x"], script:not([src])').length,
      text: document.body.innerText,
      all: document.body.textContent,
    }))
    assert.deepEqual({ pwned: found.pwned, violations: found.violations, foreign: found.foreign }, { pwned: undefined, violations: [], foreign: 0 })
    assert.doesNotMatch(found.text, /&lt;|&amp;quot;|&#/, 'a name is escaped twice')
    for (const [kind, text] of Object.entries({ ...NAMES, club: CLUB })) {
      if (text && found.all.includes(text.replace(RIGHT_TO_LEFT, '').trim())) shown.add(kind)
    }
    assert.deepEqual(visit.faults.filter((fault) => /dialog|script:|another origin|socket/.test(fault) && !fault.includes('/back')), [])
  })
}

test('every name was shown on some page', () => {
  const expected = ['club', 'parent', 'team', 'key', 'app', 'person', 'agent', 'note', 'passkey', 'owner']
  assert.deepEqual(expected.filter((kind) => !shown.has(kind)), [])
})
