/**
 * Completion for bash and zsh, made from the command table when the program is built: verbs, their options, and the values
 * that can be known. Pressing the key asks git for names at most, and starts nothing of ours.
 */
import { type Command, commands, commonFlags, type Flag } from '../commands/command.ts'

/** What can be offered in one place. */
type Offer =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'branches' | 'commits' | 'folders' | 'nothing' }

/** What a placeholder of the command table stands for; one that is not here is free text. */
const OFFERS: Readonly<Record<string, Offer['kind']>> = {
  branch: 'branches',
  commit: 'commits',
  revision: 'commits',
  directory: 'folders',
}

/** A placeholder is either a list of the words that are allowed, or says what kind of thing is meant. */
const offerFor = (placeholder: string): Offer => {
  if (placeholder.includes('|')) return { kind: 'words', words: placeholder.split('|').map(word => word.trim()) }
  const kind = OFFERS[placeholder]
  return kind === undefined || kind === 'words' ? { kind: 'nothing' } : { kind }
}

/** `list | resolve <commit>` offers the two words and commits; `[<revision>]` offers commits. */
const operandOffers = (operands: string | undefined): readonly Offer[] => {
  if (operands === undefined) return []
  const placeholders = [...operands.matchAll(/<([^<>]+)>/g)].map(match => offerFor(match[1] ?? ''))
  const words = operands
    .replace(/<[^<>]*>/g, ' ')
    .split(/[^a-z0-9-]+/)
    .filter(word => /^[a-z]/.test(word))
  const named = placeholders.filter(offer => offer.kind !== 'nothing')
  return words.length > 0 ? [{ kind: 'words', words }, ...named] : named
}

const flagsOf = (command: Command): readonly Flag[] => [...command.flags, ...commonFlags]
const spellings = (flag: Flag): readonly string[] => [...(flag.short ? [`-${flag.short}`] : []), `--${flag.name}`]
/** Words that stand in the place of a verb. */
const verbWords = [...commands.map(command => command.name), 'help', 'version']

const bashOffer = (offer: Offer): string => {
  switch (offer.kind) {
    case 'words':
      return `__git_discern_offer "${offer.words.join(' ')}"`
    case 'branches':
      return '__git_discern_refs refs/heads'
    case 'commits':
      return '__git_discern_refs refs/heads refs/tags refs/remotes'
    case 'folders':
      return 'return 0 # the names of files, which the shell completes by itself'
    case 'nothing':
      return ':'
  }
}

const bashCase = (rows: readonly (readonly [pattern: string, body: readonly string[]])[]): string =>
  rows.map(([pattern, body]) => `\t${pattern})\n${body.map(line => `\t\t${line}\n`).join('')}\t\t;;\n`).join('')

/**
 * Defines `_git_discern`, which git's own completion calls. Where that is not loaded, `git discern` and `git-discern` are
 * completed all the same, and `git` is given back to git's completion as soon as it can be had.
 */
export const bashCompletion =
  (): string => `# bash completion for git discern; made from the command table when the program is built.

# What has the given word as its beginning; a space ends what needs no value. 1: words
__git_discern_offer ()
{
	local word IFS=$' \\t\\n'
	for word in $1; do
		case $word in
		"$cur"*)
			case $word in *=) ;; *) word="$word " ;; esac
			COMPREPLY+=("$word")
			;;
		esac
	done
}

__git_discern_refs ()
{
	__git_discern_offer "$(git for-each-ref --format='%(refname:short)' "$@" 2>/dev/null)"
}

# 1: verb
__git_discern_options ()
{
	case $1 in
${bashCase(
  commands.map(command => [
    command.name,
    [
      `__git_discern_offer "${flagsOf(command)
        .flatMap(flag => (flag.value ? [`--${flag.name}=`] : spellings(flag)))
        .join(' ')}"`,
    ],
  ]),
)}	esac
}

# 1: verb and option
__git_discern_value ()
{
	case $1 in
${bashCase(
  commands.flatMap(command =>
    flagsOf(command).flatMap(flag =>
      flag.value === undefined
        ? []
        : [
            [
              spellings(flag)
                .map(word => `"${command.name} ${word}"`)
                .join(' | '),
              [bashOffer(offerFor(flag.value))],
            ] as const,
          ],
    ),
  ),
)}	*) return 1 ;;
	esac
}

# 1: verb
__git_discern_operands ()
{
	case $1 in
${bashCase([
  ...commands.flatMap(command => {
    const offers = operandOffers(command.operands)
    return offers.length > 0 ? [[command.name, offers.map(bashOffer)] as const] : []
  }),
  ['help', [`__git_discern_offer "${commands.map(command => command.name).join(' ')}"`]],
])}	esac
}

# Called with cur, words and cword set, as git's completion does.
_git_discern ()
{
	local at=\${__git_cmd_idx:-0} verb i before=
	COMPREPLY=()
	if [ "$at" -eq 0 ]; then
		at=1
		while [ "$at" -lt "$cword" ] && [ "\${words[at]}" != discern ]; do at=$((at + 1)); done
	fi
	if [ "$cword" -eq $((at + 1)) ]; then
		case $cur in
		-*)
			__git_discern_options status
			__git_discern_offer --version
			;;
		*) __git_discern_offer "${verbWords.join(' ')}" ;;
		esac
		return 0
	fi
	verb=\${words[at + 1]}
	case $verb in -*) verb=status ;; esac
	for ((i = at + 1; i < cword; i++)); do
		[ "\${words[i]}" = -- ] && before=--
	done
	if [ -z "$before" ]; then
		case $cur in
		--*=*)
			local option=\${cur%%=*} cur=\${cur#*=}
			__git_discern_value "$verb $option"
			return 0
			;;
		esac
		__git_discern_value "$verb \${words[cword - 1]}" && return 0
		case $cur in
		-*)
			__git_discern_options "$verb"
			return 0
			;;
		esac
	fi
	__git_discern_operands "$verb"
	return 0
}

# The same for a shell without git's completion. 1: the command being completed
__git_discern_alone ()
{
	local words cword cur i at=0 __git_cmd_idx=0
	if [ "$1" = git ]; then
		# bash-completion loads git's completion when it is first asked for; then that one does the work.
		if declare -F _comp_load >/dev/null; then
			_comp_load git
		elif declare -F _completion_loader >/dev/null; then
			_completion_loader git
		fi >/dev/null 2>&1
		if declare -F __git_main >/dev/null && [[ $(complete -p git) != *__git_discern_alone* ]]; then
			return 124
		fi
		complete -o bashdefault -o default -o nospace -F __git_discern_alone git
	fi
	# The shell cuts words at "=" and ":"; here they are whole.
	words=() cword=-1
	for ((i = 0; i <= COMP_CWORD; i++)); do
		if [[ $i -gt 0 && ( \${COMP_WORDS[i]} == [=:]* || \${COMP_WORDS[i - 1]} == *[=:] ) ]]; then
			words[cword]+=\${COMP_WORDS[i]}
			continue
		fi
		cword=$((cword + 1))
		words[cword]=\${COMP_WORDS[i]}
	done
	cur=\${words[cword]}
	if [ "$1" = git ]; then
		at=1
		while [ "$at" -lt "$cword" ]; do
			case \${words[at]} in
			-C | -c | --git-dir | --work-tree | --namespace) at=$((at + 2)) ;;
			-*) at=$((at + 1)) ;;
			*) break ;;
			esac
		done
		if [ "\${words[at]}" != discern ] || [ "$at" -ge "$cword" ]; then
			COMPREPLY=()
			return 0
		fi
		__git_cmd_idx=$at
		_git_discern
	else
		words=(git discern "\${words[@]:1}") cword=$((cword + 1)) __git_cmd_idx=1
		_git_discern
	fi
}

complete -o bashdefault -o default -o nospace -F __git_discern_alone git-discern
complete -p git >/dev/null 2>&1 || complete -o bashdefault -o default -o nospace -F __git_discern_alone git
`

/** Text inside single quotes of the shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
/** Text inside the brackets of a specification for \`_arguments\`. */
const bracketed = (text: string): string => text.replace(/[[\]\\:]/g, '\\$&')

/** A space before a function keeps `_arguments` from adding arguments of its own. */
const zshAction = (offer: Offer): string => {
  switch (offer.kind) {
    case 'words':
      return `(${offer.words.join(' ')})`
    case 'branches':
      return ' _git-discern-refs refs/heads'
    case 'commits':
      return ' _git-discern-refs refs/heads refs/tags refs/remotes'
    case 'folders':
      return '_files -/'
    case 'nothing':
      return ' '
  }
}

const zshFlag = (flag: Flag): string => {
  const value = flag.value ? `:${bracketed(flag.value)}:${zshAction(offerFor(flag.value))}` : ''
  const text = `[${bracketed(flag.summary)}]${value}`
  const star = flag.repeatable ? '*' : ''
  const equals = flag.value ? '=' : ''
  if (!flag.short) return quoted(`${star}--${flag.name}${equals}${text}`)
  const apart = star || `(-${flag.short} --${flag.name})`
  return `${quoted(apart)}{-${flag.short}${flag.value ? '+' : ''},--${flag.name}${equals}}${quoted(text)}`
}

const zshOperands = (command: Command): readonly string[] => {
  const offers = operandOffers(command.operands)
  const words = offers.find(offer => offer.kind === 'words')
  const other = offers.find(offer => offer.kind !== 'words')
  return [...(words ? [quoted(`1: :${zshAction(words)}`)] : []), ...(other ? [quoted(`*: :${zshAction(other)}`)] : [])]
}

/** The function that zsh's own completion of git calls for \`git discern\`. */
export const zshCompletion = (): string => `#compdef git-discern
#description turn "it is done" into evidence bound to one commit
# Made from the command table when the program is built.

(( $+functions[_git-discern-refs] )) || _git-discern-refs () {
  local -a refs
  refs=(\${(f)"$(git for-each-ref --format='%(refname:short)' $@ 2>/dev/null)"})
  compadd -a refs
}

_git-discern () {
  local curcontext=$curcontext state line ret=1
  local -A opt_args
  local -a verbs=(
${[...commands.map(command => `    ${quoted(`${command.name}:${command.summary}`)}`), "    'help:show the options of a verb'"].join('\n')}
  )
  if [[ $CURRENT -eq 2 && $words[2] != -* ]]; then
    _describe -t commands 'verb of git discern' verbs
    return
  fi
  local verb=$words[2]
  if [[ $verb == -* ]]; then
    verb=status
  else
    (( CURRENT-- ))
    shift words
    curcontext=\${curcontext%:*:*}:git-discern-$verb:
  fi
  case $verb in
${commands
  .map(command =>
    [
      `    ${command.name})`,
      `      _arguments -s -S ${[...flagsOf(command).map(zshFlag), ...zshOperands(command)].join(' \\\n        ')} && ret=0`,
      '      ;;',
    ].join('\n'),
  )
  .join('\n')}
    help) _describe -t commands 'verb of git discern' verbs && ret=0 ;;
  esac
  return ret
}

_git-discern "$@"
`
