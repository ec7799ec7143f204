/** A Logbook line can be read aloud: nothing that went into a long session can be found in it, nor a hash of it (facts 12.2). */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { it } from 'node:test'
import { bookEvents, bookText } from '../support/book.ts'
import { type Loose, scratch } from '../support/scratch.ts'

const sha = (algorithm: string, text: string): string => createHash(algorithm).update(text).digest('hex')

/** Ways in which somebody who suspects a text would look for it. */
const traces = (text: string): readonly string[] => [
  text,
  encodeURIComponent(text),
  Buffer.from(text).toString('base64').replace(/=+$/, ''),
  Buffer.from(text).toString('hex'),
  ...['sha256', 'sha1', 'md5'].flatMap(algorithm => [
    sha(algorithm, text),
    sha(algorithm, `${text}\n`),
    sha(algorithm, JSON.stringify(text)),
  ]),
  // As git names a file with this content.
  ...[text, `${text}\n`].map(bytes => sha('sha1', `blob ${Buffer.byteLength(bytes)}\0${bytes}`)),
]

it('no path, command, content, configuration value, environment value or plain hash of one is in a Logbook', async t => {
  const s = scratch(t)
  const secret = {
    folder: 'acquisition-plans',
    file: 'merger-with-umbrella.txt',
    content: 'the price is forty-two million',
    edited: 'the price is forty-three million',
    untracked: 'umbrella-draft-letter',
    command: 'sh ./run-private-suite.sh --token=hunter2secret',
    output: 'PrivateSuiteSaysThis error: overflow',
    question: 'Did the board approve umbrella?',
    teach: 'Read the board minutes first',
    rationale: 'the chairman is on holiday in Zermatt',
    reason: 'umbrella tests are being rewritten by Ada',
    environment: 'environment-value-7f3a',
    session: 'terminal-session-91c2',
    agent: 'agent-thread-55d0',
    project: 'umbrella-secret-project',
    message: 'Prepare the umbrella merger',
    glob: 'acquisition-plans/**/*.txt',
    link: '/etc/umbrella-target',
  }
  s.git('.', 'init', '-q', 'r')
  const config = `[project]
name = "${secret.project}"
[repository]
trunk = "main"
[jobs]
unit = { run = "${secret.command}", stage = "test", environment = ["UMBRELLA"] }
lint = "true"
[scopes.plans]
paths = ["${secret.glob}"]
gate = "echo ${secret.output}"
[checkpoints.board]
paths = ["${secret.folder}/**"]
question = "${secret.question}"
teach = "${secret.teach}"
[standards.words]
direction = "up"
limit = 4321.25
run = "echo DISCERN_METRIC words 4000.5"
inputs = ["${secret.folder}/**"]
`
  s.write('r/discern.toml', config)
  s.write('r/run-private-suite.sh', `echo '${secret.output}'\ntest ! -e ../red\n`)
  s.write('r/other', '1\n')
  s.commit('r', 'policy')
  s.git('r', 'switch', '-q', '-c', 'feat')
  s.write(`r/${secret.folder}/${secret.file}`, `${secret.content}\n`)
  s.sh('r', `ln -s '${secret.link}' '${secret.folder}/link'`)
  s.commit('r', secret.message)
  const env = {
    UMBRELLA: secret.environment,
    TERM_SESSION_ID: secret.session,
    AMP_THREAD_ID: secret.agent,
    CLAUDECODE: secret.agent,
  }
  const go = (...args: string[]) => s.discern('r', [...args, '--json'], { env })
  const plain: string[] = []
  const note = ({ data }: { data: Loose }): void => {
    for (const { open_question: question } of data.checkpoints ?? []) {
      if (question) plain.push(question.definition_hash, question.subject)
    }
  }

  s.write(`r/${secret.untracked}`, `${secret.edited}\n`)
  await go('test')
  await go('done')
  s.sh('r', `rm ${secret.untracked}`)
  note(await go('done'))
  note(await go('done', '--unmet', 'board', '--why', secret.rationale))
  await go('standards', 'propose', 'words', '--reason', secret.reason)
  s.sh('.', ': >red')
  await go('done', '--unmet', 'board', '--why', secret.rationale)
  s.sh('.', 'rm red')
  const proven = await go('done', '--rerun')
  note(proven)
  assert.equal(proven.result.ok, true, proven.out)
  s.write(`r/${secret.folder}/${secret.file}`, `${secret.edited}\n`)
  await go('prepare')
  await go('test')
  s.git('r', 'checkout', '-q', '.')
  await go('grant', '--confirmed')
  await go('accept', '--confirmed', '--variance', 'nothing-like-it')
  const refused = await go('accept', '--confirmed', '--variance', 'board')
  const approval = /--approve-standard ([0-9a-f]{64})/.exec(String(refused.result.hints))?.[1] ?? ''
  const landed = await go('accept', '--confirmed', '--variance', 'board', '--approve-standard', approval)
  assert.equal(landed.result.ok, true, landed.out)
  await go('update', '--from', 'nowhere-to-be-found')
  s.write('r/discern.toml', config.replace('lint = "true"', 'lint = "echo another-private-command"'))
  await go('test')

  const book = bookText(s)
  assert.ok(bookEvents(s).length >= 24, `${bookEvents(s).length} events`)
  assert.ok(plain.length >= 4 && /^[0-9a-f]{64}$/.test(plain[0] ?? ''), 'there were plain hashes to look for')
  const paths = s.git('r', '-c', 'core.quotePath=false', 'log', 'main', 'feat', '--name-only', '--format=').split('\n')
  const blobs = s.git('r', 'rev-list', 'main', 'feat', '--objects').split('\n')
  const trees = blobs
    .map(line => line.split(' ')[0] ?? '')
    .filter(oid => s.git('r', 'cat-file', '-t', oid) !== 'commit')
  const suspects = [
    ...Object.values(secret),
    ...paths.filter(path => path.length > 5),
    ...config.split('\n').filter(line => line.length > 12),
    'another-private-command',
    'nowhere-to-be-found',
    'nothing-like-it',
    '4000.5\\n',
    s.dir,
    s.home,
    config,
  ]
  for (const suspect of suspects) {
    for (const trace of traces(suspect))
      assert.equal(book.includes(trace), false, `${trace} (${suspect}) is in the Logbook`)
  }
  for (const hash of [...plain, ...trees, approval])
    assert.equal(book.includes(hash), false, `${hash} is in the Logbook`)
})
