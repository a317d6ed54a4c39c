// What the tests use of s3rver, which brings no types.
declare module 's3rver' {
  export default class S3rver {
    constructor(options: {
      address: string
      port: number
      silent: boolean
      directory: string
      configureBuckets: readonly { name: string; configs: readonly string[] }[]
    })
    readonly store: {
      deleteObject(bucket: string, key: string): Promise<void>
      getResourcePath(bucket: string, key: string, kind: string): string
    }
    run(): Promise<{ port: number }>
    close(): Promise<void>
  }
}
