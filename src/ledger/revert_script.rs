//! `revert.sh`: the change taken back with a POSIX shell and coreutils, from a rescue shell, without peerfix.

use super::document::Document;
use super::quote::{always, command_line};
use std::fmt::Write;

/// The script for an entry.
pub(super) fn script(document: &Document) -> String {
    let mut text = String::from("#!/bin/sh\n");
    let title: String = document.title.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let _ = writeln!(text, "# Takes change {} back without peerfix: {title}", document.id);
    text.push_str(HEADER);
    let _ = writeln!(text, "ID={}\n", always(&document.id));
    text.push_str(WHICH_ROOT);
    text.push_str(FUNCTIONS);
    text.push_str("\n# Every file is looked at before the first one is touched.\n");
    for (index, file) in document.files.iter().enumerate() {
        let before = file.before.as_ref().map_or("", |before| before.sha256.as_str());
        let path = always(&format!("/{}", file.real));
        let _ = writeln!(text, "look {index} {path} {} '{before}'", file.after.sha256);
    }
    text.push_str("verdict\n\n");
    for (index, file) in document.files.iter().enumerate().rev() {
        let path = always(&format!("/{}", file.real));
        let _ = match &file.before {
            Some(m) => {
                writeln!(text, "restore {index} {path} {} {:04o} {}:{}", m.sha256, m.mode, m.uid, m.gid)
            }
            None => writeln!(text, "discard {index} {path}"),
        };
    }
    for path in document.made.iter().rev() {
        let _ = writeln!(text, "rmdir -- \"$ROOT\"{} 2>/dev/null || :", always(&format!("/{path}")));
    }
    text.push_str("sync\necho 'The files are back.'\n\n");
    for argv in &document.revert_commands {
        let words: Vec<String> = argv.iter().map(|word| always(word)).collect();
        let _ = writeln!(text, "regenerate {} {}", always(&command_line(argv)), words.join(" "));
    }
    let all = serde_json::to_string(&document.revert_commands).unwrap_or_else(|_| "[]".to_owned());
    let _ = writeln!(text, "finish {}", always(&all));
    text
}

const HEADER: &str = "#
#   sh revert.sh              on the running system (ROOT=/ where the script is reached by another path)
#   ROOT=/mnt sh revert.sh    from a rescue shell, with the system mounted at /mnt
#   FORCE=1 sh revert.sh      also where a file changed since; the changed file is kept beside this script
#
# Exit status: 0 done; 1 a step failed; 3 a file changed since, nothing touched; 7 done, run what is printed.
set -u
umask 077
FORCE=${FORCE:-0}
case $0 in */*) HERE=${0%/*} ;; *) HERE=. ;; esac
case $HERE in -*) HERE=./$HERE ;; esac
";

/// Below another root and without `ROOT`: the files of that system are meant, not those of the rescue system.
const WHICH_ROOT: &str = r#"if [ -z "${ROOT+given}" ]; then
  AT=$(cd "$HERE" 2>/dev/null && pwd) || AT=
  case $AT in
    ?*"/var/lib/peerfix/ledger/$ID")
      ROOT=${AT%"/var/lib/peerfix/ledger/$ID"}
      printf '%s\n' "This change was made in the system at $ROOT: ROOT=$ROOT sh $0" \
        '(ROOT=/ for the running system). Nothing touched.' >&2
      exit 3 ;;
  esac
fi
ROOT=${ROOT:-}
ROOT=${ROOT%/}
"#;

const FUNCTIONS: &str = r#"CHANGED=0
LEFT=0

say() { printf '%s\n' "$*"; }
fail() { printf '%s\n' "revert.sh: $*" >&2; exit 1; }

# has FILE HASH COPY: the file holds these bytes.
if command -v sha256sum >/dev/null 2>&1; then
  has() { [ "$(sha256sum 2>/dev/null <"$1")" = "$2  -" ]; }
elif command -v cmp >/dev/null 2>&1; then
  has() { cmp -s -- "$1" "$3"; }
else
  say 'neither sha256sum nor cmp here: files cannot be compared (FORCE=1 goes on without)' >&2
  [ "$FORCE" = 1 ] || exit 3
  has() { [ "$1" = "$3" ]; }
fi

# look INDEX PATH AFTER BEFORE: the file is as the change left it, or as it was before.
look() {
  if [ -n "$4" ]; then
    [ -f "$HERE/before/$1" ] || fail "the kept copy $HERE/before/$1 is missing; nothing touched"
    has "$HERE/before/$1" "$4" "$HERE/before/$1" || fail "the kept copy $HERE/before/$1 is damaged; nothing touched"
  fi
  if [ ! -h "$ROOT$2" ]; then
    if [ ! -e "$ROOT$2" ]; then
      [ -n "$4" ] || return 0
    elif [ -f "$ROOT$2" ]; then
      has "$ROOT$2" "$3" "$HERE/after/$1" && return 0
      [ -n "$4" ] && has "$ROOT$2" "$4" "$HERE/before/$1" && return 0
    fi
  fi
  CHANGED=1
  say "changed since: $ROOT$2 (before: $HERE/before/$1, after the change: $HERE/after/$1)" >&2
  if [ "$FORCE" = 1 ] && [ -f "$ROOT$2" ]; then
    cp -p -- "$ROOT$2" "$HERE/changed-$1" || fail "cannot keep $ROOT$2"
    say "kept as $HERE/changed-$1" >&2
  fi
}

verdict() {
  [ "$CHANGED" = 0 ] || [ "$FORCE" = 1 ] || {
    say 'Nothing touched. FORCE=1 puts the version before in place of the changed file.' >&2
    exit 3
  }
}

# restore INDEX PATH HASH MODE OWNER
restore() {
  dir=${2%/*}
  temp=$ROOT$dir/.peerfix-$ID-$1.tmp
  [ ! -d "$ROOT$2" ] || [ -h "$ROOT$2" ] || fail "$ROOT$2 is a directory"
  rm -f -- "$temp" || fail "cannot write in $ROOT$dir"
  cp -a -- "$HERE/before/$1" "$temp" 2>/dev/null || cp -p -- "$HERE/before/$1" "$temp" || fail "cannot write $temp"
  chown -- "$5" "$temp" || { rm -f -- "$temp"; fail "cannot give $temp to $5"; }
  chmod -- "$4" "$temp" || { rm -f -- "$temp"; fail "cannot set the mode of $temp"; }
  has "$temp" "$3" "$HERE/before/$1" || [ "$FORCE" = 1 ] || { rm -f -- "$temp"; fail "the copy $temp is not complete"; }
  sync
  mv -f -- "$temp" "$ROOT$2" || { rm -f -- "$temp"; fail "cannot replace $ROOT$2"; }
  say "restored $ROOT$2"
}

# discard INDEX PATH: the change created the file.
discard() {
  rm -f -- "$ROOT${2%/*}/.peerfix-$ID-$1.tmp" 2>/dev/null
  rm -f -- "$ROOT$2" || fail "cannot remove $ROOT$2"
  say "removed $ROOT$2"
}

# regenerate TEXT COMMAND...: what follows from the files.
regenerate() {
  text=$1
  shift
  if [ -n "$ROOT" ]; then
    LEFT=1
    say "Now run in the mounted system (chroot $ROOT): $text"
  else
    say "Running: $text"
    "$@" </dev/null || { LEFT=1; say "failed, run it by hand: $text" >&2; }
  fi
}

# finish COMMANDS: tells the ledger; a rescue shell may have it read-only.
finish() {
  [ "$LEFT" = 1 ] && left=$1 || left='[]'
  at=$(date -u +%Y-%m-%dT%H:%M:%SZ) || at=1970-01-01T00:00:00Z
  { printf '\n{"at":"%s","state":"reverted","by":"revert.sh","commands":[],"outstanding":%s}\n' \
    "$at" "$left" >>"$HERE/journal"; } 2>/dev/null || :
  [ "$LEFT" = 0 ] || exit 7
}
"#;
