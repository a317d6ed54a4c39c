// The header Mediagen-Receipt: what a job cost, as a dictionary of RFC 9651.
import type { FastifyReply } from 'fastify'
import type { Receipt } from '../../gen/mediagen/v1/generation_pb.ts'

/** Adds the header to the answer with a job, once it has a receipt. */
export function addReceipt(reply: FastifyReply, receipt: Receipt | undefined): void {
  if (receipt) reply.header('mediagen-receipt', toReceiptText(receipt, receipt.quoteId))
}

/** The header's value. @param quoteId null for several jobs, whose sums these are */
export function toReceiptText(
  { held, charged, released, keyId }: Pick<Receipt, 'held' | 'charged' | 'released' | 'keyId'>,
  quoteId: string | null,
): string {
  // Ids have no characters that would have to be escaped.
  const ids = [...(quoteId === null ? [] : [`quote_id="${quoteId}"`]), `key_id="${keyId}"`]
  return [`held=${held}`, `charged=${charged}`, `released=${released}`, ...ids].join(', ')
}
