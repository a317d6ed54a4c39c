// npm runs this after an install. It bundles the program, if the bundler is there: a development dependency. Without a bundle the
// program runs from its sources, so this never fails. Plain JavaScript, because npm may run it with an old Node.
import { fileURLToPath } from 'node:url'

const needed = 24
if (Number(process.versions.node.split('.')[0]) >= needed)
  try {
    const { makeBundle } = await import('./make-bundle.ts')
    await makeBundle(fileURLToPath(new URL('..', import.meta.url)))
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') process.stderr.write(`mediagen was not bundled: ${error.message}\n`)
  }
