#!/bin/bash
# Builds what the boot stories need, as far as it is not there, and runs them: `run.sh [TEST...]`.
# The image and the kernel are kept in $PEERFIX_BOOT_CACHE (default /var/tmp/peerfix-boot), about 700 MB.
# Needs root, and on Debian 12:
#   apt-get install -t bookworm-backports qemu-system-x86 seabios mmdebstrap linux-source-6.12
#   apt-get install qemu-utils grub-pc-bin grub-common fdisk e2fsprogs bc bison flex libelf-dev libssl-dev lz4 xz-utils
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
export PEERFIX_BOOT_CACHE=${PEERFIX_BOOT_CACHE:-/var/tmp/peerfix-boot}
"$here/image.sh" "$PEERFIX_BOOT_CACHE"
nice cargo build --release --locked
# Each machine takes both cores: one story at a time.
nice cargo test --locked --test boot_stories -- --ignored --test-threads=1 "$@"
