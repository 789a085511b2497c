// Takes the pictures in the README from the demo club. Run it with `cargo xtask screenshots`.

import { mkdir, writeFile } from 'node:fs/promises'
import { test } from 'node:test'

import { launch, signIn, visitor } from './browser.mjs'
import { Service, TIMEOUT } from './service.mjs'

const FOLDER = new URL('../../docs/images/', import.meta.url)
const { password, sign_ins } = Service.shared().startup.demo

/** `[file, email of the demo user, width, height, pixels per CSS pixel, a function that opens the page]` */
const PICTURES = [
  ['home-phone', 'parent@example.com', 390, 844, 2, (page) => page.goto('/')],
  ['team-desktop', 'coach@example.com', 1280, 860, 1.5, async (page) => {
    await page.goto('/')
    await page.goto(await page.locator('nav.tabs .desk a').first().getAttribute('href'))
  }],
]

for (const [name, email, width, height, deviceScaleFactor, go] of PICTURES) {
  test(name, { timeout: TIMEOUT }, async (t) => {
    if (!sign_ins.some((user) => user.email === email)) throw new Error(`the demo club has no user ${email}`)
    const browser = await launch()
    t.after(() => browser.close())
    const { page } = await visitor(browser, { width, viewport: { width, height }, deviceScaleFactor, locale: 'en-GB' })
    await signIn(page, { email, password })
    await go(page)
    const picture = await page.screenshot()
    await mkdir(FOLDER, { recursive: true })
    await writeFile(new URL(`${name}.webp`, FOLDER), await toWebP(browser, picture))
  })
}

/** Compresses a PNG as WebP. The browser does it, so no other program is needed. */
async function toWebP(browser, png) {
  const page = await browser.newPage()
  const data = await page.evaluate(async (source) => {
    const image = new Image()
    image.src = source
    await image.decode()
    const canvas = new OffscreenCanvas(image.width, image.height)
    canvas.getContext('2d').drawImage(image, 0, 0)
    const blob = await canvas.convertToBlob({ type: 'image/webp', quality: 0.8 })
    return [...new Uint8Array(await blob.arrayBuffer())]
  }, `data:image/png;base64,${png.toString('base64')}`)
  return Buffer.from(data)
}
