// The process that signs: it has the key, and decodes nothing. Apart from the processes that look into outputs and mark them, so
// that a file that takes over its decoder finds no key there.
import { serveTasks } from '@mediagen/engine/serve.ts'
import type { SignRequest } from './request.ts'
import { signOutput } from './sign-output.ts'

serveTasks((request) => signOutput(request as SignRequest)).ready()
