// Names that are more than names, wherever a name is shown: they stand there as they were typed, no script
// runs, and nothing that the pages' own policy forbids was even tried.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { launch } from './browser.mjs'
import { PAGES } from './pages.mjs'
import { PATIENCE, Service } from './service.mjs'
import { World } from './world.mjs'

const SCRIPT = '<script>window.pwned=1</script>'
const IMAGE = '"><img src=x onerror=window.pwned=1>'
const TURNED = '\u202Egnp.exe'

const NAMES = {
  owner: `${IMAGE} ${TURNED}`,
  parent: SCRIPT,
  team: `${IMAGE}${SCRIPT}`,
  person: `${SCRIPT} ${IMAGE}`,
  key: `'${IMAGE}${TURNED}`,
  app: `${SCRIPT}${IMAGE}`,
  passkey: IMAGE,
  note: `${SCRIPT}${IMAGE}${TURNED}`,
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
  world.twoStep = await world.guest()
  for (const { context } of world.visits) {
    await context.addInitScript(() => {
      globalThis.broken = []
      addEventListener('securitypolicyviolation', (event) => globalThis.broken.push(`${event.violatedDirective} ${event.blockedURI}`))
    })
  }
}, { timeout: PATIENCE })

after(async () => {
  await world?.close()
  await browser?.close()
  await service?.stop()
})

const shown = new Set()

for (const [name, , who, go] of PAGES) {
  test(name, { timeout: PATIENCE }, async () => {
    const visit = await world.as(who)
    await go(visit.page, world)
    await visit.page.waitForLoadState()
    const found = await visit.page.evaluate(() => ({
      pwned: globalThis.pwned,
      broken: globalThis.broken,
      foreign: document.querySelectorAll('img[src="x"], script:not([src])').length,
      text: document.body.innerText,
      all: document.body.textContent,
    }))
    assert.deepEqual({ pwned: found.pwned, broken: found.broken, foreign: found.foreign }, { pwned: undefined, broken: [], foreign: 0 })
    assert.doesNotMatch(found.text, /&lt;|&amp;quot;|&#/, 'a name is shown as the letters of its disguise')
    for (const [what, text] of Object.entries({ ...NAMES, club: CLUB })) {
      if (text && found.all.includes(text.replace(TURNED, '').trim())) shown.add(what)
    }
    assert.deepEqual(visit.faults.filter((fault) => /dialog|script:|another place|socket/.test(fault) && !fault.includes('/back')), [])
  })
}

test('all of these names were shown somewhere', () => {
  const wanted = ['club', 'parent', 'team', 'key', 'app', 'person', 'agent', 'note', 'passkey', 'owner']
  assert.deepEqual(wanted.filter((what) => !shown.has(what)), [])
})
