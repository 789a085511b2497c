// The pages of the service, as its source says: a new page without a test is a fault.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const SOURCE = join(import.meta.dirname, '../../crates/touchline/src')

/** What has routes but no pages: for programs, for load balancers, for browsers. */
const NO_PAGES = [/(^|\/)api(\/|\.rs$)/, /^web\/(health|docs|assets|routes)\.rs$/]

/** Addresses beside pages that only programs ask for. */
const FOR_PROGRAMS = [/^\/\.well-known\//, /^\/oauth\/(token|revoke|introspect)$/, /\.csv$/]

/** Every route of pages: `{ path, methods, file }`. */
export function pageRoutes() {
  const files = readdirSync(SOURCE, { recursive: true }).filter((name) => name.endsWith('.rs'))
  const found = []
  for (const file of files) {
    if (NO_PAGES.some((pattern) => pattern.test(file))) continue
    const text = readFileSync(join(SOURCE, file), 'utf8').split('#[cfg(test)]')[0]
    for (const piece of text.split(/\.route\(/).slice(1)) {
      const [, written, name, rest] = /^\s*(?:"([^"]+)"|([A-Z_]+)),([^]*)$/.exec(piece) ?? []
      const path = written ?? new RegExp(`const ${name}: &str = "([^"]+)"`).exec(text)?.[1]
      if (!path) throw new Error(`a route of ${file} is not to be understood: ${piece.slice(0, 60)}`)
      if (FOR_PROGRAMS.some((pattern) => pattern.test(path))) continue
      // The handlers end where the next route or the next step of the router begins.
      const handlers = rest.split(/\n\s*(?:\.(?:route|merge|layer|with_state|nest)\b|\})/)[0]
      const methods = ['get', 'post'].filter((name) => new RegExp(`\\b${name}\\(`).test(handlers))
      found.push({ path, methods, file })
    }
  }
  return found.sort((one, other) => one.path.localeCompare(other.path))
}
