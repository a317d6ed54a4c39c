// Where an output says it comes from, as in the job's record.

/** What a file says about its origin, and whether that is true. */
export interface Provenance {
  /** Whether it has a C2PA manifest. */
  readonly signed: boolean
  /** Whether its signature and its content fit; null if nobody has checked. Who signed is what the certificate says, whoever made that. */
  readonly verified: boolean | null
  /** Organisation, else name, in the certificate of the signature. */
  readonly issuer: string | null
  /** The program that made the manifest; without one, that in the EXIF of a picture. */
  readonly generator: string | null
  /** What the manifest says was done, such as `c2pa.created`. */
  readonly actions: readonly string[]
  /** Digital source type: IPTC's code, such as `trainedAlgorithmicMedia`, or another URI. */
  readonly sourceType: string | null
  /** Why a manifest cannot be read or does not fit, or why the file could not be signed or marked; null if all is well. */
  readonly problem: string | null
}

/** What this service can say of an output, in a signature or a mark. */
export interface Claim {
  readonly jobId: string
  readonly model: string
  /** The provider's version of the model; null if it is not known. */
  readonly version: string | null
  /** IPTC's code of the digital source type; null if the catalog does not say it, and then nothing is said. */
  readonly sourceType: string | null
  /** The input, without media. */
  readonly input: Readonly<Record<string, unknown>>
  /** The media of the input. */
  readonly ingredients: readonly Ingredient[]
}

/** A file that went into an output. */
export interface Ingredient {
  readonly path: string
  /** The field of the input that named it. */
  readonly name: string
}

/** The digital source types of IPTC that a model of a catalog may have: https://cv.iptc.org/newscodes/digitalsourcetype/ */
export const sourceTypes = [
  'trainedAlgorithmicMedia',
  'compositeWithTrainedAlgorithmicMedia',
  'algorithmicMedia',
  'algorithmicallyEnhanced',
  'composite',
  'compositeCapture',
  'compositeSynthetic',
  'dataDrivenMedia',
] as const

/** The source type of an output: what a model makes of media is a composite with them, unless its own type says so already. */
export function toOutputSourceType(ofModel: string | null, usesMedia: boolean): string | null {
  if (!usesMedia) return ofModel
  if (ofModel === 'trainedAlgorithmicMedia') return 'compositeWithTrainedAlgorithmicMedia'
  return ofModel === 'algorithmicMedia' ? 'composite' : ofModel
}
