// The limits of media and of what makes them; a part of limits.ts, which explains the columns.
import { limit } from './setting.ts'

const huge = Number.MAX_SAFE_INTEGER

/** The limits of the media of a job, and of the processes that make them. */
export const mediaLimits = {
  maxUploadBytes: limit(
    'MEDIAGEN_MAX_UPLOAD_BYTES',
    104_857_600,
    [1024, huge],
    'Size of an upload (`POST /v1/files`), in bytes',
    '413 `payload_too_large`',
  ),
  maxInputBytes: limit(
    'MEDIAGEN_MAX_INPUT_BYTES',
    104_857_600,
    [1024, huge],
    'Total size of the media in the input of a job (`format: media`), in bytes',
    'The job fails with `invalid_media`, and its credits are released',
  ),
  mediaFetchSeconds: limit(
    'MEDIAGEN_MEDIA_FETCH_SECONDS',
    60,
    [1, 3600],
    'How long fetching one file from a URL in an input may take',
    'The job fails with `invalid_media`, and its credits are released',
  ),
  maxPixels: limit(
    'MEDIAGEN_MAX_PIXELS',
    50_000_000,
    [1, 1_000_000_000],
    'Pixels of a picture in an upload, an input or an output, or of one frame of an animation or a video; all frames of an animation together may have twenty times as many',
    '400 `invalid_media` for an upload; otherwise the job fails with `invalid_media` or `output_invalid`, and its credits are released',
  ),
  maxSidePixels: limit(
    'MEDIAGEN_MAX_SIDE_PIXELS',
    32_768,
    [1, 10_000_000],
    'Pixels of the longer side of such a picture or frame',
    '400 `invalid_media` for an upload; otherwise the job fails with `invalid_media` or `output_invalid`, and its credits are released',
  ),
  maxOutputBytes: limit(
    'MEDIAGEN_MAX_OUTPUT_BYTES',
    2_147_483_648,
    [1024, huge],
    'Total size of the outputs of a job, in bytes; an engine that writes more is stopped',
    'The job fails, and its credits are released',
  ),
  maxProviderAnswerBytes: limit(
    'MEDIAGEN_MAX_PROVIDER_ANSWER_BYTES',
    67_108_864,
    [65_536, 400_000_000],
    'Size of an answer of a provider, in bytes, which is held in memory; some have their files in it as base64',
    'The job fails with words that say so; an answer about the state of a run is asked for again until the time of the model is over',
  ),
  paidOutputSeconds: limit(
    'MEDIAGEN_PAID_OUTPUT_SECONDS',
    3600,
    [60, 604_800],
    'How long a run tries to store what another server made for it while the store of files is in trouble or refuses the key; the time limit of the model does not count meanwhile',
    'The job fails with `output_not_stored`, and its credits are released; what the provider billed stays on record',
  ),
  slots: limit(
    'MEDIAGEN_PLACES',
    0,
    [0, 10_000],
    'Jobs that a worker runs at the same time, besides those that only wait for other servers; 0 for two per core',
    'The job waits in the queue',
  ),
  childProcesses: limit(
    'MEDIAGEN_CHILD_PROCESSES',
    0,
    [0, 1024],
    'Built-in engine processes at the same time, one job each; 0 for one per core',
    'The job waits in the queue',
  ),
  spareProcesses: limit(
    'MEDIAGEN_SPARE_PROCESSES',
    1,
    [0, 1024],
    'Processes beyond those, and places for jobs, for accounts that have none while other accounts have all of them',
    'The job waits until a process is free',
  ),
  slotsPercent: limit(
    'MEDIAGEN_MAX_PLACES_PER_ACCOUNT',
    50,
    [1, 100],
    'Percentage of the jobs that a worker runs at the same time (`MEDIAGEN_PLACES`) that one account may have while jobs of others wait; at least one job',
    'The further jobs of the account wait in the queue',
  ),
  childSeconds: limit(
    'MEDIAGEN_CHILD_SECONDS',
    600,
    [1, 86_400],
    'How long a built-in engine process may work on one job before it is killed',
    'The job fails, and its credits are released',
  ),
  childMemoryBytes: limit(
    'MEDIAGEN_CHILD_MEMORY_BYTES',
    1_610_612_736,
    [134_217_728, huge],
    'Memory of a process that renders, or that decodes outputs to check them, together with an FFmpeg that it runs, in bytes; a process that uses more is killed',
    'The job fails, and its credits are released',
  ),
  childOpenFiles: limit(
    'MEDIAGEN_CHILD_OPEN_FILES',
    512,
    [64, 1_048_576],
    'Open files of such a process, and of an FFmpeg that it runs (Linux)',
    'The job fails, and its credits are released',
  ),
  childTasks: limit(
    'MEDIAGEN_CHILD_TASKS',
    256,
    [64, 4_194_304],
    'Threads and processes of such a process together with an FFmpeg that it runs (Linux, see docs/containment.md)',
    'The job fails, and its credits are released',
  ),
}
