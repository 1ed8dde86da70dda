#!/bin/bash
# Builds the kernel that the boot tests start by default: small, everything built in, no initrd, with the PCI
# peer-to-peer code that no Debian kernel has. About 15 processor minutes.
# Usage: kernel.sh FOLDER
# Prints the kernel's path, FOLDER/vmlinuz-DIGEST; its release stands beside it in FOLDER/release-DIGEST. Built already
# from this configuration: only prints.
set -euo pipefail

folder=$1
here=$(cd "$(dirname "$0")" && pwd)
digest=$(sha256sum <"$here/lean.config" | cut -c 1-12)
kernel=$folder/vmlinuz-$digest
if [ -e "$kernel" ]; then
    echo "$kernel"
    exit 0
fi
mkdir -p "$folder"
source=$(find /usr/src -maxdepth 1 -name 'linux-source-6.12*.tar.xz' | sort | tail -n 1)
[ -n "$source" ] || { echo "kernel.sh: no /usr/src/linux-source-6.12*.tar.xz: run packages.sh" >&2; exit 1; }

rm -rf "$folder/linux"
mkdir "$folder/linux"
trap 'rm -rf "$folder/linux"' EXIT
tar -C "$folder/linux" --strip-components=1 -xf "$source"
cd "$folder/linux"
{
    make -s tinyconfig
    cat "$here/lean.config" >>.config
    make -s olddefconfig
    # A word that olddefconfig dropped would make every later test say nothing.
    for word in PCI_P2PDMA INTEL_IOMMU VIRTIO_BLK VIRTIO_NET BLK_DEV_NVME BLK_DEV_DM I6300ESB_WDT EXT4_FS; do
        grep -qx "CONFIG_$word=y" .config || { echo "kernel.sh: CONFIG_$word is not set" >&2; exit 1; }
    done
    nice -n 15 make -s -j"$(nproc)" bzImage
} >&2
make -s kernelrelease >"$folder/release-$digest"
cp arch/x86/boot/bzImage "$kernel.part"
mv "$kernel.part" "$kernel"
echo "$kernel"
