// Projects that use the package, to compile and run examples.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { ROOT } from './support.mjs'

const run = promisify(execFile)
const COMPILER_OPTIONS = {
  strict: true,
  noEmit: true,
  target: 'ES2022',
  module: 'NodeNext',
  lib: ['ES2022', 'DOM', 'DOM.AsyncIterable'],
  types: ['node'],
  skipLibCheck: true,
  // Each example is a module of its own.
  moduleDetection: 'force',
}

/** Creates a project that uses the package and these other packages. Returns its folder, which the caller removes. */
export async function createProject(packages = []) {
  const folder = await mkdtemp(join(tmpdir(), 'touchline-examples-'))
  const modules = join(folder, 'node_modules')
  await writeFile(join(folder, 'package.json'), '{"type": "module"}')
  await mkdir(modules)
  await symlink(fileURLToPath(ROOT), join(modules, 'touchline'))
  for (const name of ['@types/node', ...packages]) {
    await mkdir(dirname(join(modules, name)), { recursive: true })
    await symlink(fileURLToPath(new URL(`node_modules/${name}`, ROOT)), join(modules, name))
  }
  return folder
}

/** Compiles examples, given by their file names, with the strict compiler. */
export async function compile(folder, examples) {
  for (const [file, text] of Object.entries(examples)) await writeFile(join(folder, file), text)
  const settings = { compilerOptions: COMPILER_OPTIONS, files: Object.keys(examples) }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(settings))
  const compiler = fileURLToPath(new URL('node_modules/.bin/tsc', ROOT))
  await run(compiler, ['-p', folder]).catch(({ stdout }) => assert.fail(stdout))
}
