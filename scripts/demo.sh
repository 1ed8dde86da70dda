#!/bin/sh
# Builds peerfix, then audits and plans the captured host that ships with the source, and this machine.
set -eu
cd "$(dirname "$0")/.."
sh scripts/packages.sh gcc libc6-dev libudev-dev pkg-config
cargo build --release --locked
peerfix=target/release/peerfix

# An audit that finds faults exits with 1; that is its answer, not a failure of this script.
say() {
    printf '\n$ peerfix %s\n' "$*"
    code=0
    "$peerfix" "$@" || code=$?
    [ "$code" -le 1 ] || exit "$code"
}
say audit --host tests/hosts/z890-translated
say plan --host tests/hosts/z890-translated
say audit
say plan
