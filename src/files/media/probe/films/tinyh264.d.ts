// tinyh264 has no types; h264.ts uses this part.
declare module 'tinyh264/es/TinyH264.js' {
  /** Pointers are offsets into `HEAPU8`, the module's memory. */
  export interface TinyH264 {
    readonly HEAPU8: Uint8Array
    getValue(pointer: number, type: 'i32' | 'i8*'): number
    _malloc(bytes: number): number
    _free(pointer: number): void
    _h264bsdAlloc(): number
    _h264bsdInit(decoder: number, noReordering: number): number
    _h264bsdDecode(decoder: number, data: number, bytes: number, picture: number, width: number, height: number): number
    _h264bsdShutdown(decoder: number): void
    _h264bsdFree(decoder: number): void
  }
  export default function create(): Promise<TinyH264>
}
