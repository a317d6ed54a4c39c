// Stands in for the program: a server whose engine costs money at the backend of the test.
await import('../server.ts')
