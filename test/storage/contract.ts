// The conformance suite of the store port: every implementation passes it whole.
import { describe } from 'vitest'
import { accountChangeTests } from './contract-account-changes.ts'
import { accountTests, keyTests } from './contract-accounts.ts'
import { auditTests } from './contract-audit.ts'
import { backlogTests } from './contract-backlog.ts'
import { claimTests, endTests } from './contract-claims.ts'
import { deletionTests } from './contract-deletions.ts'
import { fairnessTests, positionTests } from './contract-fairness.ts'
import { retentionTests, uploadTests } from './contract-files.ts'
import { forgettingTests } from './contract-forgetting.ts'
import { labelTests } from './contract-labels.ts'
import { limitTests } from './contract-limits.ts'
import { pageTests } from './contract-pages.ts'
import { providerTests } from './contract-providers.ts'
import { rateTests } from './contract-rates.ts'
import { sessionTests } from './contract-sessions.ts'
import { sharedTests } from './contract-shared.ts'
import { startWebhookTests } from './contract-start-webhooks.ts'
import { changeTests, startTests } from './contract-starts.ts'
import { deadlineTests, leaseTests, reviewTests } from './contract-sweeps.ts'
import { upstreamTests } from './contract-upstream.ts'
import { usageTests } from './contract-usage.ts'
import { webhookSecretTests } from './contract-webhook-secrets.ts'
import { webhookSlotTests } from './contract-webhook-slots.ts'
import { webhookTests } from './contract-webhooks.ts'
import type { OpenTestStore } from './fixture.ts'

/**
 * Declares the tests of one implementation.
 * @param openStore opens a store that nobody has used, on its own data.
 */
export function storeContract(name: string, openStore: OpenTestStore): void {
  describe(`store contract: ${name}`, () => {
    describe('accounts and ledger', () => accountTests(openStore))
    describe('accounts that operators change', () => accountChangeTests(openStore))
    describe('keys', () => keyTests(openStore))
    describe('people and sessions', () => sessionTests(openStore))
    describe('limits', () => limitTests(openStore))
    describe('usage', () => usageTests(openStore))
    describe('jobs with a label', () => labelTests(openStore))
    describe('rates', () => rateTests(openStore))
    describe('starts and lists', () => startTests(openStore))
    describe('pages of jobs', () => pageTests(openStore))
    describe('claims and heartbeats', () => claimTests(openStore))
    describe('ends of jobs', () => endTests(openStore))
    describe('the order of claims', () => fairnessTests(openStore))
    describe('positions in the queue', () => positionTests(openStore))
    describe('leases and lost workers', () => leaseTests(openStore))
    describe('reviews', () => reviewTests(openStore))
    describe('deadlines', () => deadlineTests(openStore))
    describe('submissions to other servers', () => upstreamTests(openStore))
    describe('uploads', () => uploadTests(openStore))
    describe('retention', () => retentionTests(openStore))
    describe('the deletion of a job', () => deletionTests(openStore))
    describe('old jobs', () => forgettingTests(openStore))
    describe('the backlog', () => backlogTests(openStore))
    describe('webhooks', () => webhookTests(openStore))
    describe('secrets of webhooks', () => webhookSecretTests(openStore))
    describe('slots of webhooks', () => webhookSlotTests(openStore))
    describe('webhooks of starts', () => startWebhookTests(openStore))
    describe('providers of media', () => providerTests(openStore))
    describe('administrative acts', () => auditTests(openStore))
    describe('two processes', () => sharedTests(openStore))
    describe('changes and closing', () => changeTests(openStore))
  })
}
