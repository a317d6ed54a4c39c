// AdminService: what is wrong with an operator's request is named.
import { ConnectError } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { ErrorDetailSchema } from '../../gen/mediagen/v1/errors_pb.ts'
import { Permission } from '../../gen/mediagen/v1/options_pb.ts'
import { startTestApp } from '../test-app.ts'

test('the expiry of a key lies between now and the year 9999', async () => {
  await using app = await startTestApp()
  const { accountId } = app.account
  for (const seconds of [0n, 253_402_300_800n, 2n ** 63n - 1n]) {
    const refused = await app.admin
      .createKey({ accountId, permissions: [Permission.GENERATE], expiresAt: { seconds, nanos: 0 } })
      .catch(ConnectError.from)
    const [detail] = ConnectError.from(refused).findDetails(ErrorDetailSchema)
    expect(detail, String(seconds)).toMatchObject({ code: 'invalid_request', violations: [{ pointer: '/expires_at' }] })
  }
})
