// Builds the documentation site into site/dist from docs/ and the doc comments of src/; with --dev serves it, and shows
// each change of docs/. Its packages are installed into site/ at the first run; they are never dependencies of Highkiq.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, rmSync, watch } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { installPackages } from '../scripts/install-packages.js'

const folder = fileURLToPath(new URL('.', import.meta.url))
const docs = fileURLToPath(new URL('../docs', import.meta.url))
const pages = `${folder}pages`

installPackages(`${folder}package.json`, folder)
process.chdir(folder)
rmSync(pages, { recursive: true, force: true })
// A copy, because pages that lie outside of this folder do not find its packages.
cpSync(docs, pages, { recursive: true })
execFileSync(process.execPath, ['node_modules/typedoc/bin/typedoc'], { stdio: 'inherit' })

const { build, createServer } = await import('vitepress')
if (process.argv.includes('--dev')) {
  watch(docs, { recursive: true }, (_event, name) => {
    if (name && existsSync(`${docs}/${name}`)) cpSync(`${docs}/${name}`, `${pages}/${name}`)
  })
  const server = await createServer(folder)
  await server.listen()
  server.printUrls()
} else {
  await build(folder)
}
