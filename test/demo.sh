#!/bin/sh
# The whole job on throw-away repositories, typed as a person would type it. Every step's effect is looked at in the
# repositories themselves; the exit code is 0 only when all of it really happened. ./install.sh --demo runs this.
set -eu
root=$(cd "$(dirname -- "$0")/.." && pwd -P)
node=${DISCERN_NODE:-node}
started=$(date +%s)

work=$(mktemp -d "${TMPDIR:-/tmp}/git-discern-demo.XXXXXX")
clean_up() {
  cd /
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 141' PIPE
trap 'exit 143' TERM
work=$(cd "$work" && pwd -P)

# Neither does the set-up of whoever runs this change what is shown, nor the other way round.
# shellcheck disable=SC2046 # a list of names
unset $(git rev-parse --local-env-vars) GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_OPTIONAL_LOCKS GIT_TRACE GIT_NAMESPACE \
  GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE \
  XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME DISCERN_TRUNK DISCERN_NO_ATTRIBUTION CDPATH
mkdir "$work/home" "$work/bin" "$work/tmp" "$work/demo"
ln -s "$root/git-discern" "$work/bin/git-discern"
HOME=$work/home TMPDIR=$work/tmp PATH=$work/bin:$PATH
GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 GIT_PAGER=cat
export HOME TMPDIR PATH GIT_CONFIG_NOSYSTEM GIT_TERMINAL_PROMPT GIT_PAGER
exec </dev/null
cd "$work/demo"

say() {
  printf '\n# %s\n' "$1"
}

# Types a command and shows what it answers. 1: command
step() {
  printf '$ %s\n' "$1"
  status=0
  eval "$1" >"$work/shown" 2>&1 || status=$?
  cat "$work/shown"
  [ "$status" -eq 0 ] || fail "this command ended with exit $status: $1"
}

# Writes a file from standard input, as typed. 1: name
file() {
  cat >"$1" <&3
  printf '$ cat >%s <<END\n' "$1"
  cat "$1"
  printf 'END\n'
}

fail() {
  printf '\ndemo: FAILED: %s\n' "$1" >&2
  exit 1
}

# 1: what must be true 2...: the command that shows it
check() {
  claim=$1
  shift
  "$@" >"$work/checked" 2>&1 || {
    cat "$work/checked" >&2
    fail "this is not so: $claim"
  }
  printf '# checked: %s\n' "$claim"
}

same() {
  [ "$1" = "$2" ] || {
    printf 'expected %s, found %s\n' "$2" "$1"
    return 1
  }
}

# 1: repository 2: ref
tip() {
  git -C "$1" rev-parse --quiet --verify "$2" || echo nothing
}

# Reads JSON and succeeds when the expression over it, `it`, is true. 1: expression; `want` is the second argument
json() {
  "$node" -e '
    const it = JSON.parse(require("fs").readFileSync(0, "utf8"))
    const [, expression, want] = process.argv
    if (new Function("it", "want", `return ${expression}`)(it, want) !== true) {
      console.log(`expected ${expression} with ${want}, found ${JSON.stringify(it)}`)
      process.exit(1)
    }' "$1" "$2"
}

note_names_commit() {
  git notes --ref=discern show "$1" | json 'JSON.parse(Buffer.from(it.payload, "base64")).subject.commit === want' "$1"
}

note_is_listed() {
  git notes --ref=discern list | grep -q "^[0-9a-f]* $1\$"
}

status_shows_landing() {
  git discern status --json | json 'it.ok && it.data.landed_proof.commit === want' "$1"
}

say 'A project with a hub and two clones of it: A is yours, B is a colleague'\''s. Both are set up.'
step 'git init --quiet --bare --initial-branch=main hub.git'
step 'git clone --quiet hub.git A'
step 'cd A'
step 'git config user.name Ada'
step 'git config user.email ada@example.invalid'
file greet.sh 3<<'END'
echo "Hello"
END
file test.sh 3<<'END'
test "$(sh out/greet.sh)" = "Hello"
END
file .gitignore 3<<'END'
out/
END
file discern.toml 3<<'END'
[project]
name = "greeter"

[repository]
trunk = "main"
proof_notes_mode = "fetch"

[jobs.build]
stage = "build"
run = "mkdir -p out && cp greet.sh out/greet.sh"

[jobs.lint]
stage = "check"
run = "sh -n greet.sh"

[jobs.test]
stage = "test"
run = "sh test.sh"
END
step 'git add .'
step 'git commit --quiet --message "Say hello"'
step 'git push --quiet origin main'
step 'git discern setup'
step 'cd ..'
step 'git clone --quiet hub.git B'
step 'cd B'
step 'git discern setup'
check 'setup left the work tree as it was' same "$(git status --porcelain)" ''
step 'cd ../A'

say 'You change something, on a branch.'
step 'git switch --quiet --create greeting'
file greet.sh 3<<'END'
echo "Hello, $1"
END
file test.sh 3<<'END'
test "$(sh out/greet.sh world)" = "Hello, world"
END
step 'git commit --quiet --all --message "Greet by name"'
change=$(git rev-parse HEAD)
seed=$(git rev-parse HEAD^)

say 'Is it done? The jobs of the project answer, and the answer is bound to this commit.'
step 'git discern done'
check 'the jobs ran' cmp greet.sh out/greet.sh
check 'a Proof of this commit is kept' grep -q "$change" "$(git rev-parse --git-path discern/gate-proof)"
check 'nothing has landed yet' same "$(tip . main)" "$seed"

say 'The owner agrees, so it lands.'
step 'git discern accept --confirmed'
check 'the trunk is at the proven commit' same "$(tip . main)" "$change"
step 'git notes --ref=discern list'
check 'the Proof is a note on the landed commit' note_is_listed "$change"
check 'the note names that commit' note_names_commit "$change"

say 'You publish both with plain git.'
step 'git push origin main refs/notes/discern'
notes=$(git rev-parse refs/notes/discern)
check 'the hub has the landed commit' same "$(tip ../hub.git main)" "$change"
check 'the hub has the note' same "$(tip ../hub.git refs/notes/discern)" "$notes"

say 'Your colleague fetches with plain git, and sees the Proof.'
step 'cd ../B'
check 'B has no note yet' same "$(tip . refs/notes/discern)" nothing
step 'git fetch'
check 'after the plain fetch B has the note' same "$(tip . refs/notes/discern)" "$notes"
step 'git discern status'
check 'the status shows the Proof of the landed commit' grep -q "landed Proof .*$(git rev-parse --short=12 "$change")" "$work/shown"
check 'programs see it as well' status_shows_landing "$change"
check 'the note in B names that commit' note_names_commit "$change"

say "All of it happened, in $(($(date +%s) - started)) s. The repositories of this demo are gone."
