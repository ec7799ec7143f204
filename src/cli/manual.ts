/**
 * The manual pages, made from the command table when the program is built. One page for the program and one for each verb,
 * under the names that `git help` looks for (case 90).
 */
import { type Command, commandGroups, commands, commonFlags, type Flag } from '../commands/command.ts'
import { exitCodes, flagText } from './argv.ts'
import { bashCompletion, zshCompletion } from './completion.ts'

/** A generated file; the path is relative to `dist/`. */
export interface GeneratedFile {
  readonly path: string
  readonly text: string
}

/** Environment variables that change what a verb does. */
const environment: readonly (readonly [string, string])[] = [
  ['DISCERN_TRUNK', 'This branch is the trunk, for one command.'],
  [
    'DISCERN_NODE',
    'The Node.js executable that runs the program, instead of the recorded one and the one on the PATH.',
  ],
  ['DISCERN_NO_ATTRIBUTION', 'When set, Proof notes are committed under your own identity.'],
  ['DISCERN_DEBUG', 'When set, a defect of the program prints where it happened.'],
  ['GIT_OPTIONAL_LOCKS', 'With the value 0 the inspecting verbs do not adopt fetched notes.'],
  ['NO_COLOR, FORCE_COLOR', 'Turn colour off, or on where it would be off.'],
]

const files: readonly (readonly [string, string])[] = [
  ['discern.toml', 'The policy: trunk, jobs, scopes, checkpoints. What binds a branch is the file on the trunk.'],
  ['refs/notes/discern', 'The Proofs of landed commits, one note each.'],
  ['refs/discern/remotes/<remote>/notes', 'Proofs that a plain git fetch brought.'],
  ['$GIT_DIR/discern/', 'The Proof and the journal of one worktree.'],
  ['$GIT_COMMON_DIR/discern/', 'Records that all worktrees share.'],
]

/**
 * Text that roff prints as it stands: no character of it can be a request, an escape, or be replaced by a typographic
 * relative that nobody can paste into a shell.
 */
export const roff = (text: string): string =>
  text
    .replace(/[\\\-'`^~"]/g, character => ESCAPES[character] ?? character)
    .replace(/[^\x20-\x7e\n]/gu, character => {
      const digits = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
      return `\\[u${digits}]`
    })
    .replace(/^\./gm, '\\&.')

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\e',
  '-': '\\-',
  "'": '\\(aq',
  '`': '\\(ga',
  '^': '\\(ha',
  '~': '\\(ti',
  '"': '\\(dq',
}

const bold = (text: string): string => `\\fB${roff(text)}\\fR`
const italic = (text: string): string => `\\fI${roff(text)}\\fR`
const pageName = (command: Command): string => `git-discern-${command.name}`

const head = (name: string, summary: string, version: string): string[] => [
  '.\\" Made from the command table when the program is built.',
  `.TH ${roff(name.toUpperCase())} 1 "" "${roff(`git-discern ${version}`)}" "Git Discern Manual"`,
  // Command lines are neither hyphenated nor stretched.
  '.nh',
  '.ad l',
  '.SH NAME',
  `${roff(name)} \\- ${roff(summary)}`,
]

const paragraphs = (rows: readonly (readonly [string, string])[]): string[] =>
  rows.flatMap(([tag, text]) => ['.TP', tag, roff(text)])

const options = (flags: readonly Flag[]): string[] =>
  paragraphs(flags.map(flag => [flagTag(flag), `${capital(flag.summary)}.`] as const))

const flagTag = (flag: Flag): string => {
  const names = [...(flag.short ? [`-${flag.short}`] : []), `--${flag.name}`].map(bold).join(', ')
  return flag.value ? `${names} ${italic(`<${flag.value}>`)}` : names
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** Each option stays in one piece when the line is filled. */
const synopsis = (command: Command): string =>
  [
    bold(`git discern ${command.name}`),
    ...command.flags.map(flag => `[${roff(flagText(flag)).replaceAll(', ', ' | ').replaceAll(' ', '\\ ')}]`),
    ...(command.operands ? [roff(command.operands)] : []),
  ].join('\n')

const code = (lines: readonly string[]): string[] => ['.PP', '.RS 4', '.nf', ...lines.map(roff), '.fi', '.RE']

const seeAlso = (names: readonly string[]): string[] => [
  '.SH SEE ALSO',
  names.map(name => `${bold(name)}(1)`).join(',\n'),
]

const exitStatus = (): string[] => [
  '.SH EXIT STATUS',
  ...paragraphs(exitCodes.map(([exit, meaning]) => [bold(exit), `${capital(meaning)}.`] as const)),
]

/** `git-discern.1`: the verbs in their groups, and what all of them share. */
const programPage = (version: string): string =>
  [
    ...head('git-discern', 'turn "it\'s done" into evidence bound to one commit', version),
    '.SH SYNOPSIS',
    `${bold('git discern')} [${italic('<verb>')}] [${italic('<options>')}]`,
    '.SH DESCRIPTION',
    roff(
      'Runs the commands that a project already has, binds what they answered to one commit as a Proof, lands that commit on the trunk when its owner agrees, and records the Proof as a Git note. The notes travel with plain git fetch and git push; the program itself never touches the network.',
    ),
    '.PP',
    roff('Without a verb it shows the status.'),
    '.SH VERBS',
    ...commandGroups.flatMap(([group, title]) => {
      const rows = commands.filter(command => command.group === group)
      if (rows.length === 0) return []
      return [
        `.SS ${roff(capital(title))}`,
        ...paragraphs(rows.map(command => [`${bold(pageName(command))}(1)`, `${capital(command.summary)}.`] as const)),
      ]
    }),
    '.SH OPTIONS',
    'Every verb has these.',
    ...options(commonFlags),
    ...exitStatus(),
    '.SH ENVIRONMENT',
    ...paragraphs(environment.map(([name, text]) => [bold(name), text] as const)),
    '.SH FILES',
    ...paragraphs(files.map(([name, text]) => [italic(name), text] as const)),
    '.SH EXAMPLES',
    'From a repository that has never heard of it to a landed, published Proof:',
    ...code([
      'git discern setup',
      'git switch -c greeting',
      'git commit -a -m "Say hello"',
      'git discern done',
      'git discern accept --confirmed',
      'git push origin main refs/notes/discern',
    ]),
    ...seeAlso(['git-notes', ...commands.map(pageName)]),
    '',
  ].join('\n')

/** `git-discern-<verb>.1`. */
const commandPage = (command: Command, version: string): string =>
  [
    ...head(pageName(command), command.summary, version),
    '.SH SYNOPSIS',
    synopsis(command),
    '.SH DESCRIPTION',
    roff(command.description),
    ...(command.readOnly ? ['.PP', 'It starts no configured command.'] : []),
    '.SH OPTIONS',
    ...options([...command.flags, ...commonFlags]),
    ...exitStatus(),
    '.SH EXAMPLES',
    ...code(command.examples),
    ...seeAlso(['git-discern']),
    '',
  ].join('\n')

/**
 * Every file that is made from the command table. `git help discern-done` asks for `gitdiscern-done`, because git knows no
 * program of that name; a page of one line sends the reader on.
 */
export const generatedFiles = (version: string): readonly GeneratedFile[] => [
  { path: 'man/git-discern.1', text: programPage(version) },
  ...commands.flatMap(command => [
    { path: `man/${pageName(command)}.1`, text: commandPage(command, version) },
    { path: `man/gitdiscern-${command.name}.1`, text: `.so man1/${pageName(command)}.1\n` },
  ]),
  { path: 'completion/git-discern', text: bashCompletion() },
  { path: 'completion/_git-discern', text: zshCompletion() },
]
