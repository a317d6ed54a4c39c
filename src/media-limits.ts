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
    'The job fails with `invalid_media`',
  ),
  mediaFetchSeconds: limit(
    'MEDIAGEN_MEDIA_FETCH_SECONDS',
    60,
    [1, 3600],
    'How long fetching one file of an input may take',
    'The job fails with `invalid_media`',
  ),
  maxPixels: limit(
    'MEDIAGEN_MAX_PIXELS',
    50_000_000,
    [1, 1_000_000_000],
    'Pixels of an uploaded, input or output picture, or of one frame; all frames of an animation together may have twenty times as many',
    '400 `invalid_media` for an upload, else the job fails with `invalid_media` or `output_invalid`',
  ),
  maxSidePixels: limit(
    'MEDIAGEN_MAX_SIDE_PIXELS',
    32_768,
    [1, 10_000_000],
    'Pixels of the longer side of such a picture or frame',
    '400 `invalid_media` for an upload, else the job fails with `invalid_media` or `output_invalid`',
  ),
  maxOutputBytes: limit(
    'MEDIAGEN_MAX_OUTPUT_BYTES',
    2_147_483_648,
    [1024, huge],
    'Total size of the outputs of a job, in bytes',
    'The job fails',
  ),
  maxProviderAnswerBytes: limit(
    'MEDIAGEN_MAX_PROVIDER_ANSWER_BYTES',
    67_108_864,
    [65_536, 400_000_000],
    'Size of a provider’s answer, in bytes, in memory; some have files in it as base64',
    'The job fails; a question about the state of a run is repeated until the time limit of the model',
  ),
  paidOutputSeconds: limit(
    'MEDIAGEN_PAID_OUTPUT_SECONDS',
    3600,
    [60, 604_800],
    'How long a run tries to store outputs that a provider made while the store of files fails or refuses the key, beyond the time limit of the model',
    'The job fails with `output_not_stored`; what the provider billed stays on record',
  ),
  slots: limit(
    'MEDIAGEN_PLACES',
    0,
    [0, 10_000],
    'Concurrent jobs of a worker (slots), without those that only wait for other servers; 0 for two per core',
    'The job waits in the queue',
  ),
  childProcesses: limit(
    'MEDIAGEN_CHILD_PROCESSES',
    0,
    [0, 1024],
    'Concurrent processes of the built-in engine, one job each; 0 for one per core',
    'The job waits in the queue',
  ),
  spareProcesses: limit(
    'MEDIAGEN_SPARE_PROCESSES',
    1,
    [0, 1024],
    'Additional processes, and additional slots, for accounts that have none while others have all of them',
    'The job waits until a process is free',
  ),
  slotsPercent: limit(
    'MEDIAGEN_MAX_PLACES_PER_ACCOUNT',
    50,
    [1, 100],
    'Percentage of the slots of a worker that one account may have while jobs of others wait; at least one slot',
    'Further jobs of the account wait in the queue',
  ),
  childSeconds: limit(
    'MEDIAGEN_CHILD_SECONDS',
    600,
    [1, 86_400],
    'How long a process of the built-in engine may work on one job',
    'The job fails',
  ),
  childMemoryBytes: limit(
    'MEDIAGEN_CHILD_MEMORY_BYTES',
    1_610_612_736,
    [134_217_728, huge],
    'Memory of a process that renders or decodes, with its FFmpeg, in bytes',
    'The job fails',
  ),
  childOpenFiles: limit(
    'MEDIAGEN_CHILD_OPEN_FILES',
    512,
    [64, 1_048_576],
    'Open files of such a process, and of its FFmpeg (Linux)',
    'The job fails',
  ),
  childTasks: limit(
    'MEDIAGEN_CHILD_TASKS',
    256,
    [64, 4_194_304],
    'Threads and processes of such a process with its FFmpeg (Linux, see docs/containment.md)',
    'The job fails',
  ),
}
