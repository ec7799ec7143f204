/** The manual pages and the ways to ask for help. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { roff } from '../../src/cli/manual.ts'
import { commands, commonFlags } from '../../src/commands/command.ts'
import { installWith, sharedSource } from '../support/installed.ts'
import { projectRoot, type Scratch, scratch } from '../support/scratch.ts'

const pages = join(projectRoot, 'dist/man')

/** Skips the test where the program is not there. */
const needs = (t: TestContext, s: Scratch, program: string): boolean => {
  if (s.sh('.', `command -v ${program}`).exit === 0) return true
  t.skip(`there is no ${program} here`)
  return false
}

/** A page as text, in long lines, and what the formatter complains about. */
const rendered = (s: Scratch, page: string): { readonly text: string; readonly warnings: string } => {
  const done = s.sh('.', `groff -man -Tutf8 -ww -P-c -rLL=400n '${page}' | sed 's/.\x08//g'`)
  return { text: done.out.replace(/\s+/g, ' '), warnings: done.err }
}

test('every page renders without a warning; it names the summary, each option and each operand of its verb', t => {
  const s = scratch(t)
  if (!needs(t, s, 'groff')) return
  assert.equal(readdirSync(pages).filter(name => name.startsWith('git-')).length, commands.length + 1)
  const program = rendered(s, join(pages, 'git-discern.1'))
  assert.equal(program.warnings, '')
  assert.match(rendered(s, s.write('broken.1', '.TH X 1\n.SH NAME\n.XX y\n')).warnings, /XX/, 'a warning would be seen')
  for (const command of commands) {
    assert.ok(program.text.includes(`git-discern-${command.name}(1) ${command.summary.charAt(0).toUpperCase()}`))
    const page = rendered(s, join(pages, `git-discern-${command.name}.1`))
    assert.equal(page.warnings, '', command.name)
    const expected = [
      `git-discern-${command.name} - ${command.summary}`,
      command.operands ?? '',
      command.description,
      ...command.examples,
    ]
    for (const flag of [...command.flags, ...commonFlags]) {
      const value = flag.value ? ` <${flag.value}>` : ''
      expected.push(`${flag.short ? `-${flag.short}, ` : ''}--${flag.name}${value} `, flag.summary.slice(1))
    }
    for (const text of expected) {
      assert.ok(page.text.includes(text.replace(/\s+/g, ' ')), `${command.name}: ${text}\n${page.text}`)
    }
  }
})

test('text reaches the reader of a page as it stands, whatever roff would make of it', t => {
  const s = scratch(t)
  if (!needs(t, s, 'groff')) return
  const lines = [
    '.SH is no request here',
    "'so is this",
    "it's \\fBnot\\fR bold, \\n or \\\\",
    'a-b --c `d` ^e ~f "g" $h & <i> [j] # .k',
    'naïve – “ünïcode” ☃ 𝄞',
    '..',
  ]
  const page = s.write('page.1', `.TH X 1\n.nh\n.nf\n${roff(lines.join('\n'))}\n`)
  const out = s.sh('.', `groff -man -Tutf8 -ww -P-c '${page}'`)
  assert.equal(out.err, '')
  const shown = out.out.split('\n').map(line => line.replace(/^ {7}/, ''))
  for (const line of lines) assert.ok(shown.includes(line), `${line}\n${out.out}`)
})

test('case 90: every way to ask for help answers after an installation', t => {
  const s = scratch(t)
  if (!needs(t, s, 'man')) return
  const prefix = s.path('prefix')
  assert.equal(installWith(s, sharedSource(), ['--prefix', prefix]).exit, 0)
  s.init('repo')
  s.write('repo/sub/x', 'x')
  const env = { PATH: `${prefix}/bin:${s.env['PATH']}`, GIT_PAGER: 'cat', PAGER: 'cat', MANPAGER: 'cat' }
  const first = (...args: readonly string[]): string => {
    const asked = s.exec('repo/sub', 'git', args, { env })
    assert.equal(asked.exit, 0, `git ${args.join(' ')}: ${asked.err}`)
    return asked.out.split('\n').find(line => line.trim() !== '') ?? ''
  }
  assert.match(first('discern', '--help'), /^GIT-DISCERN\(1\)/)
  assert.match(first('help', 'discern'), /^GIT-DISCERN\(1\)/)
  assert.match(first('discern', '-h'), /^usage: git discern /)
  assert.match(first('discern', 'help'), /^usage: git discern /)
  assert.match(first('help', 'discern-done'), /^GIT-DISCERN-DONE\(1\)/)
  assert.match(first('help', 'git-discern-done'), /^GIT-DISCERN-DONE\(1\)/)
  for (const args of [
    ['done', '-h'],
    ['done', '--help'],
    ['help', 'done'],
  ]) {
    assert.match(first('discern', ...args), /^usage: git discern done /)
  }
  for (const { name } of commands) {
    assert.equal(s.read(`${prefix}/share/man/man1/gitdiscern-${name}.1`), `.so man1/git-discern-${name}.1\n`)
    assert.ok(existsSync(`${prefix}/share/man/man1/git-discern-${name}.1`))
  }
  const all = s.exec('repo', 'git', ['help', '-a'], { env })
  assert.match(all.out, /^ +discern$/m, 'git lists the verb among its external commands')
})
