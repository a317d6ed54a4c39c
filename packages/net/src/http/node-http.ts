// Node's HTTP module, without what an import of it loads: it reads every export, and WebSocket is one, whose getter loads all of
// Node's fetch. That is a twentieth of a start.

export const { createServer, maxHeaderSize, METHODS, ServerResponse, STATUS_CODES } =
  process.getBuiltinModule('node:http')
