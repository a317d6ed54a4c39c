// Puts the examples into bodies and answers.
import { answers, bodies } from './examples.ts'

/** The content of a body with its example. */
export function describeBody(operationId: string, content: object): object {
  return withExample(content, bodies[operationId])
}

/** An answer with its example. */
export function describeAnswer(operationId: string, status: string, answer: object): object {
  if (!('content' in answer)) return answer
  const example = answers[`${operationId} ${status}`] ?? answers[operationId]
  return { ...answer, content: withExample(answer.content as object, example) }
}

function withExample(content: object, example: unknown): object {
  if (example === undefined) return content
  return Object.fromEntries(Object.entries(content).map(([type, media]) => [type, { example, ...(media as object) }]))
}
