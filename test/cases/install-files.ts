/** Installing, upgrading and uninstalling into real folders. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readlinkSync, rmSync, symlinkSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { MINIMUM_GIT_VERSION } from '../../src/limits.ts'
import { installWith, pathWithout, sharedSource, snapshot, sourceTree } from '../support/installed.ts'
import { projectRoot, type Scratch, scratch } from '../support/scratch.ts'

const ODD = `odd 'prefix' $HOME & "quotes" \`x\` ünï*[a]`

/** A folder in which other programs already have files, in every place that an installation writes to. */
const sharedPrefix = (s: Scratch, name: string): string => {
  for (const [path, text] of [
    ['bin/other', '#!/bin/sh\n'],
    ['lib/other/x', 'x\n'],
    ['share/man/man1/other.1', '.TH OTHER 1\n'],
    ['share/bash-completion/completions/other', 'complete other\n'],
    ['share/zsh/site-functions/_other', '#compdef other\n'],
  ] as const) {
    s.write(join(name, path), text)
  }
  mkdirSync(s.path(name, 'empty'))
  return s.path(name)
}

const manifestLines = (s: Scratch, prefix: string): string[] => s.read(`${prefix}/lib/git-discern/manifest`).split('\n')

test('case 88: a prefix with spaces, quotes, $, & and non-ASCII letters works, and a few POSIX tools are enough', t => {
  const s = scratch(t)
  const source = sharedSource()
  const prefix = s.path(ODD)
  const shellFiles = ['.profile', '.bashrc', '.zshrc'].map(name => s.write(join('home', name), `# ${name}\n`))
  const before = snapshot(s.home)
  const done = installWith(s, source, ['--prefix', prefix], { PATH: pathWithout(s) })
  assert.equal(done.exit, 0, done.err)
  assert.equal(readlinkSync(`${prefix}/bin/git-discern`), `${prefix}/lib/git-discern/git-discern`)
  const node = s.read(`${prefix}/lib/git-discern/node-path`).trim()
  assert.equal(s.exec('.', node, ['-p', '1+1']).out, '2\n')
  assert.ok(node.startsWith('/'))

  // The line that it tells the user to add is what makes `git discern` work.
  const advice = done.out.split('\n').find(line => line.includes('export PATH='))
  assert.ok(advice, done.out)
  const version = JSON.parse(s.read(join(source, 'package.json'))).version
  const ran = s.sh('.', `${advice}\ngit discern --version`, { PATH: '/usr/bin:/bin' })
  assert.equal(ran.out, `git-discern ${version}\n`, ran.err)

  assert.equal(shellFiles.length, 3)
  assert.deepEqual(snapshot(s.home), before, 'nothing in HOME was touched')
})

test('case 89: installing again changes no byte and no time stamp, and says so', t => {
  const s = scratch(t)
  const source = sharedSource()
  const prefix = s.path('prefix')
  assert.equal(installWith(s, source, ['--prefix', prefix]).exit, 0)
  const before = snapshot(prefix, true)
  assert.ok(Object.keys(before).length > 30)
  const again = installWith(s, source, ['--prefix', prefix], { PATH: `${prefix}/bin:${s.env['PATH']}` })
  assert.equal(again.exit, 0, again.err)
  assert.match(again.out, /nothing was written/)
  assert.match(again.out, /^PATH: {2}has /m)
  assert.deepEqual(snapshot(prefix, true), before)
})

test('an installation that lost a file or a mode, or has an older layout, is as new after the next', t => {
  const s = scratch(t)
  const source = sharedSource()
  const prefix = s.path('prefix')
  assert.equal(s.sh('.', `umask 077 && sh '${source}/install.sh' --prefix '${prefix}'`).exit, 0)
  const whole = snapshot(prefix)
  for (const [path, what] of Object.entries(whole)) {
    assert.match(
      what,
      /^(link |folder 755|file 644|file 755)/,
      `${path} can be read by everybody, whatever the umask was`,
    )
  }
  rmSync(`${prefix}/share/man/man1/git-discern.1`)
  assert.equal(s.exec('.', 'chmod', ['-x', `${prefix}/lib/git-discern/git-discern`]).exit, 0)
  // An older layout: a copy of the launcher in bin, where the link is now.
  unlinkSync(`${prefix}/bin/git-discern`)
  s.write('prefix/bin/git-discern', '#!/bin/sh\necho old\n', 0o755)
  const sum = s.sh('prefix', 'cksum <bin/git-discern').out.trim()
  const lines = manifestLines(s, prefix).map(line => (line.startsWith('link ') ? `file ${sum} bin/git-discern` : line))
  s.write('prefix/lib/git-discern/manifest', lines.join('\n'))
  assert.notDeepEqual(snapshot(prefix), whole)
  assert.equal(installWith(s, source, ['--prefix', prefix]).exit, 0)
  assert.deepEqual(snapshot(prefix), whole)
})

test('uninstalling leaves a shared prefix exactly as it was, without Node.js, npm and git', t => {
  const s = scratch(t)
  const source = sharedSource()
  const prefix = sharedPrefix(s, 'prefix')
  const before = snapshot(prefix)
  assert.equal(installWith(s, source, ['--prefix', prefix]).exit, 0)
  const own = s.write('prefix/lib/git-discern/dist/own.js', 'mine\n')
  const gone = installWith(s, source, ['--uninstall', '--prefix', prefix], {
    PATH: pathWithout(s, 'node', 'npm', 'git'),
  })
  assert.equal(gone.exit, 0, gone.err)
  assert.equal(s.read(own), 'mine\n', 'a foreign file in a folder of ours stays')
  rmSync(s.path('prefix/lib/git-discern'), { recursive: true })
  assert.deepEqual(snapshot(prefix), before)

  const again = installWith(s, source, ['--uninstall', '--prefix', prefix])
  assert.equal(again.exit, 0)
  assert.match(again.out, /not installed under/)
  assert.deepEqual(snapshot(prefix), before)
})

test('a prefix that the installation made goes with it, and so do the folders above; HOME need not be writable', t => {
  const s = scratch(t)
  const source = sharedSource()
  const done = installWith(s, source, ['--prefix', 'new/deep/prefix'], { HOME: '/proc/1' })
  assert.equal(done.exit, 0, done.err)
  assert.ok(
    existsSync(s.path('new/deep/prefix/bin/git-discern')),
    'a relative prefix counts from where the user stands',
  )
  assert.equal(installWith(s, source, ['--uninstall', '--prefix', 'new/deep/prefix']).exit, 0)
  assert.ok(!existsSync(s.path('new')))
})

test('what the user changed is neither overwritten nor removed, and is named', t => {
  const s = scratch(t)
  const source = sharedSource()
  const prefix = s.path('prefix')
  installWith(s, source, ['--prefix', prefix])
  const completion = s.write('prefix/share/zsh/site-functions/_git-discern', '# my own\n')
  unlinkSync(`${prefix}/bin/git-discern`)
  symlinkSync('/elsewhere/git-discern', `${prefix}/bin/git-discern`)
  const refused = installWith(s, source, ['--prefix', prefix])
  assert.equal(refused.exit, 1)
  assert.match(refused.err, /a link to \/elsewhere\/git-discern/)

  const gone = installWith(s, source, ['--uninstall', '--prefix', prefix])
  assert.equal(gone.exit, 0, gone.err)
  assert.deepEqual(
    gone.out
      .split('\n')
      .filter(line => line.startsWith('left as it is'))
      .sort(),
    [
      `left as it is, because it was changed: ${prefix}/bin/git-discern`,
      `left as it is, because it was changed: ${completion}`,
    ],
  )
  assert.equal(s.read(completion), '# my own\n')
  assert.equal(readlinkSync(`${prefix}/bin/git-discern`), '/elsewhere/git-discern')
  assert.deepEqual(readdirSync(prefix).sort(), ['bin', 'share'])
  assert.deepEqual(readdirSync(`${prefix}/share`), ['zsh'])
})

test('case 89: a newer version replaces an older one in place and takes its leftovers away', t => {
  const s = scratch(t)
  const older = sourceTree(s.path('older'))
  const stated = JSON.parse(s.read(join(older, 'package.json')))
  s.write(join(older, 'package.json'), JSON.stringify({ ...stated, version: '0.0.9' }))
  s.write(join(older, 'hooks/former-hook'), '#!/bin/sh\n', 0o755)
  s.write(join(older, 'hooks/former/part'), 'x\n')
  const prefix = sharedPrefix(s, 'prefix')
  const first = installWith(s, older, ['--prefix', prefix])
  assert.equal(first.exit, 0, first.err)
  const env = { PATH: `${prefix}/bin:${s.env['PATH']}` }
  assert.equal(s.launch('.', ['--version'], env).out, 'git-discern 0.0.9\n')
  assert.ok(existsSync(`${prefix}/lib/git-discern/hooks/former/part`))
  s.write('prefix/lib/git-discern/dist/own.js', 'mine\n')
  s.write('prefix/share/zsh/site-functions/_git-discern', '# my own\n')

  const newer = sharedSource()
  const second = installWith(s, newer, ['--prefix', prefix])
  assert.equal(second.exit, 0, second.err)
  assert.equal(s.launch('.', ['--version'], env).out, `git-discern ${stated.version}\n`)
  assert.ok(!existsSync(`${prefix}/lib/git-discern/hooks/former-hook`))
  assert.ok(!existsSync(`${prefix}/lib/git-discern/hooks/former`), 'a folder that became empty goes as well')
  assert.equal(s.read('prefix/lib/git-discern/dist/own.js'), 'mine\n')
  assert.equal(s.read('prefix/share/zsh/site-functions/_git-discern.changed'), '# my own\n')
  assert.match(second.out, /_git-discern\.changed/)

  // Beside what the user added, an upgrade leaves what a first installation leaves.
  rmSync(s.path('prefix/lib/git-discern/dist/own.js'))
  rmSync(s.path('prefix/share/zsh/site-functions/_git-discern.changed'))
  sharedPrefix(s, 'fresh')
  assert.equal(installWith(s, newer, ['--prefix', s.path('fresh')]).exit, 0)
  const placed = (folder: string): Readonly<Record<string, string>> => {
    const { './bin/git-discern': _link, './lib/git-discern/manifest': _manifest, ...rest } = snapshot(folder)
    return rest
  }
  assert.deepEqual(placed(prefix), placed(s.path('fresh')))
})

test('case 89: hooks outlive the installation that made them: quiet without a program, at work again with the next', t => {
  const s = scratch(t)
  const source = sharedSource()
  s.git('.', 'init', '-q', '--bare', 'hub.git')
  s.init('a')
  s.write('a/discern.toml', '[repository]\ntrunk = "main"\nproof_notes_mode = "fetch"\n')
  s.commit('a', 'policy')
  s.git('a', 'remote', 'add', 'origin', s.path('hub.git'))
  s.git('a', 'push', '-q', 'origin', 'main')
  s.git('.', 'clone', '-q', 'hub.git', 'b')
  const publish = (text: string): void => {
    s.git('a', 'notes', '--ref=discern', 'append', '-m', text, 'HEAD')
    s.git('a', 'push', '-q', 'origin', 'refs/notes/discern')
  }
  const fetch = (path: string): string => {
    const fetched = s.exec('b', 'git', ['fetch', '-q'], { env: { PATH: path } })
    assert.equal(fetched.exit, 0, fetched.err)
    return fetched.err
  }

  assert.equal(installWith(s, source, ['--prefix', s.path('first')]).exit, 0)
  const setUp = s.launch('b', ['setup'], { PATH: `${s.path('first/bin')}:${s.env['PATH']}` })
  assert.equal(setUp.exit, 0, `${setUp.out}${setUp.err}`)
  publish('one')
  assert.equal(fetch('/usr/bin:/bin'), '')
  assert.equal(s.git('b', 'notes', '--ref=discern', 'show', 'origin/main'), 'one')

  assert.equal(installWith(s, source, ['--uninstall', '--prefix', s.path('first')]).exit, 0)
  publish('two')
  assert.match(fetch('/usr/bin:/bin'), /^(git discern: .+\n)?$/)
  assert.equal(s.git('b', 'notes', '--ref=discern', 'show', 'origin/main'), 'one')

  assert.equal(installWith(s, source, ['--prefix', s.path('second')]).exit, 0)
  publish('three')
  assert.equal(fetch(`${s.path('second/bin')}:/usr/bin:/bin`), '')
  assert.equal(s.git('b', 'notes', '--ref=discern', 'show', 'origin/main'), 'one\n\ntwo\n\nthree')
})

test('whatever stands in the way is named before anything is written', t => {
  const s = scratch(t)
  const source = sharedSource()
  const obstacles: Readonly<Record<string, (prefix: string) => void>> = {
    'bin/git-discern (a directory)': prefix => mkdirSync(`${prefix}/bin/git-discern`, { recursive: true }),
    'bin/git-discern (another file)': prefix => s.write(`${prefix}/bin/git-discern`, '#!/bin/sh\n'),
    'bin/git-discern (a link to /opt/other)': prefix => {
      mkdirSync(`${prefix}/bin`, { recursive: true })
      symlinkSync('/opt/other', `${prefix}/bin/git-discern`)
    },
    'lib/git-discern (a link to /tmp)': prefix => {
      mkdirSync(`${prefix}/lib`, { recursive: true })
      symlinkSync('/tmp', `${prefix}/lib/git-discern`)
    },
    'share/man/man1/git-discern.1 (another file)': prefix =>
      s.write(`${prefix}/share/man/man1/git-discern.1`, '.TH X 1\n'),
  }
  for (const [named, put] of Object.entries(obstacles)) {
    const prefix = s.path('prefix')
    rmSync(prefix, { recursive: true, force: true })
    put(prefix)
    const before = snapshot(prefix, true)
    const refused = installWith(s, source, ['--prefix', prefix])
    assert.equal(refused.exit, 1, named)
    assert.ok(refused.err.includes(`${prefix}/${named}`), `${named}: ${refused.err}`)
    assert.match(refused.err, /\n {2}expected: .+\n {2}found: .+\n(?:.*\n)* {2}next: /)
    assert.deepEqual(snapshot(prefix, true), before, named)
  }
})

test('a manifest of a newer install.sh is not touched', t => {
  const s = scratch(t)
  const source = sharedSource()
  s.write('prefix/lib/git-discern/manifest', 'git-discern manifest 2\nfile 1 2 bin/x\n')
  s.write('prefix/bin/x', 'x')
  const before = snapshot(s.path('prefix'))
  for (const args of [[], ['--uninstall']]) {
    const refused = installWith(s, source, [...args, '--prefix', s.path('prefix')])
    assert.equal(refused.exit, 1)
    assert.match(refused.err, /found: +"git-discern manifest 2"/)
  }
  assert.deepEqual(snapshot(s.path('prefix')), before)
})

test('a prefix that cannot be written is refused with what to do, and keeps no trace', t => {
  const s = scratch(t)
  const source = sharedSource()
  s.write('file', 'x')
  s.write('half/share', 'a file where a folder must go')
  const refusals: readonly (readonly [string, readonly string[], Record<string, string | undefined>])[] = [
    ['below a file', ['--prefix', s.path('file/prefix')], {}],
    ['a file system without new folders', ['--prefix', '/proc/git-discern'], {}],
    ['a folder is missing in the middle', ['--prefix', s.path('half')], {}],
    ['a colon cannot stand in the PATH', ['--prefix', s.path('a:b')], {}],
    ['a read-only HOME', [], { HOME: '/proc/1' }],
    ['no HOME', [], { HOME: undefined }],
  ]
  for (const [what, args, env] of refusals) {
    const refused = installWith(s, source, args, env)
    assert.equal(refused.exit, 1, what)
    assert.match(refused.err, /\n {2}expected: .+\n {2}found: .+\n {2}next: .*--prefix/, what)
  }
  assert.deepEqual(readdirSync(s.path('half')), ['share'])
  assert.ok(!existsSync(s.path('a:b')))
})

test('what is needed and missing or too old is said before anything is built or written', t => {
  const s = scratch(t)
  const source = sharedSource()
  s.write('old/node', '#!/bin/sh\necho v18.19.0\n', 0o755)
  s.write('broken/node', '#!/bin/sh\necho no such library >&2\nexit 127\n', 0o755)
  s.write('ancient/git', '#!/bin/sh\necho git version 2.20.1\n', 0o755)
  const bare = pathWithout(s, 'node', 'npm')
  const refusals: readonly (readonly [string, RegExp])[] = [
    [
      bare,
      /Node\.js is missing\n {2}expected: Node\.js 20\.12 or newer\n {2}found: +no node on the PATH\n {2}next: .*DISCERN_NODE/,
    ],
    [`${s.path('old')}:${bare}`, /Node\.js is too old\n {2}expected: Node\.js 20\.12 or newer\n {2}found: +v18\.19\.0/],
    [`${s.path('broken')}:${bare}`, /Node\.js does not start\n.*\n {2}found: .*no such library/],
    [pathWithout(s, 'npm'), /npm is missing\n/],
    [pathWithout(s, 'git'), /git is missing\n/],
    [`${s.path('ancient')}:${s.env['PATH']}`, /git is too old\n.*\n {2}found: +git version 2\.20\.1/],
  ]
  for (const [path, sentence] of refusals) {
    const refused = installWith(s, source, ['--prefix', s.path('prefix')], { PATH: path })
    assert.equal(refused.exit, 1, String(sentence))
    assert.match(refused.err, sentence)
    assert.ok(!existsSync(s.path('prefix')))
  }
})

test('packages that are out of date behind a link are refused, since npm ci would empty the folder it leads to', t => {
  const s = scratch(t)
  const source = sourceTree(s.path('source'))
  s.exec('.', 'mv', [join(source, 'node_modules'), s.path('shared')])
  symlinkSync(s.path('shared'), join(source, 'node_modules'))
  s.exec('.', 'touch', ['-d', '2001-01-01', s.path('shared/.package-lock.json')])
  const before = snapshot(s.path('shared'))
  const refused = installWith(s, source, ['--prefix', s.path('prefix')])
  assert.equal(refused.exit, 1)
  assert.match(refused.err, /found: +a link to /)
  assert.deepEqual(snapshot(s.path('shared')), before)
})

test('the versions that install.sh asks for are those that the program asks for', t => {
  const s = scratch(t)
  const script = s.read(join(projectRoot, 'install.sh'))
  const number = (name: string): string | undefined => new RegExp(`^${name}=(\\d+)$`, 'm').exec(script)?.[1]
  const engines: string = JSON.parse(s.read(join(projectRoot, 'package.json'))).engines.node
  assert.equal(`>=${number('NODE_MAJOR')}.${number('NODE_MINOR')}`, engines)
  assert.deepEqual([Number(number('GIT_MAJOR')), Number(number('GIT_MINOR'))], [...MINIMUM_GIT_VERSION])
})

test('--help explains itself, and a mistyped command line writes nothing', t => {
  const s = scratch(t)
  const source = sharedSource()
  const help = installWith(s, source, ['--help'])
  assert.equal(help.exit, 0)
  for (const word of ['--prefix', '--uninstall', '--demo']) assert.ok(help.out.includes(word), word)
  for (const args of [['--prefx'], ['--prefix'], ['--prefix', ''], ['--demo', '--uninstall'], ['somewhere']]) {
    const wrong = installWith(s, source, args)
    assert.equal(wrong.exit, 2, args.join(' '))
    assert.match(wrong.err, /usage: /)
  }
  assert.deepEqual(readdirSync(s.home), ['.gitconfig'])
})

test('case 83: an installation that is killed can be completed, and can be taken away', t => {
  const s = scratch(t)
  const source = sharedSource()
  const whole = s.path('whole')
  assert.equal(installWith(s, source, ['--prefix', whole]).exit, 0)
  // Every step into place is a `mv`; the n-th one kills the script before, or after, it is done.
  s.write(
    'shim/mv',
    `#!/bin/sh\necho x >>"$COUNT"\n[ $(wc -l <"$COUNT") -ne $AT ] || [ $WHEN = after ] || { kill -9 $PPID; exit 1; }\nPATH='${s.env['PATH']}' mv "$@"\n[ $(wc -l <"$COUNT") -ne $AT ] || kill -9 $PPID\n`,
    0o755,
  )
  const total = manifestLines(s, whole).filter(line => /^(file|link) /.test(line)).length + 2
  for (const [at, when] of [
    [2, 'before'],
    [Math.floor(total / 2), 'after'],
  ] as const) {
    const prefix = sharedPrefix(s, 'prefix')
    const before = snapshot(prefix)
    s.write('count', '')
    const env = { PATH: `${s.path('shim')}:${s.env['PATH']}`, COUNT: s.path('count'), AT: String(at), WHEN: when }
    assert.notEqual(installWith(s, source, ['--prefix', prefix], env).exit, 0, `${when} ${at} of ${total}`)
    s.exec('.', 'cp', ['-a', prefix, s.path('completed')])
    assert.equal(installWith(s, source, ['--uninstall', '--prefix', prefix]).exit, 0)
    assert.deepEqual(snapshot(prefix), before, `taken away ${when} ${at} of ${total}`)
    const completed = installWith(s, source, ['--prefix', s.path('completed')])
    assert.equal(completed.exit, 0, completed.err)
    const names = Object.keys(snapshot(s.path('completed')))
    assert.deepEqual(
      names.filter(name => /\.git-discern\./.test(name)),
      [],
      'no half copied file stays',
    )
    rmSync(s.path('completed'), { recursive: true })
    rmSync(prefix, { recursive: true })
  }
})
