// What accounts are called: their ids are in every list, their names are what an operator knows.
import type { Account } from '../../gen/mediagen/v1/admin_pb.ts'
import { element } from '../element.ts'
import type { Admin } from './client.ts'
import { toHash } from './route.ts'

const pageSize = 500
// Beyond these, accounts are known by their ids only.
const mostPages = 20

/** The accounts, read once and again when an unknown one is met. */
export class AccountNames {
  readonly #admin: Admin
  #names = new Map<string, string>()
  #missing = new Set<string>()
  #reading: Promise<void> | null = null

  constructor(admin: Admin) {
    this.#admin = admin
  }

  /** Makes sure that these are known, as far as they exist. */
  async learn(ids: readonly string[]): Promise<void> {
    const unknown = ids.filter((id) => id !== '' && !this.#names.has(id) && !this.#missing.has(id))
    if (unknown.length === 0) return
    await this.#read()
    for (const id of unknown) if (!this.#names.has(id)) this.#missing.add(id)
  }

  /** Notes what was read elsewhere. */
  note(accounts: readonly Account[]): void {
    for (const { accountId, name } of accounts) this.#names.set(accountId, name)
  }

  /** Every account that is known, by name. */
  async all(): Promise<readonly (readonly [id: string, name: string])[]> {
    await this.#read()
    return [...this.#names].toSorted(([, one], [, other]) => one.localeCompare(other))
  }

  /** Its name, or its id. */
  of(id: string): string {
    return this.#names.get(id) ?? id
  }

  /** A link to the page of an account. */
  link(id: string): HTMLElement {
    if (id === '') return element('span', { class: 'soft' }, '–')
    return element('a', { href: toHash('accounts', id), title: `${this.of(id)} (${id})` }, this.of(id))
  }

  #read(): Promise<void> {
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = null
    })
    return this.#reading
  }

  async #readAll(): Promise<void> {
    for (let page = 0; page < mostPages; page += 1) {
      const { accounts, total } = await this.#admin.listAccounts({ limit: pageSize, offset: page * pageSize })
      this.note(accounts)
      if ((page + 1) * pageSize >= total) return
    }
  }
}
