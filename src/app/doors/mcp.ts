// The Model Context Protocol is a package that a lean install leaves out. Only this file knows the package.
import type { createMcpRoute } from '@mediagen/mcp/route.ts'

/** What makes the route; null where the package is not installed. */
export type FoundMcp = typeof createMcpRoute | null

/** Finds what makes the route; null if it is not installed (`npm ci --workspaces=false`). */
export async function findMcp(): Promise<FoundMcp> {
  try {
    return (await import('@mediagen/mcp/route.ts')).createMcpRoute
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return null
    throw error
  }
}
