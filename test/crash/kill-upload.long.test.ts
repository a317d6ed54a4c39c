// The real server is killed again and again while files are uploaded. MEDIAGEN_TEST_KILLS=<count> makes another run.
import { test } from 'vitest'
import { killUnderUploads } from './kill-upload.ts'

const kills = Number(process.env['MEDIAGEN_TEST_KILLS'] ?? 20)

test(`${kills} kills in the middle of uploads leave nothing half-written, and no room is lost`, () =>
  killUnderUploads(kills))
