// Measures how fast the developer portal loads on a phone with a slow processor, as a table for docs/benchmarks.md:
// TOUCHLINE_PROGRAM=…/touchline node docs-speed.mjs

import { launch } from './browser.mjs'
import { Service } from './service.mjs'

const PATHS = ['/docs', '/docs/quickstart', '/docs/reference/events', '/docs/reference/events#events.update', '/docs/reference/notification-types']
const SLOWDOWNS = [1, 4, 6]
const RUNS = 5

const service = await Service.start(['--demo'])
const browser = await launch()
console.log('| Page | All requests | ' + SLOWDOWNS.map((rate) => `${rate}×: first content, load`).join(' | ') + ' |')
for (const path of PATHS) {
  const results = []
  for (const rate of SLOWDOWNS) results.push(await measure(path, rate))
  const seconds = (milliseconds) => (milliseconds / 1000).toFixed(2)
  const cells = results.map(({ content, load }) => `${seconds(content)} s, ${seconds(load)} s`)
  console.log(`| \`${path}\` | ${(results[0].bytes / 1000).toFixed(1)} kB | ${cells.join(' | ')} |`)
}
await browser.close()
await service.stop()

/** Medians of several loads with an empty cache. */
async function measure(path, rate) {
  const loads = []
  for (let run = 0; run < RUNS; run += 1) loads.push(await load(path, rate))
  const median = (name) => loads.map((one) => one[name]).sort((a, b) => a - b)[Math.floor(RUNS / 2)]
  return { content: median('content'), load: median('load'), bytes: median('bytes') }
}

async function load(path, rate) {
  const context = await browser.newContext({ viewport: { width: 390, height: 844 } })
  const page = await context.newPage()
  const devtools = await context.newCDPSession(page)
  await devtools.send('Emulation.setCPUThrottlingRate', { rate })
  await devtools.send('Network.enable')
  let bytes = 0
  devtools.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength))
  await page.goto(service.url + path, { waitUntil: 'networkidle' })
  const times = await page.evaluate(() => ({
    content: performance.getEntriesByName('first-contentful-paint')[0].startTime,
    load: performance.getEntriesByType('navigation')[0].loadEventEnd,
  }))
  await context.close()
  return { ...times, bytes }
}
