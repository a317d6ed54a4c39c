// The kinds of providers.
import type { Backend } from './backend.ts'
import { aiSdk } from './backends/ai-sdk.ts'
import { cog } from './backends/cog.ts'
import { comfyui } from './backends/comfyui.ts'
import { fal } from './backends/fal.ts'
import { openai } from './backends/openai.ts'
import { replicate } from './backends/replicate.ts'
import { sdServer } from './backends/sd-server.ts'

/** Every kind of provider, by its name in a catalog. */
export const backends: ReadonlyMap<string, Backend> = new Map(
  [replicate, fal, openai, comfyui, cog, sdServer, aiSdk].map((backend) => [backend.kind, backend]),
)
