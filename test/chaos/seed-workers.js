/**
 * Works for each seed of a process of `shared-crew.ts`: `work` gets the arguments of a seed, and a function that writes a line
 * to it. It resolves when the seed's worker has started.
 */
export async function forEachSeed(work) {
  const seeds = JSON.parse(process.argv[2])
  const sayFor = (n) => (line) => process.stdout.write(`${n} ${line}\n`)
  await Promise.all(
    seeds.map(async (args, n) => {
      await work(args, sayFor(n))
      sayFor(n)('ready')
    }),
  )
}
