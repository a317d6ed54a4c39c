// A fake ComfyUI 0.33, made after a transcript of the real one (data/comfyui-transcript.json), which comfyui.test.ts plays to it.
import type { FakeAnswer, FakeRequest, FakeUpstream } from './fake.ts'
import { tinyPng } from './fake.ts'
import { readMultipart } from './multipart.ts'
import type { FakeSocket } from './socket.ts'

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

/** A picture as a binary message: as older servers send it, or with words about it. */
export function toPicture(words: object | null, picture: Buffer = tinyPng): Buffer {
  const json = Buffer.from(JSON.stringify(words))
  const head = Buffer.alloc(8)
  head.writeUInt32BE(words ? 4 : 1, 0)
  // Of the plain one, the number of its format.
  head.writeUInt32BE(words ? json.length : 2, 4)
  return Buffer.concat(words ? [head, json, picture] : [head, picture])
}

interface FakeComfyui extends FakeUpstream {
  readonly entries: readonly Entry[]
  readonly uploads: string[]
  restart(): void
  /** Ends the run at the next question. */
  finish(): void
  /** The next client that connected and said what it understands. */
  nextClient(): Promise<FakeSocket & { readonly id: string }>
}

/**
 * A fake ComfyUI. `old` has no /api/jobs, as before 0.3.70; `names` is false if it does
 * not say which run a picture is of; a `quiet` one tells its clients nothing by itself.
 */
export function createFakeComfyui(
  options: {
    readonly polls?: number
    readonly fails?: string
    readonly old?: boolean
    readonly names?: boolean
    readonly quiet?: boolean
  } = {},
): FakeComfyui {
  const { fails, old = false, names = true, quiet = false } = options
  let { polls = 1 } = options
  let entries: Entry[] = []
  const clients = new Map<string, FakeSocket>()
  const arrivals: (FakeSocket & { id: string })[] = []
  let onArrival = (): void => {}
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
    tell(entry)
    return entry
  }

  /** One node after the other, a question each. */
  function tell({ id, clientId, prompt, polls: asked }: Entry): void {
    const client = clients.get(clientId)
    if (!client || quiet) return
    const begun = Object.keys(prompt).slice(0, asked)
    const nodes = begun.map((node, index) => {
      const value = index < asked - 1 ? 1 : 0
      return [node, { value, max: 1, state: value ? 'finished' : 'running', node_id: node, prompt_id: id }]
    })
    client.send({ type: 'progress_state', data: { prompt_id: id, nodes: Object.fromEntries(nodes) } })
    client.send({ type: 'executing', data: { node: begun.at(-1), prompt_id: id } })
    client.send(toPicture(names ? { node_id: begun.at(-1), prompt_id: id, image_type: 'image/png' } : null))
  }

  function socket({ path, query }: FakeRequest, client: FakeSocket): void {
    if (path !== '/ws') return client.cut()
    const id = query.get('clientId') ?? ''
    clients.set(id, client)
    client.send({ type: 'status', data: { status: { exec_info: { queue_remaining: 0 } }, sid: id } })
    client.onText = (text) => {
      const { type, data } = JSON.parse(text) as { type: string; data: { supports_preview_metadata?: boolean } }
      if (type !== 'feature_flags' || !data.supports_preview_metadata) return
      if (names) client.send({ type, data: { supports_preview_metadata: true, max_upload_size: 104857600 } })
      arrivals.push(Object.assign(client, { id }))
      onArrival()
    }
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
      ['execution_start', { timestamp: 1000 }],
      [
        entry.status === 'cancelled' ? 'execution_interrupted' : done ? 'execution_success' : 'execution_error',
        { timestamp: 3500, ...(!done && failure) },
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
    finish: () => (polls = 0),
    async nextClient() {
      for (;;) {
        const client = arrivals.shift()
        if (client) return client
        await new Promise<void>((done) => (onArrival = done))
      }
    },
    socket,
    answer(request) {
      const { method, path, query, json } = request
      const [, id = '', action] = (!old && /^\/api\/jobs\/([^/]+)(\/cancel)?$/.exec(path)) || []
      if (id !== '' && action) return { status: 200, json: { cancelled: cancel(id) } }
      if (id !== '') {
        const entry = find(id)
        return entry ? showJob(advance(entry)) : notFound
      }
      if (path.startsWith('/object_info/')) {
        const type = decodeURIComponent(path.slice('/object_info/'.length))
        return { status: 200, json: known.has(type) ? { [type]: { input: {} } } : {} }
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
