// The tool that uploads a file as an input: by its path where the agent's machine is this one, else by its content.
import type { File } from '@mediagen/client/client.ts'
import * as z from 'zod'
import { MediagenError, StartupError } from '../core/errors.ts'
import type { Facts } from './records.ts'
import type { AddTool } from './tool.ts'

/** Opens a file of this machine. @throws StartupError that says why it cannot be read */
export type OpenFile = (path: string) => Promise<Blob>

// Keeps an agent that was talked into it from sending keys and settings off this machine.
const mediaNames = /\.(?:png|jpe?g|webp|avif|gif|tiff?|mp4|m4v|3gp|mov|webm|mkv|mp3|wav|flac|og[ag]|opus|aac|m4a|mka)$/i

// Agents often send one.
const dataUrl = /^data:[\w.+/-]{0,100};base64,/

const about = {
  title: 'Upload a file',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
}
const purpose =
  'Stores a picture, a video or a sound as an input of models. Its file_id is a value wherever a schema of an input says "format": "media".'

/** Adds the tool. */
export function addUploadTool(add: AddTool, openFile?: OpenFile): void {
  if (openFile)
    add('upload_file', {
      ...about,
      description: `${purpose} Costs nothing.`,
      inputSchema: z.strictObject({
        path: z
          .string()
          .refine((path) => mediaNames.test(path), 'must be the path of a picture, a video or a sound')
          .describe('Path of a file on this machine.'),
      }),
      run: async (given, { client }) => ({ facts: toFileFacts(await client.upload(await open(openFile, given.path))) }),
    })
  else
    add('upload_file', {
      ...about,
      description: `${purpose} Costs nothing. The whole message has a limit (1 MB by default): a larger file goes with the same API key to POST /v1/files of this server, as in curl --data-binary @photo.jpg -H "Content-Type: image/jpeg" -H "Authorization: Bearer $MEDIAGEN_KEY" https://…/v1/files`,
      inputSchema: z.strictObject({
        content_base64: z
          .string()
          .refine((text) => !/[^\w+/=\s-]/.test(text.replace(dataUrl, '')), 'must be base64')
          .describe('The file, in base64.'),
      }),
      async run(given, { client }) {
        const content = new Blob([Buffer.from(given.content_base64.replace(dataUrl, ''), 'base64')])
        return { facts: toFileFacts(await client.upload(content)) }
      },
    })
}

async function open(openFile: OpenFile, path: string): Promise<Blob> {
  try {
    return await openFile(path)
  } catch (error) {
    if (!(error instanceof StartupError)) throw error
    const violations = [{ pointer: '/path', detail: error.message }]
    throw new MediagenError('invalid_request', error.message, { violations }, { cause: error })
  }
}

function toFileFacts({ file_id, url, content_type, bytes, expires_at }: File): Facts {
  return { file_id, url, content_type, bytes, expires_at }
}
