// What a release looks at before it packs, and the version that is written everywhere.
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findProblems, type ReleaseState } from '../deploy/release.ts'
import { readVersions, writeVersion } from '../deploy/versions.ts'

const root = join(import.meta.dirname, '..')
const good: ReleaseState = {
  version: '1.2.3',
  versions: new Map([['package.json', ['1.2.3', '1.2.3']]]),
  changelog: '# Changelog\n\n## 1.2.3, 1 December 2026\n',
  changes: '',
  tags: ['v1.2.2'],
  protoIsReleased: true,
}

test.for<readonly [Partial<ReleaseState>, RegExp]>([
  [{ version: 'new' }, /^new is not a semantic version/],
  [{ versions: new Map([['docs/clients.md', ['1.2.3', '1.2.2']]]) }, /^docs\/clients\.md says 1\.2\.2; /],
  [{ versions: new Map([['docs/clients.md', []]]) }, /^docs\/clients\.md says no version/],
  [{ changelog: '## 1.2.2, 1 May 2026' }, /has no “## 1\.2\.3, ”/],
  [{ changelog: '## 1.2.3, not released yet' }, /says “1\.2\.3, not released yet”/],
  [{ changes: ' M README.md' }, /not committed/],
  [{ tags: ['v1.2.3'] }, /a tag v1\.2\.3 already/],
  [{ protoIsReleased: false }, /released\.binpb is not the interface of now/],
])('a release stops: %o', ([wrong, words]) => {
  expect(findProblems(good)).toEqual([])
  expect(findProblems({ ...good, ...wrong })).toContainEqual(expect.stringMatching(words))
})

test('all places say one version, and another one is written into all of them', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const said = readVersions(root)
  expect([...said.values()].flat().filter((one) => one !== version)).toEqual([])
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-release-'))
  try {
    for (const path of [...said.keys(), 'deploy/kubernetes'])
      cpSync(join(root, path), join(folder, path), { recursive: true })
    writeVersion(folder, '9.8.7')
    expect(readVersions(folder)).toEqual(new Map([...said].map(([path, all]) => [path, all.map(() => '9.8.7')])))
    // And nothing else in them changes.
    for (const path of said.keys()) {
      const [before, after] = [root, folder].map((place) => readFileSync(join(place, path), 'utf8'))
      expect(after?.replaceAll('9.8.7', version)).toBe(before)
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
})
