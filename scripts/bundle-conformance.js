// Builds highkiq/store/conformance from test/conformance: dist/conformance/index.js, and the programs that it starts. The
// suite imports the rest of the package, so that it tests the stores that are registered there.
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const root = fileURLToPath(new URL('../', import.meta.url))
const source = `${root}test/conformance`

const bundle = await rolldown({
  cwd: root,
  input: {
    index: `${source}/index.ts`,
    victim: `${source}/workers/victim.js`,
    'ordered-victim': `${source}/ordered/ordered-victim.js`,
  },
  external: /^(?!vitest$)[^./]/,
  platform: 'node',
  plugins: [
    {
      // Our own tests use vitest's expect; those who test a store of theirs need not install vitest.
      name: 'expect',
      resolveId: { order: 'pre', handler: (id) => (id === 'vitest' ? `${source}/expect.ts` : null) },
    },
  ],
})
rmSync(`${root}dist/conformance`, { recursive: true, force: true })
await bundle.write({ dir: 'dist/conformance', format: 'esm', chunkFileNames: '[name].js' })
await bundle.close()
