/** One state written down by hand, from git's own words and the files, under the same key; and what evidence never tells. */
import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { type Scratch, scratch } from '../support/scratch.ts'
import { captured, KEY_BYTES, must } from '../support/validation.ts'

/** HMAC over a domain and alternating names and values, each after its length. */
const digest = (domain: string, ...parts: (string | Uint8Array)[]): string => {
  const hmac = createHmac('sha256', KEY_BYTES)
  for (const part of ['domain', domain, ...parts]) {
    const bytes = Buffer.from(part)
    const length = Buffer.alloc(4)
    length.writeUInt32BE(bytes.length)
    hmac.update(length).update(bytes)
  }
  return hmac.digest('hex')
}

const ODD = Buffer.from('odd\n\xff', 'latin1')

const build = (s: Scratch): void => {
  s.init('sm')
  s.git('.', 'init', '-q', 'r')
  must(
    s,
    'r',
    `git submodule --quiet add ../sm sm
     for n in changed deleted exe gone hidden same staged; do echo $n >$n; done; ln -s same link; git add -A; git commit -qm one
     echo new >changed; chmod +x exe; rm deleted; ln -sf exe link; echo now >staged; git add staged
     git update-index --assume-unchanged hidden; git update-index --skip-worktree gone; rm gone
     printf 'a\\0b' >"$(printf 'odd\\n\\377')"; ln -s nowhere un; echo '*.ign' >.git/info/exclude; echo 1 >x.ign
     git init -q in; git -C in commit -q --allow-empty -m a`,
  )
}

const blob = (s: Scratch, text: string): string =>
  s.exec('r', 'git', ['hash-object', '--stdin'], { input: text }).out.trim()

describe('the digests of a state', () => {
  it('are those that anyone with the key makes of it by hand', async t => {
    const s = scratch(t)
    build(s)
    const state = await captured(s, 'r')
    const head = s.git('r', 'rev-parse', 'HEAD')
    const sm = s.git('sm', 'rev-parse', 'HEAD')
    const entry = (tag: string, mode: string, object: string, path: string): string[] => [
      ...['tag', tag, 'mode', mode, 'object', object, 'stage', '0', 'path', path],
    ]
    const file = (path: string, tag = 'H'): string[] => entry(tag, '100644', blob(s, `${path}\n`), path)
    const components = {
      head: digest('validation-head-v1', 'head', head),
      index: digest(
        'validation-index-v1',
        ...entry('H', '100644', blob(s, s.read('r/.gitmodules')), '.gitmodules'),
        ...file('changed'),
        ...file('deleted'),
        ...file('exe'),
        ...file('gone', 'S'),
        ...file('hidden', 'h'),
        ...entry('H', '120000', blob(s, 'same'), 'link'),
        ...file('same'),
        ...entry('H', '160000', sm, 'sm'),
        ...entry('H', '100644', blob(s, 'now\n'), 'staged'),
      ),
      tracked: digest(
        'validation-tracked-v1',
        ...['path', 'changed', 'kind', 'file', 'executable', '0', 'content', 'new\n'],
        ...['path', 'deleted', 'kind', 'deleted'],
        ...['path', 'exe', 'kind', 'file', 'executable', '1', 'content', 'exe\n'],
        ...['path', 'gone', 'kind', 'deleted'],
        ...['path', 'hidden', 'kind', 'file', 'executable', '0', 'content', 'hidden\n'],
        ...['path', 'link', 'kind', 'symlink', 'target', 'exe'],
      ),
      untracked: digest(
        'validation-untracked-v1',
        ...['path', 'in/', 'kind', 'directory', 'depth', '1', 'path', 'in', 'head', s.git('r/in', 'rev-parse', 'HEAD')],
        ...['path', ODD, 'kind', 'file', 'executable', '0', 'content', 'a\0b'],
        ...['path', 'un', 'kind', 'symlink', 'target', 'nowhere'],
      ),
      submodules: digest('validation-submodules-v1', 'depth', '1', 'path', 'sm', 'head', sm),
    }
    assert.deepEqual(state.components, components)
    assert.equal(state.digest, digest('validation-state-v1', ...Object.entries(components).flat()))
    assert.equal(state.complete, true)
    assert.deepEqual(state.counts, { index_entries: 10, tracked_paths: 6, untracked_paths: 3, submodules: 1 })
    const listing = s.exec('r', 'git', ['ls-files', '--stage', '-v', '-z']).out.length
    assert.deepEqual(
      { ...state.bytes, git_output: 0 },
      { index_manifest: listing, tracked_content: 4 + 4 + 7 + 3, untracked_content: 3 + 7, git_output: 0 },
    )
    assert.ok((state.bytes.git_output ?? 0) > listing)
  })

  it('are all that a state tells of paths, contents, links and objects', async t => {
    const s = scratch(t)
    build(s)
    const text = JSON.stringify(await captured(s, 'r'))
    const names = s.sh('r', 'git ls-files --recurse-submodules; git ls-files --others').out.split('\n').filter(Boolean)
    const objects = s.sh(
      'r',
      'git cat-file --batch-all-objects --batch-check="%(objectname)"; git -C sm rev-parse HEAD',
    ).out
    const contents = ['changed', 'exe', 'hidden', 'staged', 'x.ign'].map(name => readFileSync(s.path('r', name)))
    const plain = [...contents, ...names, ODD].map(bytes => createHash('sha256').update(bytes).digest('hex'))
    // Words that the contract itself has are no names of files.
    const words = names.filter(name => !/^[a-z]{2,6}$/.test(name))
    const secrets = [
      ...words,
      ...objects.split('\n').filter(Boolean),
      ...plain,
      s.dir,
      'nowhere',
      KEY_BYTES.toString('hex'),
    ]
    assert.ok(secrets.length > 40)
    for (const secret of secrets) assert.ok(!text.includes(secret), secret)
    for (const [found] of text.matchAll(/[0-9a-f]{7,}/g)) assert.match(found, /^[0-9a-f]{64}$/)
  })
})
