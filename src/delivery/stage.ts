/**
 * The stages of a delivery, CP0 to CP7, and the states between them (facts 15): one table row each. What a stage needs as exit
 * evidence, from which state it is recorded and which state it leads to stand here and nowhere else.
 */

export const STATES = [
  'DISCOVERED',
  'PLANNED',
  'IMPLEMENTING',
  'VERIFYING',
  'CANDIDATE',
  'HUMAN_ACCEPTED',
  'RELEASED',
  'BLOCKED',
  'REJECTED',
  'ROLLED_BACK',
] as const

export type State = (typeof STATES)[number]

export type CheckpointId = 'CP0' | 'CP1' | 'CP2' | 'CP3' | 'CP4' | 'CP5' | 'CP6' | 'CP7'

/** One part of the exit evidence of a stage. */
export interface Part {
  /** The word before `=` in `--evidence`, and the member of the record. */
  readonly name: string
  /** What it is, for help and refusals. */
  readonly means: string
  /** A sentence in the record itself is enough; every other part needs a hash or an object id. */
  readonly statement?: true
}

export interface Stage {
  readonly id: CheckpointId
  readonly title: string
  /** Every one of these has at least one immutable reference or hash; a record that lacks one is refused. */
  readonly parts: readonly Part[]
  /** The state it is recorded in, and the one it leads to; the same where it moves nothing. */
  readonly from: State
  readonly to: State
}

const part = (name: string, means: string): Part => ({ name, means })
const statement = (name: string, means: string): Part => ({ name, means, statement: true })

/** The order is that of the stages: each needs a valid record of every one before it. */
export const STAGES: readonly Stage[] = [
  {
    id: 'CP0',
    title: 'scope frozen',
    from: 'DISCOVERED',
    to: 'PLANNED',
    parts: [
      statement('owner', 'who answers for this delivery'),
      statement('authority', 'by what right they decide'),
      statement('scope', 'what is in it, and what is not'),
      statement('rollback-boundary', 'how far it can be taken back'),
    ],
  },
  {
    id: 'CP1',
    title: 'design accepted',
    from: 'PLANNED',
    to: 'IMPLEMENTING',
    parts: [
      part('decisions', 'the decision records that apply'),
      part('contracts', 'the public contracts it touches'),
      statement('threat-boundary', 'what it must withstand'),
      statement('compatibility-plan', 'what older readers and writers will see'),
    ],
  },
  {
    id: 'CP2',
    title: 'implementation complete',
    from: 'IMPLEMENTING',
    to: 'VERIFYING',
    parts: [part('changed-paths', 'exactly which paths changed'), part('package-tests', 'the tests of what changed')],
  },
  {
    id: 'CP3',
    title: 'package gates green',
    from: 'VERIFYING',
    to: 'VERIFYING',
    parts: [
      part('lint', 'style and lint'),
      part('types', 'type checks'),
      part('tests', 'unit and integration tests'),
      part('builds', 'the builds'),
      part('previews', 'what the packages will hold'),
    ],
  },
  {
    id: 'CP4',
    title: 'product gates green',
    from: 'VERIFYING',
    to: 'VERIFYING',
    parts: [
      part('cross-product', 'results across products'),
      part('security', 'security results'),
      part('hosts', 'results on the hosts it runs on'),
      part('provenance', 'where everything in it comes from'),
      statement('signing', 'what is signed, and how that was checked'),
      part('performance', 'performance results'),
    ],
  },
  {
    id: 'CP5',
    title: 'candidate sealed',
    from: 'VERIFYING',
    to: 'CANDIDATE',
    parts: [
      part('clean-commit', 'the commit, and that nothing else was in the tree'),
      part('artifacts', 'digests of the artifacts'),
      statement('source-provenance', 'how they were made from it'),
      part('candidate-url', 'where the candidate is'),
    ],
  },
  {
    id: 'CP6',
    title: 'human accepted',
    from: 'CANDIDATE',
    to: 'HUMAN_ACCEPTED',
    parts: [
      statement('owner', 'the accountable owner, by name'),
      statement('decision', 'what they decided'),
      statement('exceptions', 'what they accepted although it is not as it should be'),
      part('references', 'the evidence they looked at'),
    ],
  },
  {
    id: 'CP7',
    title: 'promoted',
    from: 'RELEASED',
    to: 'RELEASED',
    parts: [
      part('remote-refs', 'the refs as the remote has them'),
      statement('release-ids', 'identifiers of the release or deployment'),
      part('readback', 'what was read back from where it runs'),
      statement('rollback', 'how it is taken back, and that this is possible'),
    ],
  },
]

/** Moves that no stage makes: only these, each with a reason. A stage's own move is in its row. */
export const MOVES: readonly { readonly from: State; readonly to: State; readonly invalidatesFrom?: CheckpointId }[] = [
  { from: 'IMPLEMENTING', to: 'BLOCKED' },
  { from: 'VERIFYING', to: 'BLOCKED' },
  { from: 'BLOCKED', to: 'IMPLEMENTING', invalidatesFrom: 'CP2' },
  { from: 'CANDIDATE', to: 'REJECTED' },
  { from: 'REJECTED', to: 'IMPLEMENTING', invalidatesFrom: 'CP2' },
  { from: 'RELEASED', to: 'ROLLED_BACK' },
  { from: 'ROLLED_BACK', to: 'VERIFYING', invalidatesFrom: 'CP3' },
]

/** The one move that only promotion makes. */
export const PROMOTION = { from: 'HUMAN_ACCEPTED', to: 'RELEASED' } as const

/** The first stage that a changed source commit or corpus revision invalidates; those before it survive. */
export const FIRST_BOUND: CheckpointId = 'CP2'

export const stageOf = (id: CheckpointId): Stage => {
  const stage = STAGES.find(one => one.id === id)
  if (!stage) throw new Error(`no stage ${id}`)
  return stage
}

/** Place in the order of the stages, from 0. */
export const rankOf = (id: CheckpointId): number => STAGES.findIndex(stage => stage.id === id)
