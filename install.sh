#!/bin/sh
# Installs `git discern` for one prefix, takes it away again, or shows what it does on throw-away repositories.
set -eu
umask 022
LC_ALL=C
export LC_ALL
unset CDPATH

NODE_MAJOR=20
NODE_MINOR=12
GIT_MAJOR=2
GIT_MINOR=36
MANIFEST_VERSION=1

lib=lib/git-discern
link=bin/git-discern
manifest=$lib/manifest
nl='
'
tab=$(printf '\t')

usage() {
  cat <<'END'
usage: ./install.sh [--prefix <directory>]
       ./install.sh --uninstall [--prefix <directory>]
       ./install.sh --demo

Makes `git discern` available: the program in <prefix>/lib/git-discern, a link to it in <prefix>/bin, manual pages and
completion for bash and zsh in <prefix>/share. Start-up files of your shell are never touched.

  --prefix <directory>  install there instead of in ~/.local
  --uninstall           remove what was installed there, and nothing else
  --demo                show the whole job on throw-away repositories; installs nothing
  -h, --help            show this help

DISCERN_NODE names the Node.js to use when it is not the first one on the PATH.
END
}

# Every refusal says what was expected, what was found and what to do. 1: sentence 2: expected 3: found 4: next
refuse() {
  printf 'install.sh: %s\n  expected: %s\n  found:    %s\n  next:     %s\n' "$1" "$2" "$3" "$4" >&2
  exit 1
}

misused() {
  printf 'install.sh: %s\n' "$1" >&2
  usage >&2
  exit 2
}

# A word as the shell reads it back. 1: word
quote() {
  printf "'"
  printf '%s' "$1" | sed "s/'/'\\\\''/g"
  printf "'"
}

# --- what is needed ---------------------------------------------------------------------------------------------------

check_node() {
  wanted=${DISCERN_NODE:-node}
  name_it='install it from your package manager or nodejs.org, or name one: DISCERN_NODE=/path/to/node ./install.sh'
  node=$(command -v "$wanted") ||
    refuse 'Node.js is missing' "Node.js $NODE_MAJOR.$NODE_MINOR or newer" "no $wanted on the PATH" "$name_it"
  # What the program is called, so that an upgrade of Node keeps it; its own path when the name is a version manager's wrapper.
  facts=$("$node" -e '
    var fs = require("fs")
    var given = process.argv[1]
    var wrapped = given.charAt(0) !== "/" || fs.realpathSync(given) !== fs.realpathSync(process.execPath)
    console.log(process.version)
    console.log(wrapped ? process.execPath : given)
    console.log(JSON.parse(fs.readFileSync("package.json", "utf8")).version)
  ' "$node" 2>&1) ||
    refuse 'Node.js does not start' "Node.js $NODE_MAJOR.$NODE_MINOR or newer" "$node: $facts" "$name_it"
  {
    IFS= read -r found || :
    IFS= read -r recorded || :
    IFS= read -r version || :
  } <<END
$facts
END
  at_least "${found#v}" "$NODE_MAJOR" "$NODE_MINOR" ||
    refuse 'Node.js is too old' "Node.js $NODE_MAJOR.$NODE_MINOR or newer" "$found ($node)" "$name_it"
  node=$recorded
}

check_git() {
  command -v git >/dev/null ||
    refuse 'git is missing' "git $GIT_MAJOR.$GIT_MINOR or newer" 'no git on the PATH' 'install git'
  found=$(git version)
  at_least "${found#git version }" "$GIT_MAJOR" "$GIT_MINOR" ||
    refuse 'git is too old' "git $GIT_MAJOR.$GIT_MINOR or newer" "$found" 'install a newer git'
}

check_npm() {
  npm=$(PATH=${node%/*}:$PATH && command -v npm) || refuse 'npm is missing' 'npm, which comes with Node.js' 'no npm on the PATH' \
    "install npm; the Node.js in use is $node"
}

# 1: version 2: major 3: minor
at_least() {
  major=${1%%.*}
  minor=${1#*.}
  minor=${minor%%.*}
  case $major$minor in '' | *[!0-9]*) return 1 ;; esac
  [ "$major" -gt "$2" ] || { [ "$major" -eq "$2" ] && [ "$minor" -ge "$3" ]; }
}

# --- the program ------------------------------------------------------------------------------------------------------

# The locked packages, when they are missing or older than the lock file. Their scripts are not run: none is needed, and a
# plain install must not set up this project's own hooks in the clone.
install_packages() {
  locked=node_modules/.package-lock.json
  if [ -e "$locked" ] && [ -d node_modules/esbuild ] && [ -d node_modules/ajv ] &&
    [ -z "$(find package-lock.json -newer "$locked")" ]; then
    return
  fi
  # npm ci would empty whatever the link leads to.
  [ ! -L node_modules ] || refuse 'the packages are out of date' 'node_modules to be a directory of its own' \
    "a link to $(readlink node_modules)" 'bring the packages up to date there, or remove the link'
  echo 'installing the locked packages (npm ci)'
  if [ -z "${npm_config_cache:-}" ] && ! { [ -d "${HOME:-}" ] && [ -w "$HOME" ]; }; then
    npm_config_cache=$scratch/npm-cache
    export npm_config_cache
  fi
  output=$(PATH=${node%/*}:$PATH && "$npm" ci --ignore-scripts --include=dev --no-audit --no-fund --no-update-notifier </dev/null 2>&1) || {
    printf '%s\n' "$output" >&2
    refuse 'the packages could not be installed' 'npm ci to succeed' 'the output above' \
      'with a network or a filled npm cache, run the same command again'
  }
}

# The bundle, the manual pages and the completion scripts, when a source is newer.
build() {
  if [ -e dist/package.json ] &&
    [ -z "$(find src schema package.json package-lock.json -newer dist/package.json | head -n 1)" ]; then
    return
  fi
  echo 'building'
  output=$("$node" src/build.mjs 2>&1) || {
    printf '%s\n' "$output" >&2
    refuse 'the build failed' 'node src/build.mjs to succeed' 'the output above' 'rm -rf node_modules dist, then run the same command again'
  }
}

# --- where it goes ----------------------------------------------------------------------------------------------------

# Makes the prefix absolute, whether it exists or not.
resolve_prefix() {
  if [ -z "$prefix" ]; then
    [ -n "${HOME:-}" ] || refuse 'there is no home to install into' 'HOME to be set' 'HOME is empty' \
      './install.sh --prefix <directory>'
    prefix=$HOME/.local
  fi
  case $prefix in
  *"$nl"* | *:*) refuse 'the prefix cannot be used' 'a directory that can stand in the PATH' \
    'a ":" or a line break in its name' './install.sh --prefix <another directory>' ;;
  esac
  rest=
  existing=$(printf '%s\n' "$prefix" | tr -s /)
  existing=${existing%/}
  until [ -d "$existing/" ]; do
    rest=/${existing##*/}$rest
    existing=${existing%/*}
  done
  case $rest/ in */../* | */./*) refuse 'the prefix cannot be used' 'a plain path' "$prefix" \
    './install.sh --prefix <directory without "." and "..">' ;; esac
  existing=$(cd "$existing/" && pwd)
  prefix=${existing%/}$rest
}

# The folders that are not there yet, outermost first; those outside the prefix, and the prefix itself, are absolute.
missing_folders() {
  folder=$prefix
  while ! [ -d "$folder/" ]; do
    printf '%s\n' "$folder"
    folder=${folder%/*}
  done
  printf '%s\n' "$plan" "-$tab-$tab$link" | while IFS=$tab read -r _ _ path; do
    while folder=${path%/*} && [ "$folder" != "$path" ]; do
      [ -d "$prefix/$folder" ] || printf '%s\n' "$folder"
      path=$folder
    done
  done
}

# Every file to install, as mode, source and path below the prefix. The program's parts come before what loads them.
make_plan() {
  printf '%s\n' "$node" >"$scratch/node-path"
  {
    find hooks schema dist -type f ! -path 'dist/man/*' ! -path 'dist/completion/*' ! -name git-discern.js | sort
    printf '%s\n' package.json LICENSE dist/git-discern.js
  } | while IFS= read -r file; do
    mode=644
    if [ -x "$file" ]; then mode=755; fi
    printf '%s\t%s\t%s\n' "$mode" "$file" "$lib/$file"
  done
  printf '644\t%s\t%s\n' "$scratch/node-path" "$lib/node-path"
  printf '755\tgit-discern\t%s\n' "$lib/git-discern"
  for page in dist/man/*.1; do
    printf '644\t%s\tshare/man/man1/%s\n' "$page" "${page##*/}"
  done
  printf '644\tdist/completion/git-discern\tshare/bash-completion/completions/git-discern\n'
  printf '644\tdist/completion/_git-discern\tshare/zsh/site-functions/_git-discern\n'
}

# --- the manifest: one line for each thing we wrote -------------------------------------------------------------------
#   file <checksum> <bytes> <path>      link <path><tab><target>      folder <path>

read_manifest() {
  installed=
  [ -f "$prefix/$manifest" ] || return 0
  IFS= read -r first <"$prefix/$manifest" || :
  [ "$first" = "git-discern manifest $MANIFEST_VERSION" ] ||
    refuse "what is installed under $prefix was not installed by this version" \
      "the line \"git-discern manifest $MANIFEST_VERSION\" in $prefix/$manifest" "\"$first\"" \
      'use the install.sh of that version with --uninstall'
  installed=$(sed 1d "$prefix/$manifest")
}

checksum() {
  cksum <"$1"
}

# The lines of the manifest for the files of the plan, from one process.
checksums() {
  set --
  while IFS=$tab read -r _ source _; do
    set -- "$@" "$source"
  done <<END
$plan
END
  printf '%s\n' "$plan" | cut -f 3 >"$scratch/paths"
  cksum -- "$@" | cut -d ' ' -f 1,2 | paste -d ' ' - "$scratch/paths" | sed 's/^/file /'
}

# Whether the standing file is one of ours, byte for byte. 1: path below the prefix
is_unchanged() {
  [ -f "$prefix/$1" ] && ! [ -L "$prefix/$1" ] || return 1
  case $nl$installed$nl in *"${nl}file $(checksum "$prefix/$1") $1$nl"*) return 0 ;; esac
  return 1
}

# Sets $path to what one line of a manifest names; empty for a folder. 1: line
parse() {
  case $1 in
  'file '*) path=${1#file * * } ;;
  'link '*)
    path=${1#link }
    path=${path%%"$tab"*}
    ;;
  *) path= ;;
  esac
}

# 1: lines of a manifest
paths_of() {
  printf '%s\n' "$1" | while IFS= read -r line; do
    parse "$line"
    [ -z "$path" ] || printf '%s\n' "$path"
  done
}

# Whether a line of the list is exactly the word. 1: list 2: word
has_line() {
  case $nl$1$nl in *"$nl$2$nl"*) return 0 ;; esac
  return 1
}

# --- install ----------------------------------------------------------------------------------------------------------

# What stands where we would write and is not ours, all of it: nobody wants to hear of forty files one by one.
check_targets() {
  ours=$(paths_of "$installed")
  occupied=$(
    if [ -L "$prefix/$lib" ]; then
      printf '%s (a link to %s)\n' "$prefix/$lib" "$(readlink "$prefix/$lib")"
    fi
    printf '%s\n' "$plan" "-$tab-$tab$manifest" "-$tab-$tab$link" | while IFS=$tab read -r _ _ path; do
      target=$prefix/$path
      if [ -L "$target" ]; then
        has_line "$installed" "link $path$tab$(readlink "$target")" ||
          printf '%s (a link to %s)\n' "$target" "$(readlink "$target")"
      elif [ -d "$target" ]; then
        printf '%s (a directory)\n' "$target"
      elif [ -e "$target" ] && [ "$path" != "$manifest" ]; then
        has_line "$ours" "$path" && { [ "$path" != "$link" ] || is_unchanged "$path"; } ||
          printf '%s (another file)\n' "$target"
      fi
    done
  )
  [ -z "$occupied" ] ||
    refuse 'something else stands where git discern would be installed' \
      'nothing there, or what install.sh itself wrote' "$(printf '%s\n' "$occupied" | sed '2,$s/^/            /')" \
      'move that away, or choose another directory: ./install.sh --prefix <directory>'
}

# The part of the plan that is not in place yet.
left_to_do() {
  printf '%s\n' "$plan" | while IFS=$tab read -r mode source path; do
    standing=644
    if [ -x "$prefix/$path" ]; then standing=755; fi
    if [ "$mode" != "$standing" ] || ! cmp -s "$source" "$prefix/$path"; then
      printf '%s\t%s\t%s\n' "$mode" "$source" "$path"
    fi
  done
}

make_folders() {
  while IFS= read -r folder; do
    case $folder in
    '') continue ;;
    /*) path=$folder ;;
    *) path=$prefix/$folder ;;
    esac
    output=$(mkdir "$path" 2>&1) || unwritable "$path" "$output"
  done <<END
$folders
END
  # A read-only file system, or a folder of somebody else, shows before the first file is replaced.
  while IFS= read -r folder; do
    new=$prefix/$folder/.git-discern.$$
    output=$( (: >"$new") 2>&1) || unwritable "$prefix/$folder" "$output"
    rm -f "$new"
  done <<END
$(printf '%s\n' "$todo" "-$tab-$tab$link" "-$tab-$tab$manifest" | cut -f 3 | sed -n 's,/[^/]*$,,p' | sort -u)
END
}

# 1: path 2: what the system says
unwritable() {
  remove_empty "$folders"
  refuse 'cannot write there' "a directory that you can write: $1" "$2" './install.sh --prefix <another directory>'
}

incomplete() {
  refuse 'the installation is incomplete' "to write $1" 'the message above' \
    'mend that and run the same command again; ./install.sh --uninstall takes away what is there'
}

# Puts a file in its place in one step: nobody ever sees half of it. 1: mode 2: source 3: path below the prefix
place() {
  target=$prefix/$3
  if [ -f "$target" ] && ! is_unchanged "$3" && ! cmp -s "$2" "$target"; then
    cp -p "$target" "$target.changed" || incomplete "$target.changed"
    printf 'your version of a changed file is kept as %s\n' "$target.changed"
  fi
  put "$1" "$2" "$target"
}

# 1: mode 2: source 3: target
put() {
  new=${3%/*}/.git-discern.$$
  { cat "$2" >"$new" && { [ "$1" = 644 ] || chmod "$1" "$new"; } && mv -f "$new" "$3"; } || incomplete "$3"
}

place_link() {
  target=$prefix/$link
  want=$prefix/$lib/git-discern
  new=$prefix/bin/.git-discern.$$
  # mv would follow a link to a directory.
  if [ -d "$target" ]; then rm -f "$target"; fi
  { ln -s "$want" "$new" && mv -f "$new" "$target"; } || incomplete "$target"
}

check_link() {
  target=$prefix/$link
  found=$(readlink "$target") || found='no link'
  [ "$found" = "$prefix/$lib/git-discern" ] ||
    refuse 'the link is not what was written' "$target to point to $prefix/$lib/git-discern" "$found" \
      "look at $prefix/bin, then run the same command again"
  found=$("$target" --version </dev/null 2>&1) || :
  [ "$found" = "git-discern $version" ] ||
    refuse 'the installed program does not start' "git-discern $version" "$found" \
      "run it by hand: $(quote "$target") --version"
}

write_manifest() {
  { printf 'git-discern manifest %s\n' "$MANIFEST_VERSION" && printf '%s\n' "$1"; } >"$scratch/manifest"
  put 644 "$scratch/manifest" "$prefix/$manifest"
}

# The lines of a manifest whose path is not in the list. 1: lines 2: list
without() {
  printf '%s\n' "$1" | while IFS= read -r line; do
    parse "$line"
    [ -z "$path" ] || has_line "$2" "$path" || printf '%s\n' "$line"
  done
}

# The manifest of what is planned, with the folders we made, now or earlier, as far as they are there.
list_now() {
  printf '%s\n' "$things"
  {
    printf '%s\n' "$installed" | sed -n 's/^folder //p'
    printf '%s\n' "$folders"
  } | sort -u | while IFS= read -r folder; do
    case $folder in
    '') ;;
    /*) [ ! -d "$folder" ] || printf 'folder %s\n' "$folder" ;;
    *) [ ! -d "$prefix/$folder" ] || printf 'folder %s\n' "$folder" ;;
    esac
  done
}

install() {
  scratch=$(mktemp -d "${TMPDIR:-/tmp}/git-discern-install.XXXXXX")
  check_node
  check_git
  check_npm
  resolve_prefix
  install_packages
  build
  plan=$(make_plan)
  read_manifest
  check_targets

  todo=$(left_to_do)
  things=$(
    checksums
    printf 'link %s\t%s\n' "$link" "$prefix/$lib/git-discern"
  )
  folders=
  stale=$(without "$installed" "$(paths_of "$things")")
  left=
  if [ -n "$todo$stale" ] || [ "$(readlink "$prefix/$link")" != "$prefix/$lib/git-discern" ] ||
    [ "$installed" != "$(list_now)" ]; then
    folders=$(missing_folders | sort -u)
    make_folders
    # Until all is in place the manifest lists old and new, so that whatever was written can be taken away again.
    write_manifest "$(printf '%s\n' "$(list_now)" "$installed" | sed '/^$/d' | sort -u)"
    while IFS=$tab read -r mode source path; do
      [ -z "$path" ] || place "$mode" "$source" "$path"
    done <<END
$todo
END
    place_link
    remove_listed "$stale"
    sweep "$installed"
    remove_empty "$(printf '%s\n' "$installed" | sed -n 's/^folder //p')"
    write_manifest "$(list_now)"
    written=1
  fi
  check_link
  report
}

# --- what was done ----------------------------------------------------------------------------------------------------

report() {
  if [ -z "$written" ]; then
    printf 'git discern %s is already installed under %s; nothing was written\n' "$version" "$prefix"
  else
    printf 'git discern %s is installed; it runs with %s\n' "$version" "$node"
    printf '  %s\n' "$prefix/$lib/" "$prefix/$link -> $prefix/$lib/git-discern" \
      "$prefix/share/man/man1/git-discern.1, and a page for each verb" \
      "$prefix/share/bash-completion/completions/git-discern" "$prefix/share/zsh/site-functions/_git-discern"
    printf 'every file is listed in %s\n' "$prefix/$manifest"
  fi
  printf '%s' "$left"
  PATH=$PATH_BEFORE
  report_path
  report_man
  report_completion
}

report_path() {
  first=$(command -v git-discern || :)
  case :$PATH: in
  *":$prefix/bin:"*)
    if [ "$first" = "$prefix/$link" ]; then
      printf 'PATH:  has %s; try: git discern -h\n' "$prefix/bin"
    else
      printf 'PATH:  has %s, but another git-discern comes first: %s\n' "$prefix/bin" "$first"
    fi
    ;;
  *)
    printf 'PATH:  does not have %s yet; add this to the start-up file of your shell:\n' "$prefix/bin"
    printf '         export PATH=%s:"$PATH"\n' "$(quote "$prefix/bin")"
    ;;
  esac
}

report_man() {
  if ! command -v man >/dev/null; then
    printf 'man:   there is no man program here; git discern -h and git discern <verb> -h need none\n'
  elif found=$(man -w git-discern 2>/dev/null) && cmp -s "$found" "$prefix/share/man/man1/git-discern.1"; then
    printf 'man:   finds the pages; try: git discern --help\n'
  else
    printf 'man:   does not look into %s yet; if a right PATH does not change that:\n' "$prefix/share/man"
    printf '         export MANPATH=%s:"${MANPATH-}"\n' "$(quote "$prefix/share/man")"
  fi
}

report_completion() {
  case :${XDG_DATA_HOME:-${HOME:-}/.local/share}:${XDG_DATA_DIRS:-/usr/local/share:/usr/share}: in
  *":$prefix/share:"*) printf 'bash:  bash-completion finds the completion; without it: ' ;;
  *) printf 'bash:  for completion: ' ;;
  esac
  printf '. %s\n' "$(quote "$prefix/share/bash-completion/completions/git-discern")"
  printf 'zsh:   for completion, before compinit: fpath=(%s $fpath)\n' "$(quote "$prefix/share/zsh/site-functions")"
}

# --- uninstall --------------------------------------------------------------------------------------------------------

# Whether the thing that a line of a manifest names is still as we wrote it. 1: line 2: path
is_ours() {
  here=$prefix/$2
  case $1 in
  'file '*) [ -f "$here" ] && ! [ -L "$here" ] && [ "$1" = "file $(checksum "$here") $2" ] ;;
  *) [ -L "$here" ] && [ "$1" = "link $2$tab$(readlink "$here")" ] ;;
  esac
}

# Removes what the lines name and is still ours; the rest stays and is added to $left. 1: lines of a manifest
remove_listed() {
  while IFS= read -r line; do
    parse "$line"
    case $path in '' | /* | ../* | */../*) continue ;; esac
    if is_ours "$line" "$path"; then
      rm -f "$prefix/$path" || refuse 'a file could not be removed' "to remove $prefix/$path" 'the message above' \
        'mend that and run the same command again'
      removed=$((removed + 1))
    fi
  done <<END
$1
END
  # A path may be listed twice after an upgrade that was cut short, so what stays is known at the end.
  while IFS= read -r path; do
    if [ -n "$path" ] && { [ -e "$prefix/$path" ] || [ -L "$prefix/$path" ]; }; then
      left="${left}left as it is, because it was changed: $prefix/$path$nl"
    fi
  done <<END
$(paths_of "$1" | sort -u)
END
}

# Removes what a run that was killed left half copied. 1: lines of a manifest
sweep() {
  paths_of "$1" | sed 's,/[^/]*$,,' | sort -u | while IFS= read -r folder; do
    rm -f "$prefix/$folder"/.git-discern.[0-9]*
  done
}

# Removes the folders we made, as far as nothing else is in them. 1: paths, one a line
remove_empty() {
  while IFS= read -r folder; do
    case $folder in
    '' | ../* | */../*) continue ;;
    /*) rmdir "$folder" 2>/dev/null || : ;;
    *) rmdir "$prefix/$folder" 2>/dev/null || : ;;
    esac
  done <<END
$(printf '%s\n' "$1" | sort -r)
END
}

uninstall() {
  resolve_prefix
  read_manifest
  if [ -z "$installed" ]; then
    printf 'git discern is not installed under %s (there is no %s); nothing was removed\n' "$prefix" "$prefix/$manifest"
    return
  fi
  left=
  remove_listed "$installed"
  sweep "$installed"
  rm -f "$prefix/$manifest"
  remove_empty "$(printf '%s\n' "$installed" | sed -n 's/^folder //p')"
  printf 'git discern is no longer installed under %s; %s files were removed\n' "$prefix" "$removed"
  printf '%s' "$left"
  printf '%s\n' 'repositories keep their notes, their discern.toml and their hooks; without the program a hook says so in one' \
    'line and git goes on (git discern setup --uninstall, run there before this, takes the hooks away)'
}

# --- start ------------------------------------------------------------------------------------------------------------

scratch=
new=
written=
removed=0
clean_up() {
  [ -z "$scratch" ] || rm -rf "$scratch"
  [ -z "$new" ] || rm -f "$new"
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 141' PIPE
trap 'exit 143' TERM

what=install
prefix=
while [ $# -gt 0 ]; do
  case $1 in
  --prefix)
    [ $# -ge 2 ] && [ -n "$2" ] || misused '--prefix needs a directory'
    prefix=$2
    shift
    ;;
  --prefix=?*) prefix=${1#--prefix=} ;;
  --uninstall | --demo)
    [ "$what" = install ] || misused '--uninstall and --demo exclude each other'
    what=${1#--}
    ;;
  -h | --help)
    usage
    exit 0
    ;;
  *) misused "unknown argument $1" ;;
  esac
  shift
done
case $prefix in '' | /*) ;; *) prefix=$PWD/$prefix ;; esac
PATH_BEFORE=$PATH

case $what in
uninstall) uninstall ;;
install)
  cd "$(dirname -- "$0")"
  install
  ;;
demo)
  cd "$(dirname -- "$0")"
  scratch=$(mktemp -d "${TMPDIR:-/tmp}/git-discern-install.XXXXXX")
  check_node
  check_git
  check_npm
  install_packages
  build
  rm -rf "$scratch"
  scratch=
  DISCERN_NODE=$node exec sh test/demo.sh
  ;;
esac
