// The API reference as a visitor sees it: complete, self-contained, readable on a phone, by day and
// by night, and with a screen reader.

import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'

import { barriers, launch, misfits, open, service } from './browser.mjs'
import { PATIENCE } from './service.mjs'

const pictures = process.env.TOUCHLINE_SCREENSHOTS
let browser
let operation

before(async () => {
  if (pictures) await mkdir(pictures, { recursive: true })
  operation = await linkTo('List teams')
  browser = await launch()
})

after(() => browser?.close())

for (const width of [390, 1280]) {
  for (const scheme of ['light', 'dark']) {
    const look = { width, scheme }

    test(`the reference at ${width} px, ${scheme}`, { timeout: PATIENCE }, async (t) => {
      const visit = await open(browser, '/docs', look)
      t.after(visit.close)
      await isFit(visit, `docs-${width}-${scheme}`)
    })

    for (const guide of ['webhooks', 'store', 'dues', 'cards', 'errors']) {
      test(`the guide to ${guide} at ${width} px, ${scheme}`, { timeout: PATIENCE }, async (t) => {
        const visit = await open(browser, `/docs/${guide}`, look)
        t.after(visit.close)
        await isFit(visit, `docs-${guide}-${width}-${scheme}`)
        assert.deepEqual(await misfits(visit.page), [])
      })
    }

    test(`an operation at ${width} px, ${scheme}`, { timeout: PATIENCE }, async (t) => {
      const visit = await open(browser, operation, look)
      t.after(visit.close)
      const text = visit.page.getByText('List teams', { exact: true })
      await text.filter({ visible: true }).first().waitFor()
      await isFit(visit, `docs-operation-${width}-${scheme}`)
    })
  }
}

/** Only the first group is drawn at once; the others open when a link leads there. */
async function linkTo(summary) {
  const answer = await fetch(new URL('/api/public/v1/openapi.json', service))
  const { paths } = await answer.json()
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, found] of Object.entries(methods)) {
      if (found.summary !== summary) continue
      const group = found.tags[0].toLowerCase().replaceAll(' ', '-')
      return `/docs#tag/${group}/${method.toUpperCase()}${path}`
    }
  }
  throw new Error(`the document has no operation "${summary}"`)
}

async function isFit({ page, faults }, picture) {
  await page.waitForLoadState('networkidle')
  if (pictures) await page.screenshot({ path: join(pictures, `${picture}.png`) })
  assert.deepEqual(faults, [])
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
  assert.ok(wide <= 0, `the page is ${wide} px wider than the window`)
  // The greys are Scalar's own.
  assert.deepEqual(await barriers(page, { except: ['color-contrast'] }), [])
}
