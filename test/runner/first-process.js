// Loaded before a server: it believes that it is the first process of a host, as every container does.
import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'

Object.defineProperty(process, 'pid', { value: 1 })
os.hostname = () => 'container'
syncBuiltinESMExports()
