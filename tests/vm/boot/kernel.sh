#!/bin/bash
# Builds the kernel that the boot tests start by default: small, everything built in, no initrd, with the PCI
# peer-to-peer code that no Debian kernel has. About 15 processor minutes.
# Usage: kernel.sh FOLDER   (makes FOLDER/vmlinuz-lean; done already: nothing)
#   apt-get install linux-source-6.12 (backports), build-essential bc bison flex libelf-dev libssl-dev lz4 xz-utils
set -euo pipefail

folder=$1
here=$(cd "$(dirname "$0")" && pwd)
[ ! -e "$folder/vmlinuz-lean" ] || exit 0
mkdir -p "$folder"
source=$(find /usr/src -maxdepth 1 -name 'linux-source-6.12*.tar.xz' | sort | tail -n 1)
[ -n "$source" ] || { echo "kernel.sh: no /usr/src/linux-source-6.12*.tar.xz: install linux-source-6.12" >&2; exit 1; }

rm -rf "$folder/linux"
mkdir "$folder/linux"
tar -C "$folder/linux" --strip-components=1 -xf "$source"
cd "$folder/linux"
make -s tinyconfig
cat "$here/lean.config" >>.config
make -s olddefconfig
# A word that olddefconfig dropped would make every later test say nothing.
for word in PCI_P2PDMA INTEL_IOMMU VIRTIO_BLK VIRTIO_NET BLK_DEV_NVME I6300ESB_WDT EXT4_FS; do
    grep -qx "CONFIG_$word=y" .config || { echo "kernel.sh: CONFIG_$word is not set" >&2; exit 1; }
done
make -s -j"$(nproc)" bzImage
cp arch/x86/boot/bzImage "$folder/vmlinuz-lean.part"
make -s kernelrelease >"$folder/release-lean"
mv "$folder/vmlinuz-lean.part" "$folder/vmlinuz-lean"
cd "$folder"
rm -rf linux
