// The program of the reader thread.
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { serveReads } from './read-loop.ts'

serveReads(parentPort as MessagePort, (workerData as { path: string }).path)
