#!/bin/sh
# Passes all tests. The crash points of the ledger are compiled in, so that its tests can kill it at each.
set -eu
cd "$(dirname "$0")/.."
sh scripts/packages.sh gcc libc6-dev libudev-dev pkg-config dash bash util-linux
exec cargo test --locked --features crashpoints "$@"
