/** Judges a command by its text: what could wait for ever, and what rewrites files, must be known before it becomes a job. */

/** Programs and flags that keep running, open a window, or wait for somebody. */
const WAITS: readonly RegExp[] = [
  /(^|\s)--watch(All)?(?!\S)/,
  /(^|\s)--watch(All)?[= ](?!false)/,
  /\b(tsc|mocha|ava|tap|jest|webpack|rollup|tsup|esbuild|babel)\b[^&|;]*\s-w\b/,
  /\b(nodemon|watchexec|entr|chokidar|browser-sync|live-server|http-server|storybook)\b/,
  /\b(vite|next|nuxt|astro|remix|gatsby|vitepress|ng|webpack|wrangler|expo)\s+(dev|develop|serve|start|preview|watch)\b/,
  /\bvite(\s+--\S+)*\s*($|[&|;])/,
  /(^|[\s;&|/])vitest(?=$|[\s;&|])(?!\s+(run|list|bench)\b)(?![^&|;]*\s--run\b)(?![^&|;]*--watch[= ]false)/,
  /(^|[\s;&|/])vitest\s[^&|;]*(^|\s)--ui\b/,
  /\b(turbo|nx|wireit|cargo)\s+watch\b/,
  /\breact-scripts\s+(start|test)\b(?![^&|;]*--watchAll[= ]false)/,
  /\bng\s+test\b(?![^&|;]*--(no-watch|watch[= ]false))/,
  /\bkarma\s+start\b(?![^&|;]*--single-run)/,
  /\bcypress\s+open\b/,
  /\bplaywright\s+test\b[^&|;]*--(ui|debug)\b/,
  /--inspect-brk\b/,
]

/** Whether a command may go on until somebody stops it. */
export const waits = (command: string): boolean => WAITS.some(sign => sign.test(command))

const WRITES =
  /(^|\s)--write\b|(^|\s)--fix\b|(^|\s)--in-place\b|\b(gofmt|goimports|gofumpt|shfmt|clang-format|yapf|stylua)\b[^&|;]*\s-(w|i)\b|\b(go|cargo|deno|dprint|terraform|zig|buf|rustfmt|mix|gleam|nix|just)\s+(fmt|format)\b|\b(ruff)\s+format\b|\b(black|isort|rustfmt|swiftformat|stylua|ktlint -F|php-cs-fixer fix|pint|rubocop -[aA])\b|\bspotlessApply\b/
const ONLY_LOOKS = /(^|\s)(--check|--list-different|--dry-run|--diff|--verify|--lint|--test|--fail-on-diff|-l|-c)\b/

/** Whether a command is known to rewrite files in place, which is what a formatter is for. */
export const rewrites = (command: string): boolean => WRITES.test(command) && !ONLY_LOOKS.test(command)

/** What npm writes into a new package instead of tests, and every other script that does nothing. */
export const isPlaceholder = (command: string): boolean =>
  /no test specified/.test(command) || /^\s*(:|true|exit 0|echo\b[^&|;]*)?\s*$/.test(command)

/** Whether a command can serve as the job of that name. */
export const suits = (job: string, command: string): boolean => {
  if (isPlaceholder(command) || waits(command)) return false
  if (job === 'format') return rewrites(command)
  // A check that edits files would leave the tree dirty, and the gate would stop there.
  return job === 'lint' || job === 'typecheck' ? !/(^|\s)--(fix|write)\b/.test(command) : true
}
