// The service beyond its pages: the JSON it prints at startup, its command line, the emails it sends, and
// services that a test starts for itself.

import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const PROGRAM = process.env.TOUCHLINE_PROGRAM ?? '../../target/debug/touchline'

/** Far more than anything needs: a shared machine can stall for minutes. While you write a test, set it lower. */
export const TIMEOUT = Number(process.env.TOUCHLINE_WEB_TIMEOUT ?? 600_000)

/** The PKCE verifier of all flows, and the parameters of its challenge. */
const VERIFIER = 'a-verifier-that-is-long-enough-for-every-test'
export const PKCE = {
  code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
  code_challenge_method: 'S256',
}

/** The password of every user that a test creates. */
export const PASSWORD = 'sturdy heron keeps the left flank'

/** A way to a service that can be cut: it passes on all bytes until then. */
export class Network {
  #sockets = new Set()
  #isCut = false

  /** Opens a way to the service at this URL, with a URL of its own. */
  static async to(target) {
    const network = new Network()
    const { hostname, port } = new URL(target)
    network.server = createServer((near) => network.#pass(near, () => connect(Number(port), hostname)))
    await new Promise((done) => network.server.listen(0, '127.0.0.1', done))
    network.url = `http://localhost:${network.server.address().port}`
    return network
  }

  #pass(near, open) {
    if (this.#isCut) {
      near.destroy()
      return
    }
    const far = open()
    for (const [socket, other] of [[near, far], [far, near]]) {
      this.#sockets.add(socket)
      socket.on('error', () => other.destroy())
      socket.on('close', () => {
        this.#sockets.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  }

  /** Ends all connections, and accepts no new ones. */
  cut() {
    this.#isCut = true
    for (const socket of this.#sockets) socket.destroy()
  }

  restore() {
    this.#isCut = false
  }

  close() {
    this.cut()
    this.server.close()
  }
}

/** Stops a process until it gets SIGCONT. On a busy machine its threads go on for a moment after the signal. */
async function pause(child) {
  child.kill('SIGSTOP')
  const folder = `/proc/${child.pid}/task`
  const isStopped = async (thread) => (await readFile(`${folder}/${thread}/stat`, 'utf8')).includes(') T ')
  await until('all threads are stopped', async () => {
    const states = await Promise.all((await readdir(folder)).map(isStopped))
    return states.every(Boolean)
  })
}

/** A running service with its command line. */
export class Service {
  constructor({ url, folder, startup, emailLog, settings, stop }) {
    Object.assign(this, { url, folder, startup, emailLog, settings, stop: stop ?? (() => {}) })
  }

  /** The service that all tests share. */
  static shared() {
    return new Service({
      url: process.env.TOUCHLINE_URL ?? 'http://localhost:8080',
      folder: process.env.TOUCHLINE_FOLDER,
      startup: JSON.parse(process.env.TOUCHLINE_DEMO_JSON ?? '{}'),
      emailLog: process.env.TOUCHLINE_EMAIL_LOG,
    })
  }

  /** Starts a service for one test, with these arguments and settings. The caller stops it. */
  static async start(args = [], settings = {}) {
    // Another process may take the free port first, so try three times.
    for (let tries = 3; ; tries -= 1) {
      try {
        return await Service.tryStart(args, settings)
      } catch (error) {
        if (tries === 1 || !error.message.includes('in use')) throw error
      }
    }
  }

  static async tryStart(args, settings) {
    const folder = await mkdtemp(join(tmpdir(), 'touchline-own-'))
    const port = await freePort()
    const url = `http://localhost:${port}`
    const child = spawn(
      PROGRAM,
      ['serve', '--json', ...args, '--listen', `127.0.0.1:${port}`, '--base-url', url, '--data', folder],
      { env: { ...environment(), TOUCHLINE_SIGN_IN_RATE: '60000', ...settings }, stdio: ['ignore', 'pipe', 'pipe'] },
    )
    const stop = async () => {
      const exited = new Promise((done) => child.once('exit', done))
      if (child.exitCode === null && child.kill()) await exited
      await rm(folder, { recursive: true, force: true })
    }
    const [out, err] = [collect(child.stdout), collect(child.stderr)]
    try {
      await until('the service listens', () => {
        if (child.exitCode !== null) throw new Error(`the service exited at startup:\n${err()}`)
        return err().includes('listening on http://')
      })
    } catch (error) {
      await stop()
      throw error
    }
    const service = new Service({ url, folder, startup: JSON.parse(out() || '{}'), settings: { TOUCHLINE_BASE_URL: url, ...settings }, stop })
    return Object.assign(service, { log: err, signal: (name) => child.kill(name), pause: () => pause(child) })
  }

  /** The id of the demo club. */
  get account() {
    return this.startup.demo.account.id
  }

  /** The demo key, which has every scope. */
  get key() {
    return this.startup.demo.key.value
  }

  /** Runs a command on the service's data and parses the JSON it prints. */
  async run(args, input = '') {
    const output = await new Promise((done, failed) => {
      const all = [...args, '--json', '--data', this.folder]
      const child = execFile(PROGRAM, all, { env: { ...environment(), ...this.settings } }, (error, out, err) =>
        error ? failed(new Error(`touchline ${args.join(' ')}: ${err || error.message}`)) : done(out),
      )
      // A command that reads no input may have exited already; its output tells the result.
      child.stdin.on('error', () => {})
      child.stdin.end(input)
    })
    return JSON.parse(output)
  }

  /** Creates a user with the common password. */
  async user(role, email, name = email.split('@')[0], account = this.account) {
    const args = ['user', 'create', '--account', account, '--email', email, '--name', name]
    const { user } = await this.run([...args, '--role', role, '--password-stdin'], `${PASSWORD}\n`)
    return { ...user, password: PASSWORD }
  }

  /** Registers an app. Apps of kind `server` have a secret. */
  async app(kind, redirectUri, { name = `Scores (${kind})`, scopes = 'teams:read', account = this.account } = {}) {
    const args = ['oauth-app', 'create', '--account', account, '--name', name, '--kind', kind]
    const scopeList = scopes.replaceAll(' ', ',')
    const { app } = await this.run([...args, '--redirect-uri', redirectUri, '--scopes', scopeList])
    return { id: app.id, secret: app.client_secret }
  }

  /** Creates a club with a key for full access. */
  async club(name) {
    const { account } = await this.run(['account', 'create', '--name', name, '--tier', 'club'])
    const { key } = await this.run(['key', 'create', '--account', account.id, '--name', 'All', '--scopes', '*'])
    return { account: account.id, key: key.value }
  }

  /** Sends a request to the API with the demo key, or with another token. */
  async api(method, path, body, bearer = this.key) {
    const response = await fetch(`${this.url}/api/public/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${bearer}`, 'Content-Type': 'application/json' },
      body: body && JSON.stringify(body),
    })
    return { status: response.status, headers: response.headers, ...(await response.json().catch(() => ({}))) }
  }

  /** Exchanges the authorization code in an app's callback URL for tokens. */
  async exchange(app, callbackUrl) {
    const { origin, pathname, searchParams } = new URL(callbackUrl)
    const grant = { grant_type: 'authorization_code', code: searchParams.get('code'), code_verifier: VERIFIER }
    const client = { client_id: app.id, ...(app.secret && { client_secret: app.secret }) }
    const body = new URLSearchParams({ ...grant, ...client, redirect_uri: origin + pathname })
    const response = await fetch(`${this.url}/oauth/token`, { method: 'POST', body })
    if (!response.ok) throw new Error(`the token request failed: ${await response.text()}`)
    return response.json()
  }

  /** Waits for an email to an address and returns the newest. */
  async email(address) {
    let newest
    await until(`an email to ${address} arrives`, async () => {
      const lines = (await readFile(this.emailLog, 'utf8')).split('\n').filter(Boolean).slice(1)
      newest = lines.filter((line) => line.includes(address)).map((line) => JSON.parse(line)).at(-1)
      return newest
    })
    return newest
  }
}

/** Waits until a condition is true, and returns its value. Fails after the timeout. */
export async function until(what, condition, timeout = TIMEOUT) {
  const end = Date.now() + timeout
  while (Date.now() < end) {
    const value = await condition()
    if (value) return value
    await new Promise((done) => setTimeout(done, 50))
  }
  throw new Error(`timed out waiting until ${what}`)
}

/** Starts a program that reads lines and prints lines of JSON. */
export function spawnLineProgram(program, args, folder) {
  const child = spawn(program, args, { cwd: folder, stdio: ['pipe', 'pipe', 'pipe'] })
  const [out, err] = [collect(child.stdout), collect(child.stderr)]
  let read = 0
  return {
    send: (line) => child.stdin.write(`${line}\n`),
    async receive() {
      const line = await until(`${args.join(' ') || program} prints a line`, () => {
        const lines = out().split('\n').slice(0, -1)
        if (lines.length > read) return lines[read]
        if (child.exitCode !== null) throw new Error(`it exited with ${child.exitCode}:\n${err()}`)
      })
      read += 1
      return JSON.parse(line)
    },
    stop: () => child.exitCode === null && child.kill(),
  }
}

function collect(stream) {
  let text = ''
  stream.setEncoding('utf8').on('data', (chunk) => (text += chunk))
  return () => text
}

/** The environment variables without settings of the service. */
function environment() {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('TOUCHLINE_')),
  )
}

/** A port that nothing uses. */
export function freePort() {
  return new Promise((done, failed) => {
    const probe = createServer().once('error', failed)
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address()
      probe.close(() => done(port))
    })
  })
}
