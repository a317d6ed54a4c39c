// A server is killed, or told to stop, while files are uploaded. More kills: kill-upload.long.test.ts.
import { test } from 'vitest'
import { killUnderUploads, stopUnderUploads } from './kill-upload.ts'

test('a kill in the middle of uploads leaves nothing half-written, and no room is lost', () => killUnderUploads(1))
test('a server that is told to stop under uploads leaves nothing of them', stopUnderUploads)
