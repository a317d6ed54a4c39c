// The data that the parts of a run share.
import type { AfterLoss, Downloaded, DownloadOptions, Engine, EngineRun, JsonValue } from '@mediagen/engine/engine.ts'
import type { HeldFolder } from '@mediagen/engine/held-folder.ts'
import type { Logger } from 'pino'
import type { Model } from '../catalog/model.ts'
import type { AssetStore } from '../core/files/asset.ts'
import type { ClaimedJob, Job } from '../core/jobs/job.ts'
import type { Store } from '../core/store.ts'
import type { Traces } from '../core/traces.ts'
import type { MediaSource } from '../files/media/reader.ts'
import type { Allowance } from './slots/allowance.ts'

/** What a run needs. */
export interface RunDeps {
  readonly store: Pick<Store, 'finishJob' | 'getInput' | 'getJob' | 'saveCheckpoint' | 'showPreview'>
  readonly engines: ReadonlyMap<string, Engine>
  readonly assets: AssetStore
  readonly media: MediaSource
  /** Maximum bytes of the media of a job, all files together. */
  readonly maxInputBytes: number
  /** Downloads a URL to a path, again and again within its limits. */
  readonly download: (url: string, path: string, signal: AbortSignal, options?: DownloadOptions) => Promise<Downloaded>
  /** How long the outputs of a paid run are tried to be stored while the store of files is in trouble. */
  readonly paidOutputMs: number
  /** Whether outputs that could not be signed wait for an operator. */
  readonly holdsUnsigned: boolean
  /** Folder for the folders of runs. */
  readonly workFolder: string
  readonly log: Logger
  readonly traces: Traces
  /** 0 … 1, the jitter of retries. */
  readonly random: () => number
  readonly onRunEnded: (model: string, status: string) => void
  /** Called when a run has fetched its files and waits to be admitted. */
  readonly onFetched: () => void
}

/** Why a run is stopped before its engine ends it. */
export type StopReason = 'canceled' | 'deadline' | 'timeout' | 'lost' | 'stopping'

/** The drafts of a run. */
export interface Drafts {
  /** Shows a file of the engine's folder once the one before is shown; of several that wait, the last. */
  show(file: string): void
  /** Shows no more, and removes what was stored. */
  clear(): Promise<void>
}

/** The internal state of a run. */
export interface Attempt {
  readonly claimed: ClaimedJob
  readonly model: Model
  /** Folder of the run, with one folder for the media and one for the engine. */
  readonly folder: string
  /** Whether anything may be in the folder. */
  usesFolder: boolean
  /** Folder of the engine's outputs; null until the engine asks for it. */
  outputs: Promise<HeldFolder> | null
  /** Files of the media of its input, by JSON pointer; null if they were not fetched. */
  media: ReadonlyMap<string, string> | null
  /** Draft pictures that it shows; null before the first. */
  drafts: Drafts | null
  /** The checkpoint, as the store has it. */
  checkpoint: JsonValue
  /** What may be done when the run is lost, as the store has it. */
  afterLoss: AfterLoss
  readonly watched: Pick<EngineRun, 'signal' | 'onProgress'>
  /** The rest of the run's time limit. */
  readonly time: Allowance
  /** Resolves when the run has a slot, which may be from the beginning. */
  readonly enter: () => Promise<void>
  /** Whether something was submitted to another server, by this run or by the one that it continues. */
  isSubmitted: boolean
  /** Whether its input is the one of the record, with what the start added. */
  isAsRecorded: boolean
  readonly deps: RunDeps
  /** Ends the run because its claim is lost. */
  readonly lose: () => void
  /** Aborts when the end no longer matters: the claim was lost, or the server stops. */
  readonly abandoned: AbortSignal
  /** Settles when the engine has released the folder, possibly after the job has ended. */
  engineEnd: Promise<unknown>
  /** Whether there is an outcome, recorded or not. */
  decided: boolean
}

/** Whether the run waits for something that an earlier run submitted: its input was checked and its media sent then. */
export function continues({ claimed }: Pick<Attempt, 'claimed'>): boolean {
  return claimed.afterLoss === 'continue'
}

/** Each run stores its outputs in its own folder, so a stale run cannot touch those of another. */
export function toFolderName({ jobId, attempts }: Pick<Job, 'jobId' | 'attempts'>, attempt: number = attempts): string {
  return attempt === 1 ? jobId : `${jobId}-${attempt}`
}

/** The engine's folder; it is empty at the start, because programs leave their outputs there. */
export function toOutputFolder({ folder }: Pick<Attempt, 'folder'>): string {
  return `${folder}/outputs`
}
