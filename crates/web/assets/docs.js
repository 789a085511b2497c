// The developer portal: copy buttons, the choice of a language for all examples, results while typing.

const languageKey = 'touchline-docs-language'

// Browsers have no clipboard in pages without HTTPS, except on this computer.
const samples = navigator.clipboard ? document.querySelectorAll('.sample') : []
for (const sample of samples) {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'copy'
  button.textContent = 'Copy'
  button.addEventListener('click', async () => {
    const shown = [...sample.querySelectorAll('pre')].find((pre) => pre.offsetParent)
    await navigator.clipboard.writeText(shown.textContent)
    button.textContent = 'Copied'
    setTimeout(() => (button.textContent = 'Copy'), 2000)
  })
  sample.append(button)
}

function choose(language) {
  for (const radio of document.querySelectorAll(`.sample input[value="${language}"]`)) radio.checked = true
}

let chosen = null
try {
  chosen = localStorage.getItem(languageKey)
} catch {
  // Storage is turned off in this browser.
}
if (/^[a-z]+$/.test(chosen ?? '')) choose(chosen)

document.addEventListener('change', ({ target }) => {
  if (!target.matches('.sample input')) return
  // The other examples change their heights; what the reader looks at stays in place.
  const before = target.getBoundingClientRect().top
  choose(target.value)
  scrollBy(0, target.getBoundingClientRect().top - before)
  try {
    localStorage.setItem(languageKey, target.value)
  } catch {
    // The choice is only for this page.
  }
})

// Links of the former reference: /docs#tag/teams/GET/teams
const [, group] = location.hash.match(/^#tag\/([a-z-]+)/) ?? []
if (group && location.pathname === '/docs') location.replace(`/docs/reference/${group}`)

const field = document.querySelector('.search input')
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target.matches('input')) return
  event.preventDefault()
  field.focus()
})

// On the search page, results change while the reader types.
const results = document.querySelector('#results')
let latest = 0
if (results) {
  field.addEventListener('input', async () => {
    const url = `/docs/search?q=${encodeURIComponent(field.value)}`
    const number = ++latest
    const response = await fetch(url).catch(() => null)
    if (!response?.ok || number !== latest) return
    const page = new DOMParser().parseFromString(await response.text(), 'text/html')
    if (number !== latest) return
    results.replaceChildren(...page.querySelector('#results').childNodes)
    history.replaceState(null, '', url)
  })
}
// The menu of phones closes when a link leads to another part of the same page.
const menu = document.querySelector('#menu')
menu.addEventListener('click', ({ target }) => {
  if (target.closest('a') && menu.matches(':popover-open')) menu.hidePopover()
})
