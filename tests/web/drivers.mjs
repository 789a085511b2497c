// How a test uses a page: with a pointer or with the keyboard. Both count the taps: links and buttons, but not typing
// and choosing from lists.

import assert from 'node:assert/strict'

/** Stops after so many focus stops. */
const MAX_STOPS = 120

/** Presses Tab until the target has the focus. Every focus stop must have a visible indicator. */
export async function tabTo(page, target) {
  await target.waitFor()
  await skipMenu(page, target)
  const element = await target.elementHandle()
  for (let stops = 0; stops < MAX_STOPS; stops += 1) {
    const { isReached, hidden } = await element.evaluate(checkFocus)
    assert.equal(hidden, undefined, 'the focus is not visible')
    if (isReached) return
    await page.keyboard.press('Tab')
  }
  assert.fail(`cannot be reached with the keyboard: ${target}`)
}

/** On a new page, follows the link that skips the menu. */
async function skipMenu(page, target) {
  const isBelow = () => target.evaluate((element) => {
    const isNew = document.activeElement === document.body && !location.hash
    return isNew && Boolean(document.querySelector('a.skip') && element.closest('main'))
  })
  if (!(await isBelow())) return
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
}

/** Whether an element has the focus. */
export const hasFocus = (target) => target.evaluate((element) => element === document.activeElement)

/** Whether an element has the focus, and the element with the focus if nothing shows that. Runs in the page. */
function checkFocus(target) {
  const active = document.activeElement
  const isReached = active === target
  // A part of the page that is no focus stop, or the button of a date field, which the browser marks.
  if (!active || active.matches('body, [tabindex="-1"], input:not(:focus)')) return { isReached }
  const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(active)
  // A checkbox or radio button may have the indicator around its label.
  const label = active.closest('label, .check') && getComputedStyle(active.closest('label, .check'))
  const isVisible = (outlineStyle !== 'none' && outlineWidth !== '0px') || boxShadow !== 'none'
  return isVisible || (label && label.outlineStyle !== 'none') ? { isReached } : { isReached, hidden: active.outerHTML.slice(0, 200) }
}

/** Taps or clicks. */
export class Pointer {
  constructor(page) {
    this.page = page
    this.taps = 0
  }

  /** Presses a link or button. */
  async tap(target) {
    await target.waitFor()
    await this.checkWidth()
    this.taps += 1
    await this.press(target)
  }

  async press(target) {
    await target.click()
  }

  async type(target, text) {
    await target.fill(text)
  }

  /** Chooses an option of a list by its label. */
  async choose(list, label) {
    await list.selectOption({ label })
  }

  /** Chooses a radio button. */
  async mark(radio) {
    await radio.check()
  }

  /** The page must not scroll sideways. */
  async checkWidth() {
    const overflow = await this.page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    assert.ok(overflow <= 0, `${this.page.url()} is ${overflow} px wider than the window`)
  }
}

/** Uses only the keyboard. */
export class Keyboard extends Pointer {
  async press(target) {
    await tabTo(this.page, target)
    await this.page.keyboard.press('Enter')
  }

  async type(target, text) {
    await tabTo(this.page, target)
    await this.page.keyboard.press('ControlOrMeta+A')
    await this.page.keyboard.type(text)
  }

  async choose(list, label) {
    await tabTo(this.page, list)
    await this.page.keyboard.type(label)
    assert.equal(await list.evaluate(({ selectedOptions }) => selectedOptions[0]?.label), label)
  }

  /** Tab moves to the chosen radio button of the group, and the arrow keys choose another one. */
  async mark(radio) {
    const group = this.page.locator(`input[name="${await radio.getAttribute('name')}"]`)
    const chosen = group.and(this.page.locator(':checked'))
    await tabTo(this.page, (await chosen.count()) ? chosen : group.first())
    for (let tries = await group.count(); tries > 0 && !(await radio.isChecked()); tries -= 1) {
      await this.page.keyboard.press('ArrowRight')
    }
    assert.ok(await radio.isChecked(), `cannot be chosen with the keyboard: ${radio}`)
  }
}
