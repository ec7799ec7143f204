/** Arguments into a call, strictly: what is not in the command table is an error that names the nearest right word. */
import mri from 'mri'
import { type Call, type Command, commandGroups, commands, commonFlags, type Flag } from '../commands/command.ts'
import { Refusal } from '../errors.ts'

export type Output = 'text' | 'json' | 'markdown'

export interface Invocation {
  readonly command: Command
  readonly output: Output
  readonly quiet: boolean
  readonly help: boolean
  readonly call: Call
}

const nearest = async (word: string, known: readonly string[]): Promise<string | undefined> => {
  const { closestMatch } = await import('leven')
  return closestMatch(word, known, { maxDistance: 3 })
}

/** A lone dash is a word, standard input by custom; mri takes it for an option without a name. No argument can hold a NUL. */
const DASH = '\0-'
const hideDash = (word: string): string => (word === '-' ? DASH : word)
const showDash = (word: unknown): string => (word === DASH ? '-' : String(word))

/** Refuses with `invalid_arguments`, the command's usage as the next action. */
export const parseArguments = async (
  command: Command,
  argv: readonly string[],
  stdin: () => Promise<Buffer>,
): Promise<Invocation> => {
  const flags = [...command.flags, ...commonFlags]
  const valued = flags.filter(flag => flag.value !== undefined)
  const unknown: string[] = []
  const alias: Record<string, string[]> = {}
  // An entry for each flag, even an empty one: mri's strict mode knows no other names.
  for (const flag of flags) alias[flag.name] = flag.short ? [flag.short] : []
  const operandsAt = argv.indexOf('--')
  const before = operandsAt === -1 ? argv : argv.slice(0, operandsAt)
  const parsed = mri(before.map(hideDash), {
    alias,
    boolean: flags.filter(flag => flag.value === undefined).map(flag => flag.name),
    string: valued.map(flag => flag.name),
    unknown: word => {
      unknown.push(word)
    },
  })
  const problem = async (text: string): Promise<never> => {
    throw new Refusal('invalid_arguments', {
      problem: `${command.name}: ${text}`,
      usage: usageLine(command),
    })
  }
  if (unknown[0] !== undefined) {
    const word = unknown[0].replace(/^-+/, '').replace(/=.*$/, '')
    const near = await nearest(
      word,
      flags.map(flag => flag.name),
    )
    return problem(`unknown option ${unknown[0].replace(/=.*$/, '')}${near ? `; did you mean --${near}?` : ''}`)
  }
  const values: Record<string, true | string | readonly string[] | undefined> = {}
  for (const flag of flags) {
    const value: unknown = parsed[flag.name]
    const given = before.some(word => names(flag, word))
    if (flag.value === undefined) {
      if (before.some(word => word.startsWith(`--${flag.name}=`))) return problem(`--${flag.name} takes no value`)
      if (before.includes(`--no-${flag.name}`)) return problem(`unknown option --no-${flag.name}`)
      values[flag.name] = value === true ? true : undefined
      continue
    }
    const list = (Array.isArray(value) ? value : given ? [value] : []).map(showDash)
    if (list.some(item => item === '')) return problem(`--${flag.name} needs a ${flag.value}`)
    if (flag.repeatable) values[flag.name] = list
    else if (list.length > 1) return problem(`--${flag.name} may be given once`)
    else values[flag.name] = list[0]
  }
  const operands = [...parsed._.map(showDash), ...(operandsAt === -1 ? [] : argv.slice(operandsAt + 1))]
  const help = values['help'] === true
  const [fewest, most] = command.arity ?? [0, 0]
  if (!help && operands.length < fewest) return problem(`expected ${command.operands}`)
  if (!help && operands.length > most) return problem(`unexpected argument ${operands[most]}`)
  if (values['json'] && values['markdown']) return problem('--json and --markdown exclude each other')
  return {
    command,
    output: values['json'] ? 'json' : values['markdown'] ? 'markdown' : 'text',
    quiet: values['quiet'] === true,
    help,
    call: { flags: values, operands, stdin },
  }
}

const names = (flag: Flag, word: string): boolean =>
  word === `--${flag.name}` ||
  word.startsWith(`--${flag.name}=`) ||
  (flag.short !== undefined && /^-[^-]/.test(word) && word.includes(flag.short))

/** Finds a verb, or refuses naming the nearest one. */
export const findCommand = async (name: string): Promise<Command> => {
  const found = commands.find(command => command.name === name)
  if (found) return found
  const near = await nearest(
    name,
    commands.map(command => command.name),
  )
  throw new Refusal('invalid_arguments', {
    problem: `"${name}" is not a verb${near ? `; did you mean "${near}"?` : ''}`,
    usage: near ? `git discern ${near} -h` : 'git discern -h',
  })
}

/** A flag as help writes it: `-n, --dry-run`, `--trunk <branch>`. */
export const flagText = (flag: Flag): string =>
  `${flag.short ? `-${flag.short}, ` : ''}--${flag.name}${flag.value ? ` <${flag.value}>` : ''}`

export const usageLine = (command: Command): string =>
  `git discern ${command.name} [options]${command.operands ? ` ${command.operands}` : ''}   (git discern ${command.name} -h)`

const columns = (rows: readonly (readonly [string, string])[]): string[] => {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)
}

/** Every exit code a verb can end with (facts 7.10). */
export const exitCodes: readonly (readonly [code: string, meaning: string])[] = [
  ['0', 'done'],
  ['1', 'refused or failed'],
  ['2', 'wrong usage'],
  ['3', 'set up without hooks'],
  ['70', 'a defect of git discern'],
  ['127', 'no Node.js'],
  ['129, 130, 143', 'interrupted by HUP, INT, TERM'],
]

/** Help of one verb. */
export const commandHelp = (command: Command): string =>
  [
    `usage: git discern ${command.name} [options]${command.operands ? ` ${command.operands}` : ''}`,
    '',
    command.description,
    '',
    'options:',
    ...columns([...command.flags, ...commonFlags].map(flag => [flagText(flag), flag.summary] as const)),
    '',
    'examples:',
    ...command.examples.map(example => `  ${example}`),
    '',
  ].join('\n')

/** Help of the whole program, in groups. */
export const programHelp = (): string =>
  [
    'usage: git discern [<verb>] [options]',
    '',
    'Turns "it\'s done" into evidence bound to one commit.',
    ...commandGroups.flatMap(([group, title]) => [
      '',
      `${title}:`,
      ...columns(
        commands.filter(command => command.group === group).map(command => [command.name, command.summary] as const),
      ),
    ]),
    '',
    '`git discern <verb> -h` shows the options of one verb; `git help discern-<verb>` its manual page.',
    `Exit codes: ${exitCodes.map(([code, meaning]) => `${code} ${meaning}`).join('; ')}.`,
    '',
  ].join('\n')
