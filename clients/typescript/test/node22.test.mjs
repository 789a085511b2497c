// The tests of what depends most on the runtime, with Node.js 22 or newer.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { TIMEOUT } from '../../../tests/web/service.mjs'
import { failure } from './shell.mjs'

const run = promisify(execFile)

// They mostly wait, so they run at the same time.
describe('Node.js 22 or newer', { concurrency: 3 }, () => {
  for (const name of ['behaviour', 'oauth', 'webhooks']) {
    test(`${name}.test.mjs`, { timeout: TIMEOUT }, async () => {
      const file = fileURLToPath(new URL(`${name}.test.mjs`, import.meta.url))
      const cwd = fileURLToPath(new URL('../../../tests/web/', import.meta.url))
      const { NODE_TEST_CONTEXT: _, ...env } = process.env
      const options = { cwd, env, timeout: TIMEOUT, maxBuffer: 2 ** 26 }
      const { stdout } = await run(process.env.TOUCHLINE_NODE_22, ['--test-reporter=spec', file], options).catch(failure)
      assert.match(stdout, /^ℹ pass [1-9]/m)
    })
  }
})
