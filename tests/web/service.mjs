// The service from its other side: what it said at its start, its command line, its letters, and
// services that a test starts for itself.

import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const PROGRAM = process.env.TOUCHLINE_PROGRAM ?? '../../target/debug/touchline'

/** Many times what anything takes: a machine that is shared with others can stand still for minutes. */
export const PATIENCE = 600_000

/** A secret between two steps of an app, and what the first step says of it. */
const VERIFIER = 'a-verifier-that-is-long-enough-for-everybody'
export const PKCE = {
  code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
  code_challenge_method: 'S256',
}

/** The password of everybody a test makes. */
export const PASSWORD = 'sturdy heron keeps the left flank'

/** A running service with its command line. */
export class Service {
  constructor({ url, folder, said, letters, stop }) {
    Object.assign(this, { url, folder, said, letters, stop: stop ?? (() => {}) })
  }

  /** The service that all tests share. */
  static shared() {
    return new Service({
      url: process.env.TOUCHLINE_URL ?? 'http://localhost:8080',
      folder: process.env.TOUCHLINE_FOLDER,
      said: JSON.parse(process.env.TOUCHLINE_SAID ?? '{}'),
      letters: process.env.TOUCHLINE_LETTERS,
    })
  }

  /** Starts a service for one test, with these words and settings. It must be stopped. */
  static async start(words = [], settings = {}) {
    // Somebody else may take the free port before the service does, hence more than one try.
    for (let tries = 3; ; tries -= 1) {
      try {
        return await Service.tryStart(words, settings)
      } catch (error) {
        if (tries === 1 || !error.message.includes('in use')) throw error
      }
    }
  }

  static async tryStart(words, settings) {
    const folder = await mkdtemp(join(tmpdir(), 'touchline-own-'))
    const port = await freePort()
    const url = `http://localhost:${port}`
    const child = spawn(
      PROGRAM,
      ['serve', '--json', ...words, '--listen', `127.0.0.1:${port}`, '--base-url', url, '--data', folder],
      { env: { ...plain(), TOUCHLINE_SIGN_IN_RATE: '60000', ...settings }, stdio: ['ignore', 'pipe', 'pipe'] },
    )
    const stop = async () => {
      const ended = new Promise((done) => child.once('exit', done))
      if (child.exitCode === null && child.kill()) await ended
      await rm(folder, { recursive: true, force: true })
    }
    const [out, err] = [collect(child.stdout), collect(child.stderr)]
    try {
      await until('the service comes up', () => {
        if (child.exitCode !== null) throw new Error(`the service ended at once:\n${err()}`)
        return err().includes('listening on http://')
      })
    } catch (error) {
      await stop()
      throw error
    }
    const service = new Service({ url, folder, said: JSON.parse(out() || '{}'), stop })
    return Object.assign(service, { log: err })
  }

  /** The club of the demonstration. */
  get account() {
    return this.said.demo.account.id
  }

  /** A key with every scope. */
  get key() {
    return this.said.demo.key.value
  }

  /** Runs a command on the service's data and reads what it says. */
  async run(words, input = '') {
    const said = await new Promise((done, failed) => {
      const all = [...words, '--json', '--data', this.folder]
      const child = execFile(PROGRAM, all, { env: plain() }, (error, out, err) =>
        error ? failed(new Error(`touchline ${words.join(' ')}: ${err || error.message}`)) : done(out),
      )
      // A command that reads nothing may have ended by now; what it said tells how it went.
      child.stdin.on('error', () => {})
      child.stdin.end(input)
    })
    return JSON.parse(said)
  }

  /** Somebody who can sign in with the usual password. */
  async user(role, email, name = email.split('@')[0], account = this.account) {
    const words = ['user', 'create', '--account', account, '--email', email, '--name', name]
    const said = await this.run([...words, '--role', role, '--password-stdin'], `${PASSWORD}\n`)
    return { ...said.user, password: PASSWORD }
  }

  /** Registers an app; a confidential one comes with its secret. */
  async app(kind, redirectUri, { name = `Scores (${kind})`, scopes = 'teams:read', account = this.account } = {}) {
    const words = ['oauth-app', 'create', '--account', account, '--name', name, '--kind', kind]
    const listed = scopes.replaceAll(' ', ',')
    const { app } = await this.run([...words, '--redirect-uri', redirectUri, '--scopes', listed])
    return { id: app.id, secret: app.client_secret }
  }

  /** A club of its own, with a key that may do everything. */
  async club(name) {
    const { account } = await this.run(['account', 'create', '--name', name, '--tier', 'club'])
    const { key } = await this.run(['key', 'create', '--account', account.id, '--name', 'All', '--scopes', '*'])
    return { account: account.id, key: key.value }
  }

  /** Asks the API as the key does, or as another bearer. */
  async api(method, path, body, bearer = this.key) {
    const answer = await fetch(`${this.url}/api/public/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${bearer}`, 'Content-Type': 'application/json' },
      body: body && JSON.stringify(body),
    })
    return { status: answer.status, headers: answer.headers, ...(await answer.json().catch(() => ({}))) }
  }

  /** Exchanges the code in the address that an app was called at. */
  async exchange(app, back) {
    const { origin, pathname, searchParams } = new URL(back)
    const asked = { grant_type: 'authorization_code', code: searchParams.get('code'), code_verifier: VERIFIER }
    const who = { client_id: app.id, ...(app.secret && { client_secret: app.secret }) }
    const body = new URLSearchParams({ ...asked, ...who, redirect_uri: origin + pathname })
    const answer = await fetch(`${this.url}/oauth/token`, { method: 'POST', body })
    if (!answer.ok) throw new Error(`no token: ${await answer.text()}`)
    return answer.json()
  }

  /** The newest letter to an address, waited for. */
  async letter(address) {
    let found
    await until(`a letter to ${address} arrives`, async () => {
      const lines = (await readFile(this.letters, 'utf8')).split('\n').filter(Boolean).slice(1)
      found = lines.filter((line) => line.includes(address)).map((line) => JSON.parse(line)).at(-1)
      return found
    })
    return found
  }
}

/** Waits until something holds, within bounds. */
export async function until(what, holds, patience = PATIENCE) {
  const end = Date.now() + patience
  while (Date.now() < end) {
    const held = await holds()
    if (held) return held
    await new Promise((done) => setTimeout(done, 50))
  }
  throw new Error(`waited in vain until ${what}`)
}

/** A program that is told and tells lines. */
export function converse(program, words, folder) {
  const child = spawn(program, words, { cwd: folder, stdio: ['pipe', 'pipe', 'pipe'] })
  const [out, err] = [collect(child.stdout), collect(child.stderr)]
  let read = 0
  return {
    tell: (line) => child.stdin.write(`${line}\n`),
    async hear() {
      const line = await until(`${words.join(' ') || program} says something`, () => {
        const lines = out().split('\n').slice(0, -1)
        if (lines.length > read) return lines[read]
        if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}:\n${err()}`)
      })
      read += 1
      return JSON.parse(line)
    },
    stop: () => child.exitCode === null && child.kill(),
  }
}

function collect(stream) {
  let text = ''
  stream.setEncoding('utf8').on('data', (more) => (text += more))
  return () => text
}

/** The environment without settings of the service. */
function plain() {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('TOUCHLINE_')),
  )
}

function freePort() {
  return new Promise((done, failed) => {
    const probe = createServer().once('error', failed)
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address()
      probe.close(() => done(port))
    })
  })
}
