#!/bin/sh
# All tests, the kill tests of the ledger with them. Arguments go to `cargo test`.
set -eu
cd "$(dirname "$0")/.."
sh scripts/packages.sh
exec cargo test --locked --features crashpoints "$@"
