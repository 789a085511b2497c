// The programs that the examples for the shell use, with records of what they did.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { TIMEOUT } from '../../../tests/web/service.mjs'

const run = promisify(execFile)

/** Records the status of each response. */
const CURL = `
export PATH=$REAL_PATH
exec curl "$@" --write-out '%{stderr}%{http_code} %{method} %{url_effective}\\n' 2>>"$RECORDS/curl"`

/** Records the output. */
const JQ = `
set -o pipefail
export PATH=$REAL_PATH
printf '# %s\\n' "$*" >>"$RECORDS/jq"
jq "$@" | tee -a "$RECORDS/jq"`

/** Runs a command on the data of the service. `serve` starts another service, and stops it when it listens. */
const TOUCHLINE = `
export PATH=$REAL_PATH
unset TOUCHLINE_URL TOUCHLINE_API_KEY
if [ "$1" != serve ]; then exec "$PROGRAM" "$@" --data "$DATA"; fi
args=()
while [ $# -gt 0 ]; do
  case $1 in --listen|--data) shift ;; *) args+=("$1") ;; esac
  shift
done
coproc "$PROGRAM" "\${args[@]}" --listen 127.0.0.1:0 --data "$RECORDS/data" 2>&1
while read -r line <&"\${COPROC[0]}"; do
  echo "$line"
  case $line in *'listening on http://'*) kill "$COPROC_PID"; exit 0 ;; esac
done
exit 1`

/** Runs scripts with these programs in place of the installed ones. */
export class Shell {
  /** The folder is that of a project. `touchline` runs on the data of the service. */
  static async create(folder, service) {
    const bin = join(folder, 'bin')
    await mkdir(bin)
    for (const [name, text] of Object.entries({ curl: CURL, jq: JQ, touchline: TOUCHLINE })) {
      await writeFile(join(bin, name), `#!/usr/bin/env bash${text}\n`)
      await chmod(join(bin, name), 0o755)
    }
    return Object.assign(new Shell(), { folder, bin, service })
  }

  /**
   * Runs a script. Fails if a request has another status than 2xx or the next one of `errors`, or if `jq` prints
   * `null`, which is what it prints for a field that does not exist.
   */
  async run(script, env, errors = []) {
    const records = join(this.folder, 'records')
    await mkdir(records)
    const own = {
      PATH: `${this.bin}:${process.env.PATH}`,
      REAL_PATH: process.env.PATH,
      RECORDS: records,
      PROGRAM: process.env.TOUCHLINE_PROGRAM,
      DATA: this.service.folder,
    }
    try {
      const options = { cwd: this.folder, timeout: TIMEOUT, env: { ...env, ...own } }
      const { stdout } = await run('bash', ['--norc', '-eu', '-c', script], options).catch(failure)
      const requests = await lines(join(records, 'curl'))
      const failed = requests.filter((line) => /^(?!2)\d{3} /.test(line))
      assert.deepEqual(failed.map((line) => Number(line.slice(0, 3))), errors, failed.join('\n'))
      const output = await lines(join(records, 'jq'))
      const missing = output.filter((line) => /^(null|  "\w+": null,?)$/.test(line))
      assert.deepEqual(missing, [], output.join('\n'))
      return stdout
    } finally {
      await rm(records, { recursive: true })
    }
  }
}

/** Fails with the output of a program. */
export function failure({ message, stdout, stderr }) {
  assert.fail(`${message}\n${stdout}\n${stderr}`)
}

async function lines(file) {
  const text = await readFile(file, 'utf8').catch(() => '')
  return text.split('\n').filter(Boolean)
}
