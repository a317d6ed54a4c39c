// A fake ComfyUI 0.33, made after a transcript of the real one (data/comfyui-transcript.json), which comfyui.test.ts plays to it.
import type { FakeAnswer, FakeRequest, FakeUpstream } from './fake.ts'
import { tinyPng } from './fake.ts'
import { readMultipart } from './multipart.ts'

type Workflow = Record<string, { class_type: string; inputs: Record<string, unknown> }>

interface Entry {
  readonly id: string
  readonly number: number
  readonly prompt: Workflow
  readonly clientId: string
  status: 'pending' | 'in_progress' | 'completed' | 'failed' | 'cancelled'
  polls: number
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const known = new Set([
  'EmptyImage',
  'SaveImage',
  'ImageScale',
  'SaveAnimatedWEBP',
  'ImageCrop',
  'CreateVideo',
  'SaveVideo',
  'LoadImage',
  'Text',
])
const isSaver = (type: string): boolean => type.startsWith('Save')

/** A fake ComfyUI. `old` has no /api/jobs, as before 0.3.70. */
export function createFakeComfyui(
  options: { readonly polls?: number; readonly fails?: string; readonly old?: boolean } = {},
): FakeUpstream & { readonly entries: readonly Entry[]; readonly uploads: string[]; restart(): void } {
  const { polls = 1, fails, old = false } = options
  let entries: Entry[] = []
  const uploads: string[] = []
  // The same id twice runs twice, and the later one is answered.
  const find = (id: string): Entry | undefined => entries.findLast((entry) => entry.id === id)
  // One at a time.
  const isRunning = (): boolean => entries.some(({ status }) => status === 'in_progress')
  const notFound: FakeAnswer = { status: 404, json: { error: 'Job not found' } }

  function submit({ json }: FakeRequest): FakeAnswer {
    const {
      prompt = {},
      prompt_id: id = '',
      client_id: clientId = '',
    } = json as {
      prompt?: Workflow
      prompt_id?: string
      client_id?: string
    }
    const refuse = (type: string, message: string, details: string, nodes: object = {}): FakeAnswer => ({
      status: 400,
      json: { error: { type, message, details, extra_info: {} }, node_errors: nodes },
    })
    if (!uuid.test(id))
      return refuse('invalid_prompt_id', 'prompt_id must be a valid UUID', 'prompt_id must be a UUID string')
    for (const [node, { class_type: type, inputs }] of Object.entries(prompt)) {
      if (!known.has(type))
        return refuse(
          'missing_node_type',
          `Node '${type}' not found. The custom node may not be installed.`,
          `Node ID '#${node}'`,
        )
      if (type === 'EmptyImage' && typeof inputs['width'] !== 'number') {
        const details = `width, ${String(inputs['width'])}, invalid literal for int() with base 10: '${String(inputs['width'])}'`
        const errors = [
          {
            type: 'invalid_input_type',
            message: 'Failed to convert an input value to a INT value',
            details,
            extra_info: {},
          },
        ]
        return refuse('prompt_outputs_failed_validation', 'Prompt outputs failed validation', '', {
          [node]: { errors, dependent_outputs: ['9'], class_type: type },
        })
      }
    }
    const number = entries.length
    entries.push({ id, number, prompt, clientId, status: isRunning() ? 'pending' : 'in_progress', polls: 0 })
    return { status: 200, json: { prompt_id: id, number, node_errors: {} } }
  }

  function advance(entry: Entry): Entry {
    if (entry.status !== 'pending' && entry.status !== 'in_progress') return entry
    if (entry.status === 'pending' && isRunning()) return entry
    entry.polls += 1
    if (entry.polls <= polls) entry.status = 'in_progress'
    else entry.status = fails === undefined ? 'completed' : 'failed'
    return entry
  }

  function listOutputs(entry: Entry): object {
    return Object.fromEntries(
      Object.entries(entry.prompt)
        .filter(([, { class_type: type }]) => isSaver(type))
        .map(([node, { inputs }]) => {
          const [subfolder = '', name = ''] = String(inputs['filename_prefix']).split('/')
          return [
            node,
            {
              images: [
                { filename: `${name}_00001_.png`, subfolder, type: 'output' },
                { filename: 'draft.png', subfolder: '', type: 'temp' },
              ],
            },
          ]
        }),
    )
  }

  const failure = {
    node_type: 'SaveVideo',
    exception_message: `${fails}\n`,
    traceback: ['  File "/srv/secret/execution.py"'],
  }

  function showJob(entry: Entry): FakeAnswer {
    const { id, status, number: priority } = entry
    const json = {
      id,
      status,
      priority,
      create_time: 1,
      outputs_count: status === 'completed' ? 1 : 0,
      previewable_outputs_count: 0,
    }
    if (status === 'pending' || status === 'in_progress') return { status: 200, json }
    const times = { execution_start_time: 1000, execution_end_time: 3500 }
    const outputs = status === 'completed' ? listOutputs(entry) : {}
    return {
      status: 200,
      json: { ...json, ...times, outputs, ...(status === 'failed' && { execution_error: failure }) },
    }
  }

  function showHistory(id: string): FakeAnswer {
    const entry = find(id)
    if (!entry || advance(entry).status === 'pending' || entry.status === 'in_progress')
      return { status: 200, json: {} }
    const done = entry.status === 'completed'
    const messages = [
      ['execution_start', {}],
      [
        entry.status === 'cancelled' ? 'execution_interrupted' : done ? 'execution_success' : 'execution_error',
        failure,
      ],
    ]
    const status = { status_str: done ? 'success' : 'error', completed: done, messages }
    return {
      status: 200,
      json: { [id]: { prompt: [entry.number, id, entry.prompt], outputs: done ? listOutputs(entry) : {}, status } },
    }
  }

  function cancel(id: string): boolean {
    const entry = find(id)
    if (entry?.status === 'pending') {
      // What waits is forgotten.
      entries = entries.filter((one) => one !== entry)
      return true
    }
    if (entry?.status !== 'in_progress') return false
    entry.status = 'cancelled'
    return true
  }

  function queue(status: Entry['status']): unknown[] {
    return entries
      .filter((entry) => entry.status === status)
      .map(({ number, id, prompt }) => [number, id, prompt, {}, []])
  }

  return {
    get entries() {
      return entries
    },
    uploads,
    restart: () => (entries = []),
    answer(request) {
      const { method, path, query, json } = request
      const [, id = '', action] = (!old && /^\/api\/jobs\/([^/]+)(\/cancel)?$/.exec(path)) || []
      if (id !== '' && action) return { status: 200, json: { cancelled: cancel(id) } }
      if (id !== '') {
        const entry = find(id)
        return entry ? showJob(advance(entry)) : notFound
      }
      switch (`${method} ${path}`) {
        case 'POST /prompt':
          return submit(request)
        case 'GET /system_stats':
          return { status: 200, json: { system: {} } }
        case 'GET /queue':
          return { status: 200, json: { queue_running: queue('in_progress'), queue_pending: queue('pending') } }
        case 'POST /queue': {
          for (const one of (json as { delete: string[] }).delete) if (find(one)?.status === 'pending') cancel(one)
          return { status: 200 }
        }
        case 'POST /interrupt':
          cancel(String((json as { prompt_id: unknown }).prompt_id))
          return { status: 200 }
        case 'POST /upload/image': {
          const { image, subfolder } = readMultipart(request)
          uploads.push(String(image))
          return { status: 200, json: { name: `${uploads.length}.png`, subfolder, type: 'input' } }
        }
        case 'GET /view':
          return query.get('type') === 'output'
            ? { status: 200, headers: { 'content-type': 'image/png' }, body: tinyPng }
            : { status: 404 }
        default:
          return path.startsWith('/history/')
            ? showHistory(path.slice('/history/'.length))
            : { status: 404, body: '404: Not Found' }
      }
    },
  }
}
