#!/bin/sh
# Audits and plans a captured host, then this machine. Writes nothing outside target/.
# Usage: sh scripts/demo.sh [TREE]   (default: tests/hosts/z890-translated)
set -eu
cd "$(dirname "$0")/.."
sh scripts/packages.sh
cargo build --locked --quiet

# Findings are an answer, not a failure: exit 1 of an audit is expected.
show() {
    printf '\n$ peerfix %s\n' "$*"
    target/debug/peerfix "$@" || [ $? = 1 ]
}

host=${1:-tests/hosts/z890-translated}
show audit --host "$host"
show plan --host "$host"
show audit
show plan
