// What pages can do better with a script. All of them work without it.

// A button that copies the text of another element; without a script it stays hidden.
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

// Tells a screen reader; the eye has seen it already.
function say(text) {
  const place = document.getElementById('flash')
  if (!place) return
  const line = document.createElement('p')
  line.className = 'vh'
  line.textContent = text
  place.append(line)
  setTimeout(() => line.remove(), 4000)
}

// A moment in the reader's own zone, where the page does not know whose zone counts.
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

// A button that prints the page; without a script the page says how.
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

// The link that skips the menu moves the focus without changing the address: a form sends its answer to the same address,
// and on an address with a fragment, browsers do not focus the first field with an error.
document.querySelector('a.skip')?.addEventListener('click', (event) => {
  event.preventDefault()
  document.querySelector('main').focus()
})

// A menu closes when one looks elsewhere or presses Escape.
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

// Files that are too large are reported before they are sent, so that nothing that was typed is lost. The limits are
// those of the server, less some space for the other fields.
const MAX_FILE = 10 * 1024 * 1024
const MAX_FILES = 23 * 1024 * 1024

document.addEventListener('change', (event) => {
  const input = event.target
  const text = input.type === 'file' && input.closest('[data-too-large]')?.dataset.tooLarge
  if (!text) return
  const sizes = [...input.files].map((file) => file.size)
  const isTooLarge = sizes.some((size) => size > MAX_FILE) || sizes.reduce((sum, size) => sum + size, 0) > MAX_FILES
  input.setCustomValidity(isTooLarge ? text : '')
  input.reportValidity()
})

// Nothing is sent without a network: the page stays as it is, with what was entered. Signing out also works offline,
// because it deletes what is kept in this browser.
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

// A part of a page that keeps itself up to date does so while somebody looks: not in a tab in the background, and not
// on a screen that was left alone, so that it does not keep a session alive for nobody.
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
