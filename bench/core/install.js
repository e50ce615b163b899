// Installs the peers of npm into bench/peers at the first run; they are never dependencies of the package.
import { fileURLToPath } from 'node:url'
import { installPackages, versionOf as versionIn } from '../../scripts/install-packages.js'

const folder = fileURLToPath(new URL('../peers', import.meta.url))

/** The version of an installed package, or undefined. */
export const versionOf = (name, from = folder) => versionIn(name, from)

export const installPeers = () => installPackages(`${folder}/package.json`, folder)
