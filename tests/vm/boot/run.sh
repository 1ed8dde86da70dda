#!/bin/bash
# Runs the boot stories (tests/boot_stories): installs, builds and caches what they need, as far as it is not there.
# Usage: run.sh [TEST...]     README.md says what it takes
#   PEERFIX_BOOT_CACHE   folder of image and kernel (default /var/tmp/peerfix-boot)
#   PEERFIX_BINARY       the program under test (default: target/release/peerfix, built here)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
export PEERFIX_BOOT_CACHE=${PEERFIX_BOOT_CACHE:-/var/tmp/peerfix-boot}
"$here/packages.sh"
"$here/image.sh" "$PEERFIX_BOOT_CACHE"
[ -n "${PEERFIX_BINARY:-}" ] || nice cargo build --release --locked

# Each story adds a line when its machine goes: seconds, boots, name.
times=$(mktemp)
export PEERFIX_BOOT_TIMES=$times
trap 'sort -k5 "$times"; awk "{s += \$1; b += \$3} END {printf \"%5d s %2d boots  all\n\", s, b}" "$times"; rm -f "$times"' EXIT
# Each machine takes both cores: one story at a time.
nice cargo test --locked --test boot_stories -- --ignored --test-threads=1 "$@"
