// Where Node keeps the code that it has compiled: it runs what it finds there, so nobody else may write there, nor in any folder above.
// Plain JavaScript: stripping types before there is a cache would load Node's stripper at each start.
import { lstatSync, mkdirSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'

const writableByOthers = 0o022
const sticky = 0o1000

/**
 * The folder for the compiled code of an installation, which is made if it is missing. Null if it is not this user's own, or others
 * could replace it: nothing is kept then, and every start compiles anew.
 * @param {string} root folder of the installation
 * @returns {string | null}
 */
export function findCompileCache(root) {
  const folder = join(root, 'node_modules/.cache/mediagen/compile')
  try {
    // Looked at first: nothing is left in an installation of somebody else.
    if (!isSafe(join(root, 'node_modules'))) return null
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    return realpathSync(folder) === join(realpathSync(root), 'node_modules/.cache/mediagen/compile') &&
      lstatSync(folder).uid === process.getuid?.() &&
      isSafe(folder)
      ? folder
      : null
  } catch {
    return null
  }
}

/**
 * Whether only this user and root can write to a folder, or put another one in its place.
 * @param {string} path
 * @returns {boolean}
 */
function isSafe(path) {
  const own = process.getuid?.()
  /** @type {(folder: string, isLast: boolean) => boolean} */
  const isFolderSafe = (folder, isLast) => {
    const { uid, mode } = lstatSync(folder)
    const isOwned = uid === own || uid === 0
    // In a sticky folder nobody replaces what belongs to others.
    const isClosed = (mode & writableByOthers) === 0 || (!isLast && (mode & sticky) !== 0)
    const parent = dirname(folder)
    return isOwned && isClosed && (parent === folder || isFolderSafe(parent, false))
  }
  return isFolderSafe(realpathSync(path), true)
}
