// The settings of signing in. Without an issuer nothing of it is there.
import { parseSignInAccess } from './core/accounts/sign-in.ts'
import { isLoopback } from './outgoing/hosts.ts'
import { integer, text } from './setting.ts'

export const signInSettings = {
  oidcIssuer: text(
    'MEDIAGEN_OIDC_ISSUER',
    '',
    'OpenID provider at which [people sign in](give-a-team-keys.md#people-who-sign-in), by its issuer, such as `https://login.example.com/realms/team`; empty for API keys only',
    parseIssuer,
  ),
  oidcClientId: text('MEDIAGEN_OIDC_CLIENT_ID', '', 'Client id of this server at the provider'),
  oidcClientSecret: text('MEDIAGEN_OIDC_CLIENT_SECRET', '', 'Its secret'),
  oidcScopes: text(
    'MEDIAGEN_OIDC_SCOPES',
    'openid email',
    'Scopes to ask the provider for, separated by spaces; some send groups only for `groups`',
    parseScopes,
  ),
  oidcAccess: text(
    'MEDIAGEN_OIDC_ACCESS',
    '',
    'Who may sign in: rules `group:NAME=ACCOUNT:PERMISSIONS`, `domain:…` or `email:…`, separated by semicolons; the first that fits decides. The same for all processes on one database',
    parseSignInAccess,
  ),
  sessionHours: integer('MEDIAGEN_SESSION_HOURS', 12, 1, 720, 'How long people stay signed in'),
} as const

function parseIssuer(written: string): string | null {
  if (written === '') return null
  const url = URL.parse(written)
  if (!url || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '' || url.username !== '')
    throw new Error('must be an https: address without a query, such as `https://login.example.com`')
  if (url.protocol === 'http:' && !isLoopback(url.hostname.replace(/^\[|\]$/g, '')))
    throw new Error('must be an https: address, unless the provider is on this machine')
  return written
}

function parseScopes(written: string): string {
  const scopes = written.split(/\s+/).filter(Boolean)
  if (!scopes.includes('openid')) throw new Error('must name `openid`')
  return scopes.join(' ')
}
