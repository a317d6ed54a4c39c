// POST /v1/images/edits: changed pictures for programs that speak OpenAI's interface. docs/openai.md.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Modality } from '../../../gen/mediagen/v1/catalog_pb.ts'
import type { File } from '../../../gen/mediagen/v1/files_pb.ts'
import { MediagenError } from '../../core/errors.ts'
import type { Keys } from '../../gateway/access.ts'
import { forward } from '../../gateway/core-client.ts'
import { isForm } from '../../gateway/http/form.ts'
import { json } from '../../gateway/openapi/document.ts'
import { readQuery } from '../../gateway/query.ts'
import { toPointerToken } from '../../schema/violations.ts'
import type { Attempts } from '../attempts.ts'
import { type DoorDeps, doorErrors, doorHeaders, doorQuery, findModel } from '../door.ts'
import { checkAnnouncedForm, type FormBounds, readEditForm } from './edit-form.ts'
import { type EditBody, mostPictures, readPictures, readTexts } from './edit-request.ts'
import { imagesSchema } from './image-answer.ts'
import { toImageOrder } from './image-request.ts'
import { bodySchema, makeImages } from './images.ts'
import { findPictureFields, placePictures } from './picture-fields.ts'
import { readStream } from './stream.ts'

/** What the door of edits needs. */
export interface EditsDeps extends DoorDeps {
  /** Name of the model where none is sent; null for none. */
  readonly editModel: string | null
  readonly formBounds: FormBounds
  /** Counts the bytes of a form that are not of its pictures toward the rate of its key. */
  readonly spend: Keys['spend']
}

const pictureWords = 'Picture, or a list of up to 16: a `data:` or `http(s):` URL, or the id of an upload (`file_…`).'

// What a picture may be is checked with its form.
const editSchema = {
  ...bodySchema,
  properties: {
    ...bodySchema.properties,
    prompt: { ...bodySchema.properties.prompt, description: 'What to change.' },
    image: { description: pictureWords },
    images: { type: ['array', 'null'], maxItems: mostPictures, description: 'The same as objects.' },
    mask: { description: 'What of the picture may change, for models that take a mask: a text, or one of `images`.' },
  },
} as const

const documentedSchema = {
  ...editSchema,
  properties: {
    ...editSchema.properties,
    images: {
      ...editSchema.properties.images,
      items: {
        title: 'ImageReference',
        type: 'object',
        description: 'A picture: its address, or its upload.',
        properties: {
          image_url: { type: 'string', description: 'A `data:` or `http(s):` URL.' },
          file_id: { type: 'string', description: 'Id of an upload (`POST /v1/files`).' },
        },
      },
    },
  },
}

const file = { type: 'string', contentMediaType: 'image/*' }
const { images: _asJson, ...formFields } = editSchema.properties
const formSchema = {
  ...bodySchema,
  required: ['image'],
  properties: {
    ...formFields,
    image: { ...file, description: 'A picture; several as several parts, also named `image[]`.' },
    mask: { ...file, description: 'What of it may change, for models that take a mask.' },
  },
}

/** Adds the route, and says at the one that OpenAI has retired where to go. */
export function addImageEdits(door: FastifyInstance, attempts: Attempts, deps: EditsDeps): void {
  const uploads = new WeakMap<FastifyRequest, ReadonlyMap<string, File>>()
  door.post<{ Body: EditBody }>(
    '/v1/images/edits',
    {
      config: { permission: 'generate', conflictStatus: 422, readsBody: true },
      schema: {
        operation: {
          id: 'editImage',
          summary: "Change pictures as OpenAI's interface does. The answer has the pictures when they are made.",
          query: doorQuery,
          headers: doorHeaders,
          content: { ...json(documentedSchema), 'multipart/form-data': { schema: formSchema } },
          answers: {
            200: { description: 'The pictures.', content: json(imagesSchema) },
            422: {
              description:
                'The Idempotency-Key was used with another request (`idempotency_key_reused`), or the uploads of the account have used up their space (`too_many_uploads`).',
            },
          },
          errors: [...doorErrors, 'invalid_media', 'file_not_found'],
        },
        body: editSchema,
      },
      onRequest(request, _reply, done) {
        const { 'content-type': type } = request.headers
        if (isForm(type)) checkAnnouncedForm(request, deps.formBounds)
        else if (!/^application\/json *(?:;|$)/i.test(type ?? ''))
          throw new MediagenError(
            'unsupported_media_type',
            'Send the pictures in a form (multipart/form-data), or the body as application/json.',
          )
        done()
      },
      async preValidation(request) {
        if (!isForm(request.headers['content-type'])) return
        try {
          const { caller } = request
          const spend = async (bytes: number): Promise<void> => (caller ? deps.spend(caller, bytes) : undefined)
          const { body, files } = await readEditForm(request, deps.core, deps.formBounds, spend)
          uploads.set(request, files)
          request.body = body
        } catch (error) {
          // Discards the rest of the body, so the client can read the answer.
          request.raw.resume()
          throw error
        }
      },
    },
    (request, reply) => answerEdit(request, reply, attempts, deps, uploads.get(request) ?? null),
  )

  door.post('/v1/images/variations', {
    config: { permission: 'any', readsBody: true },
    onRequest() {
      throw new MediagenError(
        'route_not_found',
        'OpenAI has retired variations of pictures. POST /v1/images/edits changes a picture as a prompt says.',
      )
    },
    handler() {},
  })
}

/** @param files those of a form; null for JSON */
async function answerEdit(
  request: FastifyRequest<{ Body: EditBody }>,
  reply: FastifyReply,
  attempts: Attempts,
  deps: EditsDeps,
  files: ReadonlyMap<string, File> | null,
): Promise<object> {
  readQuery(request, doorQuery)
  const { core, formBounds } = deps
  const { image: _image, images: _images, mask: _mask, ...rest } = request.body
  const partialImages = readStream(rest)
  const { stream: _stream, partial_images: _partialImages, ...described } = rest
  const { images, mask } = await readPictures(request.body, async (fileId) => {
    const known = files?.get(fileId) ?? (await core.files.getFile({ fileId }, forward(request))).file
    if (!known) throw new Error('the core sent no file')
    return known
  })
  const model = await findModel(request, core, {
    name: rest.model,
    fallback: deps.editModel,
    setting: 'MEDIAGEN_OPENAI_EDIT_MODEL',
    modality: Modality.IMAGE,
    makes: 'pictures',
  })
  const fields = files ? readTexts(described, model.inputSchema, formBounds.maxValues) : described
  const { input, names, count } = toImageOrder(dropEmptyPrompt(fields, model.inputSchema), model)
  const placed = placePictures(model, {
    images: images.map(({ reference }) => reference),
    mask: mask && mask.reference,
  })
  const { pictures, masks } = findPictureFields(model.inputSchema)
  const both = Object.keys(placed).find((name) => Object.hasOwn(input, name))
  if (both !== undefined) {
    const sent = masks.some(({ name }) => name === both) ? 'mask' : 'image'
    throw new MediagenError(
      'invalid_request',
      `The request has both ${sent} and ${both}, which are the same field of ${model.id}. Send one of them.`,
      { violations: [{ pointer: `/${toPointerToken(both)}`, detail: `must not be sent with ${sent}` }] },
    )
  }
  // A model may have fields for pictures that a request fills by their own names.
  if (images.length === 0 && (mask || !pictures.some(({ name }) => Object.hasOwn(input, name))))
    throw new MediagenError(
      'invalid_request',
      mask ? 'The mask has no picture: image is required.' : 'The request has no picture: image is required.',
      {
        violations: [{ pointer: '/image', detail: 'is required' }],
      },
    )
  return makeImages(request, reply, attempts, deps, {
    name: 'image_edit',
    fields,
    partialImages,
    model: model.id,
    input: { ...input, ...placed },
    names,
    count,
    body: JSON.stringify({ ...rest, image: images.map(({ digest }) => digest), mask: mask && mask.digest }),
  })
}

/** OpenAI's libraries always send a prompt, also to models that take none. */
function dropEmptyPrompt<Body extends EditBody>(body: Body, { properties }: { properties?: unknown }): Body {
  const hasPrompt = typeof properties === 'object' && properties !== null && Object.hasOwn(properties, 'prompt')
  return body['prompt'] === '' && !hasPrompt ? { ...body, prompt: null } : body
}
