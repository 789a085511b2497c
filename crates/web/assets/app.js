// What pages do better with a script. All work without it.

// Copies the text of another element.
function copyButton(button) {
  const source = document.getElementById(button.dataset.copy)
  if (!source || !navigator.clipboard) return
  const label = button.querySelector('span')
  const usual = label.textContent
  button.hidden = false
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(source.textContent)
      label.textContent = button.dataset.copied
      say(button.dataset.copied)
    } catch {
      getSelection().selectAllChildren(source)
      label.textContent = button.dataset.press
    }
    setTimeout(() => { label.textContent = usual }, 2000)
  })
}

// Tells a screen reader.
function say(text) {
  const place = document.getElementById('flash')
  if (!place) return
  const line = document.createElement('p')
  line.className = 'vh'
  line.textContent = text
  place.append(line)
  setTimeout(() => line.remove(), 4000)
}

// Shows a time in the reader's own zone.
const written = new Intl.DateTimeFormat(document.documentElement.lang === 'en' ? 'en-GB' : document.documentElement.lang, {
  day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit',
})

function localTime(time) {
  const moment = new Date(time.dateTime)
  if (Number.isNaN(moment.getTime())) return
  time.title = time.textContent
  time.textContent = written.format(moment)
  time.removeAttribute('data-local')
}

// Prints the page.
function printButton(button) {
  button.hidden = false
  button.addEventListener('click', () => print())
}

// Selects the browser's time zone in a form where nobody has chosen one yet; without a script it stays at UTC.
function selectOwnZone(form) {
  const list = form.elements.timezone
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  if (list.value === 'UTC' && [...list.options].some((option) => option.value === timeZone)) list.value = timeZone
  form.removeAttribute('data-own-zone')
}

function dress(root) {
  for (const form of root.querySelectorAll('form[data-own-zone]')) selectOwnZone(form)
  for (const button of root.querySelectorAll('[data-print][hidden]')) printButton(button)
  for (const button of root.querySelectorAll('[data-copy][hidden]')) copyButton(button)
  for (const time of root.querySelectorAll('time[data-local]')) localTime(time)
}

// Skips the menu without changing the address: with a fragment in it, browsers do not focus the first invalid field.
document.querySelector('a.skip')?.addEventListener('click', (event) => {
  event.preventDefault()
  document.querySelector('main').focus()
})

// Closes menus after a click elsewhere, or Escape.
const openMenus = () => document.querySelectorAll('details.menu[open]')

document.addEventListener('click', (event) => {
  for (const menu of openMenus()) {
    if (!menu.contains(event.target)) menu.open = false
  }
})

document.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape') return
  for (const menu of openMenus()) {
    menu.open = false
    menu.querySelector('summary').focus()
  }
})

// A form is sent once, however often somebody clicks.
document.addEventListener('submit', (event) => {
  const form = event.target
  if (event.defaultPrevented) return
  if (form.dataset.sent) return event.preventDefault()
  form.dataset.sent = 'yes'
  setTimeout(() => { delete form.dataset.sent }, 5000)
})

// Reports files over the limits of the server before they are sent, so that nothing that was typed is lost.
const MAX_FILE = 10 * 1024 * 1024
const MAX_FILES = 23 * 1024 * 1024

document.addEventListener('change', (event) => {
  const input = event.target
  const text = input.type === 'file' && input.closest('[data-too-large]')?.dataset.tooLarge
  if (!text) return
  const sizes = [...input.files].map((file) => file.size)
  const isTooLarge = Math.max(...sizes) > MAX_FILE || sizes.reduce((a, b) => a + b, 0) > MAX_FILES
  input.setCustomValidity(isTooLarge ? text : '')
  input.reportValidity()
})

// Nothing is sent without a network, so that what was entered stays. Signing out deletes what this browser keeps.
document.addEventListener('submit', (event) => {
  const notice = document.getElementById('unsent')
  if (navigator.onLine || !notice || new URL(event.target.action).pathname === '/sign-out') return
  event.preventDefault()
  event.stopImmediatePropagation()
  notice.hidden = false
}, { capture: true })

addEventListener('online', () => {
  const notice = document.getElementById('unsent')
  if (notice) notice.hidden = true
})

// Keeps Home and Schedule readable without a network.
addEventListener('load', () => navigator.serviceWorker?.register('/service-worker.js').catch(() => {}))

// Parts that refresh themselves stop in the background and on a screen that nobody uses, so that the session can end.
const PATIENCE = 15 * 60 * 1000
let lastSeen = Date.now()
for (const sign of ['pointermove', 'keydown', 'scroll', 'focus']) {
  addEventListener(sign, () => { lastSeen = Date.now() }, { passive: true, capture: true })
}

document.addEventListener('htmx:before:request', (event) => {
  const idle = Date.now() - lastSeen > PATIENCE
  if (event.target.matches?.('[data-live]') && (document.hidden || idle)) event.preventDefault()
})

// What comes in place of it, such as the page to sign in, is not put there.
document.addEventListener('htmx:before:swap', (event) => {
  const { ctx } = event.detail
  if (!event.target.matches?.('[data-live]')) return
  if (ctx.response.status !== 200 || !ctx.text.includes('id="live"')) event.preventDefault()
})

// An answer that leads to another page, such as the page to sign in, opens that page.
document.addEventListener('htmx:before:swap', (event) => {
  const { raw } = event.detail.ctx.response
  if (!event.target.matches?.('.ans') || !raw.redirected) return
  event.preventDefault()
  location.assign(raw.url)
})

document.addEventListener('htmx:after:swap', () => dress(document))
dress(document)
