// What a file says of its origin, in words for people.
import type { Output } from './records.ts'

// https://cv.iptc.org/newscodes/digitalsourcetype/
const sources: Readonly<Record<string, string>> = {
  trainedAlgorithmicMedia: 'it was made by AI',
  compositeWithTrainedAlgorithmicMedia: 'AI changed it, or made parts of it',
  compositeSynthetic: 'AI made parts of it',
  algorithmicMedia: 'it was made by a program without AI',
  algorithmicallyEnhanced: 'a program enhanced it',
  composite: 'it is put together from other media',
  compositeCapture: 'it is put together from photographs or recordings',
  digitalCapture: 'it is a photograph or a recording',
  computationalCapture: 'it is a photograph or a recording',
  humanEdits: 'a person edited it',
  digitalCreation: 'a person made it',
  dataDrivenMedia: 'it was made from data',
}

/**
 * Sentences such as “Signed by Acme Studio, checked.”; none for a file that says nothing. “Checked” means that signature and
 * content fit, not that the signer is who it says. The names in them are those of strangers.
 */
export function describeProvenance(provenance: Output['provenance']): string[] {
  if (!provenance) return []
  const { signed, generator, source_type: source, problem } = provenance
  const said = source === null ? null : (sources[source] ?? `its source is ${source}`)
  return [
    ...(signed ? [describeSignature(provenance)] : []),
    ...(said ? [`Says ${said}.`] : []),
    ...(!signed && generator !== null ? [`Says it was made with ${generator}.`] : []),
    ...(problem !== null ? [problem.endsWith('.') ? problem : `${problem}.`] : []),
  ]
}

function describeSignature({ verified, issuer }: NonNullable<Output['provenance']>): string {
  const by = issuer === null ? 'without a name' : `by ${issuer}`
  if (verified === false) return issuer === null ? 'Broken manifest.' : `Broken manifest, which says it is ${by}.`
  return `Signed ${by}, ${verified ? 'checked' : 'not checked'}.`
}
