// The routes of all pages, read from the source code. A test fails for a page that no test opens.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const CRATES = join(import.meta.dirname, '../../crates')
const NAMES = ['base', 'web', 'club', 'commerce', 'identity', 'integrations', 'touchline']

/** Source files with routes that are not pages. */
const NO_PAGES = [/(^|\/)api(\/|\.rs$)/, /^web\/(health|docs|assets|team_look|routes)\.rs$/]

/** Paths that only programs request, and files. */
const FOR_PROGRAMS = [/^\/\.well-known\//, /^\/oauth\/(token|revoke|introspect)$/, /^\/(manifest\.webmanifest|service-worker\.js|files\/\{file\})$/, /\.csv$/]

/** All routes of pages: `{ path, methods, file }`. */
export function pageRoutes() {
  const files = NAMES.flatMap((name) => {
    const folder = join(CRATES, name, 'src')
    return readdirSync(folder, { recursive: true }).map((file) => ({ folder, file }))
  })
  const routes = []
  for (const { folder, file } of files) {
    if (!file.endsWith('.rs') || NO_PAGES.some((pattern) => pattern.test(file))) continue
    const text = readFileSync(join(folder, file), 'utf8').split('#[cfg(test)]')[0]
    for (const piece of text.split(/\.route\(/).slice(1)) {
      const [, literal, name, rest] = /^\s*(?:"([^"]+)"|([A-Z_]+)),([^]*)$/.exec(piece) ?? []
      const path = literal ?? new RegExp(`const ${name}: &str = "([^"]+)"`).exec(text)?.[1]
      if (!path) throw new Error(`cannot parse a route of ${file}: ${piece.slice(0, 60)}`)
      if (FOR_PROGRAMS.some((pattern) => pattern.test(path))) continue
      // The handlers end at the next call on the router.
      const handlers = rest.split(/\n\s*(?:\.(?:route|merge|layer|with_state|nest)\b|\})/)[0]
      const methods = ['get', 'post'].filter((name) => new RegExp(`\\b${name}\\(`).test(handlers))
      routes.push({ path, methods, file })
    }
  }
  return routes.sort((one, other) => one.path.localeCompare(other.path))
}
