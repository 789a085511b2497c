// The API reference and the guides in a browser: on a phone and on a desktop, in light and dark mode, accessible, and
// without requests to other origins.

import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'

import { accessibilityIssues } from './accessibility.mjs'
import { launch, layoutIssues, open, service } from './browser.mjs'
import { TIMEOUT } from './service.mjs'

const screenshots = process.env.TOUCHLINE_SCREENSHOTS
let browser
let operation

before(async () => {
  if (screenshots) await mkdir(screenshots, { recursive: true })
  operation = await linkTo('List teams')
  browser = await launch()
})

after(() => browser?.close())

for (const width of [390, 1280]) {
  for (const scheme of ['light', 'dark']) {
    const options = { width, scheme }

    test(`the API reference at ${width} px, ${scheme}`, { timeout: TIMEOUT }, async (t) => {
      const visit = await open(browser, '/docs', options)
      t.after(visit.close)
      await checkPage(visit, `docs-${width}-${scheme}`)
    })

    for (const guide of ['webhooks', 'store', 'dues', 'cards', 'errors']) {
      test(`the ${guide} guide at ${width} px, ${scheme}`, { timeout: TIMEOUT }, async (t) => {
        const visit = await open(browser, `/docs/${guide}`, options)
        t.after(visit.close)
        await checkPage(visit, `docs-${guide}-${width}-${scheme}`)
        assert.deepEqual(await layoutIssues(visit.page), [])
      })
    }

    test(`an operation at ${width} px, ${scheme}`, { timeout: TIMEOUT }, async (t) => {
      const visit = await open(browser, operation, options)
      t.after(visit.close)
      const text = visit.page.getByText('List teams', { exact: true })
      await text.filter({ visible: true }).first().waitFor()
      await checkPage(visit, `docs-operation-${width}-${scheme}`)
    })
  }
}

/** A link to an operation. The page renders only the first group at once; a link opens the others. */
async function linkTo(summary) {
  const response = await fetch(new URL('/api/public/v1/openapi.json', service))
  const { paths } = await response.json()
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      if (operation.summary !== summary) continue
      const group = operation.tags[0].toLowerCase().replaceAll(' ', '-')
      return `/docs#tag/${group}/${method.toUpperCase()}${path}`
    }
  }
  throw new Error(`the document has no operation "${summary}"`)
}

async function checkPage({ page, faults }, name) {
  await page.waitForLoadState('networkidle')
  if (screenshots) await page.screenshot({ path: join(screenshots, `${name}.png`) })
  assert.deepEqual(faults, [])
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
  assert.ok(overflow <= 0, `the page is ${overflow} px wider than the window`)
  // The low-contrast grays come from Scalar, the library that renders the reference.
  assert.deepEqual(await accessibilityIssues(page, { except: ['color-contrast'] }), [])
}
