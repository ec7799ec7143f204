/** Completion, driven in the real shells. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { commands, commonFlags, type Flag } from '../../src/commands/command.ts'
import { projectRoot, type Scratch, scratch } from '../support/scratch.ts'

const script = join(projectRoot, 'dist/completion/git-discern')
const gitCompletion = '/usr/share/bash-completion/completions/git'

const needs = (t: TestContext, s: Scratch, program: string): boolean => {
  if (s.sh('.', `command -v ${program}`).exit === 0) return true
  t.skip(`there is no ${program} here`)
  return false
}

/** What bash offers for a line that ends at the cursor, as its own machinery would ask: words cut at `=` and `:`. */
const bashOffers = (s: Scratch, cwd: string, line: string, before: string): readonly string[] => {
  const words = line.split(/ +|(?<==)|(?==)/)
  const quoted = words.map(word => `'${word}'`).join(' ')
  const driver = `${before}
. '${script}'
COMP_WORDS=(${quoted}) COMP_CWORD=${words.length - 1} COMP_LINE='${line}' COMP_POINT=${line.length}
spec=$(complete -p ${words[0]}); fn=\${spec##*-F }; fn=\${fn%% *}
COMPREPLY=()
$fn ${words[0]} "\${COMP_WORDS[COMP_CWORD]}" "\${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\\n' "\${COMPREPLY[@]}"`
  const done = s.exec(cwd, 'bash', ['--norc', '--noprofile', '-u', '-c', driver])
  assert.equal(done.err, '', line)
  return done.out
    .split('\n')
    .filter(word => word !== '')
    .sort()
}

const spelled = (flags: readonly Flag[]): readonly string[] =>
  flags.flatMap(flag =>
    flag.value ? [`--${flag.name}=`] : [...(flag.short ? [`-${flag.short} `] : []), `--${flag.name} `],
  )

const shells: readonly (readonly [string, string])[] = [
  ["without git's completion", ''],
  ...(existsSync(gitCompletion) ? [["with git's completion", `set +u; . '${gitCompletion}'`] as const] : []),
]

for (const [how, before] of shells) {
  test(`bash, ${how}: verbs, the options of each verb, and values are offered`, t => {
    const s = scratch(t)
    if (!needs(t, s, 'bash')) return
    s.init('repo')
    s.git('repo', 'branch', 'topic')
    const offers = (line: string): readonly string[] => bashOffers(s, 'repo', line, before)
    const verbs = [...commands.map(command => `${command.name} `), 'help ', 'version '].sort()
    assert.deepEqual(offers('git discern '), verbs)
    assert.deepEqual(offers('git discern do'), ['doctor ', 'done '])
    assert.deepEqual(offers('git -C . --no-pager discern acc'), ['accept '])
    assert.deepEqual(offers('git discern help se'), ['setup '])
    for (const command of commands) {
      const all = spelled([...command.flags, ...commonFlags])
      assert.deepEqual(offers(`git discern ${command.name} -`), [...all].sort(), command.name)
    }
    assert.deepEqual(offers('git discern done --js'), ['--json '])
    assert.ok(offers('git discern --v').includes('--version '))
    assert.deepEqual(offers('git discern setup --trunk to'), ['topic '])
    assert.deepEqual(offers('git discern setup --trunk=to'), ['topic '])
    assert.deepEqual(offers('git discern setup --trunk='), ['main ', 'topic '])
    assert.ok(offers('git discern notes ').includes('resolve '))
    assert.deepEqual(offers('git discern notes resolve main --keep '), ['local ', 'remote '])
    assert.deepEqual(offers('git discern evaluate -- to'), ['topic '])
    assert.deepEqual(offers('git discern done x'), [])
  })
}

test('bash: the program called by its own name is completed as well', t => {
  const s = scratch(t)
  if (!needs(t, s, 'bash')) return
  s.init('repo')
  assert.deepEqual(bashOffers(s, 'repo', 'git-discern do', ''), ['doctor ', 'done '])
  assert.deepEqual(bashOffers(s, 'repo', 'git-discern done --rer', ''), ['--rerun '])
  assert.deepEqual(bashOffers(s, 'repo', 'git-discern setup --trunk=ma', ''), ['main '])
})

test('bash: completion of other git commands is left alone', t => {
  const s = scratch(t)
  if (!needs(t, s, 'bash')) return
  s.init('repo')
  assert.deepEqual(bashOffers(s, 'repo', 'git stat', ''), [], 'nothing of ours stands in for a file name')
  assert.deepEqual(bashOffers(s, 'repo', 'git log discern do', ''), [])
  if (!existsSync(gitCompletion)) return
  const owner = (text: string): string => s.exec('repo', 'bash', ['-c', `${text}; complete -p git`]).out
  const alone = `. '${script}'`
  assert.match(owner(`. '${gitCompletion}'; ${alone}`), /__git_wrap__git_main/)
  // bash-completion loads git's completion on the first key press; from then on it is in charge.
  const lazy = `${alone}; _completion_loader () { . '${gitCompletion}'; }
COMP_WORDS=(git stat) COMP_CWORD=1; __git_discern_alone git; [ $? = 124 ]`
  assert.match(owner(lazy), /__git_wrap__git_main/)
})

/**
 * Types lines into an interactive shell on a pseudo terminal, each when the one before was answered. `git` only says how it
 * was called.
 */
const typed = (s: Scratch, shell: string, setUp: string, lines: readonly string[]): Promise<readonly string[]> =>
  new Promise((resolve, reject) => {
    const stub = 'git () { if [ "$1" = discern ]; then echo "<$*>"; else command git "$@"; fi; }'
    s.write('setup', `${setUp}\n${stub}\necho '<''ready>'\n`)
    const rest = [`. '${s.path('setup')}'`, ...lines, 'exit']
    const child = spawn('script', ['-qec', shell, '/dev/null'], {
      cwd: s.path('repo'),
      env: { ...s.env, TERM: 'dumb', PS1: '> ' },
    })
    const next = (): void => {
      child.stdin.write(`${rest.shift() ?? 'exit'}\n`)
    }
    const deadline = setTimeout(() => child.kill(), 30_000)
    let out = ''
    let answered = 0
    child.stdout.on('data', chunk => {
      out += chunk
      for (const answers = [...out.matchAll(/^<[^\n]*>\r$/gm)].length; answered < answers; answered++) next()
    })
    child.stdin.on('error', () => {})
    child.on('error', reject)
    child.on('close', () => {
      clearTimeout(deadline)
      resolve([...out.matchAll(/^<discern ([^\n]*)>\r$/gm)].map(match => match[1] ?? ''))
    })
    next()
  })

test('bash on a terminal: the tab key completes the verb and the option', async t => {
  const s = scratch(t)
  if (!needs(t, s, 'bash') || !needs(t, s, 'script')) return
  s.init('repo')
  const ran = await typed(s, 'bash --norc --noprofile -i', `. '${script}'`, ['git discern acc\t--conf\t'])
  assert.deepEqual(ran, ['accept --confirmed'])
})

test('zsh on a terminal: the tab key completes the verb and the option', async t => {
  const s = scratch(t)
  if (!needs(t, s, 'zsh') || !needs(t, s, 'script')) return
  s.init('repo')
  const folder = join(projectRoot, 'dist/completion')
  const ran = await typed(s, 'zsh -f -i', `fpath=('${folder}' $fpath); autoload -U compinit; compinit -u -D`, [
    'git discern acc\t--conf\t',
    'git discern setup --trunk ma\t',
    'git discern notes res\t',
  ])
  assert.deepEqual(ran, ['accept --confirmed', 'setup --trunk main', 'notes resolve'])
})
