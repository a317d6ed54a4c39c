import { join } from 'node:path'
import config from './vitest.config.ts'
const c: any = config
c.test.setupFiles = [join(import.meta.dirname, 'zz-setup.ts'), ...c.test.setupFiles]
c.test.maxWorkers = 1
for (const p of c.test.projects) p.extends = './zz.config.ts'
c.test.projects = c.test.projects.filter((p: any) => p.test.name === 'default').map((p: any) => ({ ...p, extends: false, test: { ...c.test, projects: undefined, ...p.test } }))
export default c
