// The pseudo-locale en-XA, whose texts are in brackets: text outside of brackets is not translated.

/** Elements with names and data, which are not translated. */
const DATA = 'bdi, code, pre, time, kbd, script, style, svg, textarea, .email, .face, .crest, .prose, .text, [translate=no]'

/** Text that is the same in every language: names of products, codes of currencies, time zones, scopes and notifications, addresses, ids. */
const SAME_EVERYWHERE = [
  /^(Touchline|OpenStreetMap)$/, /^UTC$/, /^[A-Z]{3}$/, /^[A-Z]\w+\/[\w/+-]+$/, /^\S+@\S+$/, /^https?:\/\/\S+$/, /^[a-z]+_[0-9a-z]+$/,
  // Lists are written with Unicode's data, which has no pseudo-locale.
  /^,? *(and|or)$/,
  /^v?\d+(\.\d+)+\S*$/, /^(English|Español|\[Ŧḗşŧ\])$/, /^[a-z_]+[.:][a-z_.*]+$/, /^(XS|S|M|L|XL|XXL)$/, /^ping$/,
]

/** Opens the page again in the pseudo-locale, and returns what is not translated. */
export async function untranslated(page, world) {
  await page.setExtraHTTPHeaders({ 'Accept-Language': 'en-XA' })
  try {
    await page.reload()
    return await textsOutsideBrackets(page, world)
  } finally {
    await page.setExtraHTTPHeaders({})
  }
}

/** The texts and attributes of a page that are outside of brackets and contain letters. */
async function textsOutsideBrackets(page, world) {
  const data = [...Object.values(world.names), ...(world.texts ?? [])].filter(Boolean)
  const found = await page.evaluate((DATA) => {
    const texts = []
    // A choice whose value is an id shows a name.
    const isId = (value) => /^[a-z]+_[0-9a-z]{20,}$/.test(value)
    const isName = (element) =>
      isId(element.closest('option')?.value) || isId(element.closest('label')?.querySelector('input')?.value)
    const elements = [...document.querySelectorAll(DATA)].filter((element) => !element.closest('h1'))
    const inputs = [...document.querySelectorAll('input')].map((input) => input.value)
    const names = [...elements.map((element) => element.textContent.trim()), ...inputs]
    // A sentence with markup consists of several nodes; only its first and last one have a bracket.
    let depth = 0
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    while (walker.nextNode()) {
      const node = walker.currentNode
      let outside = ''
      for (const c of node.data) {
        if (c === '⟦') depth += 1
        else if (c === '⟧') depth -= 1
        else if (depth === 0) outside += c
      }
      // To a browser with scripts, markup in `noscript` is text.
      if (node.parentElement.closest('noscript')) outside = outside.replace(/<[^>]*>/g, '')
      if (!node.parentElement.closest(DATA) && !isName(node.parentElement)) texts.push(['text', outside.trim()])
    }
    const attributes = ['alt', 'aria-label', 'placeholder', 'title', 'data-label', 'data-copied', 'data-press']
    for (const element of document.querySelectorAll(attributes.map((name) => `[${name}]`).join())) {
      if (element.closest(DATA)) continue
      for (const name of attributes) {
        const value = element.getAttribute(name)
        if (value && !value.startsWith('⟦')) texts.push([name, value])
      }
    }
    const title = document.title.replace(/⟦[^⟧]*⟧/g, '').replace(/· .*/, '').trim()
    texts.push(['title', title])
    return texts.filter(([, text]) => !names.includes(text))
  }, DATA)
  const known = (text) => SAME_EVERYWHERE.some((pattern) => pattern.test(text)) || data.some((name) => text.includes(name))
  return found.filter(([, text]) => /\p{L}{2}/u.test(text) && !known(text))
}
