// Runs test files in the order of the arguments, two at a time. `node --test` would sort them by name, and the longest
// one would run alone at the end.

import { run } from 'node:test'
import { spec as Spec } from 'node:test/reporters'

const CONCURRENCY = 2

const folder = new URL('./', import.meta.url)
const files = process.argv.slice(2).map((name) => new URL(name, folder).pathname)
const results = run({ files, concurrency: CONCURRENCY })
results.on('test:fail', () => (process.exitCode = 1))
results.compose(new Spec()).pipe(process.stdout)
