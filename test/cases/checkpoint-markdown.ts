/** Hostile text in everything that a checkpoint shows, as Markdown. Every expected text is written by hand. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CONFIG, project } from '../support/project.ts'
import { scratch } from '../support/scratch.ts'

const ESC = '\u001b'
const CSI = '\u009b'
const RLO = '\u202e'
const LS = '\u2028'

const QUESTION = [
  '# Heading | pipe',
  '```',
  '<script>alert(1)</script> [link](http://x.invalid) ![img](y)\r',
  '    - four blanks',
  '- item',
  '12. twelfth',
  '===',
  '&lt;b&gt; &rlm;',
  `${ESC}]0;title\u0007${CSI}31m ${RLO}desrever${LS}*bold* _it_ ~~no~~ \\ {x}`,
].join('\n')

const entry = (id: string, more: string): string =>
  `[checkpoints.${id}]\n${more}\nquestion = ${JSON.stringify(QUESTION)}\n`

const OWED = String.raw`## owed: awaits your conclusion

\# Heading \| pipe

\`\`\`

\<script\>alert\(1\)\</script\> \[link\]\(http://x.invalid\) \!\[img\]\(y\)

\- four blanks

\- item

12\. twelfth

\===

\&lt;b\&gt; \&rlm;

\\x1b\]0;title\\x07\\x9b31m \\u202edesrever\\u2028\*bold\* \_it\_ \~\~no\~\~ \\ \{x\}

- **fired by**: changes in \*\[\[\]link\]\*, a\*
- **about**: "a\\n\\033\[31m", "a\\302\\233", "a\\342\\200\\256b", x\[link\]\(y\)\|\`\#
- **know**: \`t\` \\x1b\[2J \| \<b\>\\x0anext
- **see**: \[r\]\(x\)\\u202e

FENCE
git discern done --met owed
git discern done --unmet owed --why "<reason>"
FENCE
`.replaceAll('FENCE', '```')

const CHECKPOINTS = String.raw`policy of POLICY

- **owed \(stop\)**: changes in \*\[\[\]link\]\*, a\*: awaits your conclusion
- **advice \(advise\)**: added files: advice for this change
- **unmet \(stop\)**: an added line with "\`\|\<x\>" or "\\u001b\[31m": declared unmet; landing needs the owner’s variance: \`code\` \| \[x\]\(y\) \<b\> \# \*no\* \\
- **idle \(stop\)**: changes in nowhere\|\`x\`/\*\*: not asked \(empty\_matched\_set\)

## in the newest 6 lines of the Logbook

- **advice**: fired in 1 effort, declared met 0, unmet 0, landed under a variance 0
- **owed**: fired in 1 effort, declared met 0, unmet 0, landed under a variance 0
- **unmet**: fired in 1 effort, declared met 0, unmet 1, landed under a variance 0, answered in 0 s

${OWED}`

const PREPARE = String.raw`- **fix: format**: passed in TIME

${OWED}
advice advice: \# Heading \| pipe

about "a\\n\\033\[31m", "a\\302\\233", "a\\342\\200\\256b", x\[link\]\(y\)\|\`\#

unmet: declared unmet; landing needs the owner’s variance \(\`code\` \| \[x\]\(y\) \<b\> \# \*no\* \\\)

edited:

- \- b\|\`c\`

next: git diff

next: git commit
`

describe('checkpoints and prepare as Markdown', () => {
  it('show text that a policy, a branch or an author chose as text, whatever is in it', async t => {
    const s = scratch(t)
    project(s)
    const teach = JSON.stringify(`\`t\` ${ESC}[2J | <b>\nnext`)
    s.write(
      'r/discern.toml',
      `${CONFIG}format = "printf '%s' fixed >'    - b|\`c\`'"\n${[
        entry('owed', `paths = ["*[[]link]*", "a*"]\nteach = ${teach}\nreference = ${JSON.stringify(`[r](x)${RLO}`)}`),
        entry('advice', 'mode = "advise"\nkinds = ["added"]'),
        entry('unmet', `adds_matching = ${JSON.stringify(['`|<x>', `${ESC}[31m`])}`),
        entry('idle', 'paths = ["nowhere|`x`/**"]'),
      ].join('')}`,
    )
    s.write('r/    - b|`c`', 'old')
    const policy = s.commit('r', 'policy')
    s.git('r', 'switch', '-q', '-c', 'feat')
    for (const name of [`a\n${ESC}[31m`, `a${CSI}`, 'x[link](y)|`#']) s.write(`r/${name}`, 'x\n')
    s.write(`r/a${RLO}b`, '`|<x>\n')
    s.commit('r', 'work')
    await s.discern('r', ['done'])
    const unsafe = await s.discern('r', ['done', '--unmet', 'unmet', '--why', `why ${ESC}[31m`, '--markdown'])
    assert.equal(
      unsafe.out.split('\n')[0],
      String.raw`git discern: --why: expected one paragraph of 1 to 500 characters without control, format or line separator characters, found the character U\+001B`,
    )
    await s.discern('r', ['done', '--unmet', 'unmet', '--why', '`code` | [x](y) <b> # *no* \\'])
    s.git('r', 'checkout', '-q', '.')
    const looked = await s.discern('r', ['checkpoints', '--markdown'])
    assert.equal(looked.out, CHECKPOINTS.replace('POLICY', policy.slice(0, 12)))
    const prepared = await s.discern('r', ['prepare', '--markdown'])
    assert.equal(prepared.out.replace(/(?<=passed in )\d+\.\ds/, 'TIME'), PREPARE)
    // What a terminal gets of it moves no cursor and turns no text around.
    for (const verb of ['checkpoints', 'prepare', 'evaluate', 'status']) {
      assert.doesNotMatch((await s.discern('r', [verb])).out, /[^\P{C}\n]|[\u2028\u2029]/u, verb)
    }
  })

  it('show an id that no policy may have as text, in what they say of its loss', async t => {
    const s = scratch(t)
    project(s)
    const id = `a|\`b\` [x](y) <i>\n# ${ESC}[31m${RLO}`
    s.write('r/discern.toml', `${CONFIG}[checkpoints.${JSON.stringify(id)}]\nquestion = "?"\n`)
    const policy = s.commit('r', 'policy')
    s.git('r', 'switch', '-q', '-c', 'feat')
    s.write('r/discern.toml', CONFIG)
    s.commit('r', 'work')
    const why = String.raw`checkpoints."a\|\`b\` \[x\]\(y\) \<i\>\\n\# \\u001b\[31m\\u202e": expected a name of letters, digits, \`\_\` and \`-\``
    const note = `note: checkpoints: governing\\_config\\_invalid: ${policy.slice(0, 12)}:discern.toml:7: ${why}

next: git discern checkpoints
`
    const looked = await s.discern('r', ['checkpoints', '--markdown'])
    assert.equal(looked.out, `no checkpoint can be asked here, enforcement was lost:\n\n${note}`)
    assert.equal((await s.discern('r', ['prepare', '--markdown'])).out, `nothing had to be edited\n\n${note}`)
    s.git('r', 'checkout', '-q', 'main', '--', 'discern.toml')
    assert.equal(
      (await s.discern('r', ['prepare', '--markdown'])).out,
      `git discern: discern.toml:7: ${why}\n\nnext: edit discern.toml, line 7\n`,
    )
  })
})
