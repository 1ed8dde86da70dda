#!/bin/sh
# Installs what the image, its kernel and the boot stories need, on Debian 12 or 13, as root. Installed already: asks no
# mirror. On Debian 12 the emulator comes from backports: 7.2 has no first-stage translation (fault reason 0x71), and a
# qemu-utils from backports would refuse it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

newer="qemu-system-x86 qemu-utils seabios mmdebstrap linux-source-6.12"
stable="grub-pc-bin grub-common fdisk e2fsprogs gcc libc6-dev make bc bison flex libelf-dev libssl-dev lz4 xz-utils"

missing() {
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$' || printf ' %s' "$package"
    done
}
# shellcheck disable=SC2086 # lists of words
newer=$(missing $newer) stable=$(missing $stable)
if [ -n "$newer$stable" ]; then
    if [ "$(id -u)" != 0 ]; then
        echo "packages.sh: missing:$newer$stable; run it as root" >&2
        exit 1
    fi
    # shellcheck source=/dev/null # of the machine
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    backports=""
    if [ "$codename" = bookworm ]; then
        backports="-t bookworm-backports"
        # shellcheck disable=SC2016 # the variable is apt's
        apt-get indextargets --format '$(RELEASE)' | grep -qx bookworm-backports ||
            echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $("$here/mirror.sh" bookworm-backports) bookworm-backports main" \
                >/etc/apt/sources.list.d/peerfix-backports.list
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q
    # shellcheck disable=SC2086 # lists of words
    {
        [ -z "$newer" ] || apt-get install -q -y --no-install-recommends $backports $newer
        [ -z "$stable" ] || apt-get install -q -y --no-install-recommends $stable
    }
fi
if ! qemu-system-x86_64 -device intel-iommu,help | grep -q x-flts; then
    echo "packages.sh: $(qemu-system-x86_64 --version | head -n 1) has no first-stage translation: 9.2 or newer is needed" >&2
    exit 1
fi
