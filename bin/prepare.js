// npm runs this after an install. Where the bundler was left out, or the program is not there yet, it does nothing: the program runs
// from its modules then. Plain JavaScript, because npm may run it with an old Node.
import { fileURLToPath } from 'node:url'

const needed = 24
if (Number(process.versions.node.split('.')[0]) >= needed)
  try {
    const { makeBundle } = await import('./bundle.ts')
    await makeBundle(fileURLToPath(new URL('..', import.meta.url)))
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') process.stderr.write(`mediagen was not bundled: ${error.message}\n`)
  }
