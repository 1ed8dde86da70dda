#!/bin/bash
# Builds the disk that the boot tests start: Debian 12 behind real GRUB on SeaBIOS, a root shell on the second serial
# port, the kernel of kernel.sh as the default entry and Debian's own, with its initrd, beside it. The menu is made by
# the guest's own grub-install and update-grub. No loop device, no mount. Needs root and packages.sh.
# Usage: image.sh FOLDER   (default /var/tmp/peerfix-boot; README.md has the times and sizes)
# FOLDER/disk links to the disk of this recipe, disk-DIGEST.qcow2. Built already: nothing. A disk is never changed:
# machines that run on an older one go on.
set -euo pipefail

folder=${1:-/var/tmp/peerfix-boot}
here=$(cd "$(dirname "$0")" && pwd)
megabytes=1500
packages=systemd,systemd-sysv,dbus,udev,kmod,linux-image-amd64,grub-pc,initramfs-tools,e2fsprogs,util-linux,procps,iproute2,pciutils,lvm2,zstd

mkdir -p "$folder"
exec 9>"$folder/lock"
flock 9
kernel=$("$here/kernel.sh" "$folder")
release=$(cat "${kernel/vmlinuz-/release-}")
digest=$(cat "$here/image.sh" - <<<"$kernel" | sha256sum | cut -c 1-12)
disk=disk-$digest.qcow2
cd "$folder"
if [ -e "$disk" ]; then
    ln -sfn "$disk" disk
    exit 0
fi

system=system-$(sha256sum <<<"$packages" | cut -c 1-12).tar
if [ ! -e "$system" ]; then
    # shellcheck disable=SC2016 # $1 is the hook's
    mmdebstrap --variant=minbase --mode=root --format=tar --include=$packages \
        --aptopt='Apt::Install-Recommends "false"' \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' \
        --essential-hook='echo "grub-pc grub-pc/install_devices_empty boolean true" | chroot "$1" debconf-set-selections' \
        bookworm "$system.part" "deb $("$here/mirror.sh" bookworm) bookworm main" \
        "deb $("$here/mirror.sh" bookworm-security) bookworm-security main"
    mv "$system.part" "$system"
fi

work=$(mktemp -d "$folder/image.XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir "$root"
tar -C "$root" -xf "$system" --exclude='./dev/*'
debian=$(basename "$root"/lib/modules/*)

cp "$kernel" "$root/boot/vmlinuz-$release"
mkdir -p "$root/lib/modules/$release"
chroot "$root" depmod "$release"

echo vm >"$root/etc/hostname"
echo "LABEL=root / ext4 defaults,noatime 0 1" >"$root/etc/fstab"
sed -i 's/^root:[^:]*:/root::/' "$root/etc/shadow"
: >"$root/etc/machine-id"
# A journal that outlives the boot.
mkdir -p "$root/var/log/journal" "$root/boot/grub/i386-pc"

# An emulated machine needs few drivers; loading a large initrd takes longest.
(cd "$root/lib/modules/$debian/kernel" && rm -rf sound net/{wireless,mac80211,bluetooth,sctp,tipc,openvswitch} \
    drivers/{ata,gpu,media,net/wireless,net/ethernet,infiniband,scsi,iio,staging,usb,hwmon,video,mtd,isdn,mmc,thunderbolt,atm,accel} \
    fs/{ocfs2,xfs,btrfs,f2fs,gfs2,ceph,cifs,smb,nfs,nfsd,jfs,reiserfs,afs,ubifs,ksmbd})
chroot "$root" depmod "$debian"
printf 'MODULES=list\nCOMPRESS=zstd\nBUSYBOX=n\nFSTYPE=ext4\n' >"$root/etc/initramfs-tools/conf.d/lean"
printf '%s\n' virtio_pci virtio_blk ext4 >"$root/etc/initramfs-tools/modules"
chroot "$root" update-initramfs -u -k "$debian"

# A busy host starves the emulated timer, and a kernel that checks it would panic at boot.
cat >"$root/etc/default/grub" <<'GRUB'
GRUB_DEFAULT=0
GRUB_TIMEOUT=1
GRUB_DISTRIBUTOR=Debian
GRUB_CMDLINE_LINUX_DEFAULT="quiet"
GRUB_CMDLINE_LINUX="console=ttyS0,115200 no_timer_check"
GRUB_TERMINAL="serial"
GRUB_SERIAL_COMMAND="serial --unit=0 --speed=115200"
GRUB_DISABLE_OS_PROBER=true
GRUB

# Killed at shutdown, because a shell on a terminal ignores SIGTERM.
cat >"$root/etc/systemd/system/harness-shell.service" <<'UNIT'
[Unit]
Description=root shell for the test on the second serial port
After=multi-user.target
[Service]
Type=simple
ExecStartPre=/bin/stty -F /dev/ttyS1 raw -echo 115200
ExecStart=/bin/sh -c 'echo __READY__ $(cut -d" " -f1 /proc/uptime); exec /bin/bash --norc --noprofile --noediting'
StandardInput=tty-force
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS1
Environment=PS1= PS2= HOME=/root TERM=dumb PATH=/usr/sbin:/usr/bin:/sbin:/bin
Restart=always
KillSignal=SIGKILL
TimeoutStopSec=2
[Install]
WantedBy=multi-user.target
UNIT
wants=$root/etc/systemd/system/multi-user.target.wants
mkdir -p "$wants"
ln -sf ../harness-shell.service "$wants/"
for unit in systemd-logind.service systemd-random-seed.service systemd-update-utmp.service \
    systemd-update-utmp-runlevel.service systemd-user-sessions.service systemd-binfmt.service apt-daily.timer \
    apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer \
    systemd-pstore.service getty@tty1.service; do
    ln -sf /dev/null "$root/etc/systemd/system/$unit"
done

# The first boot installs the loader for real, then powers off.
cat >"$root/etc/systemd/system/prepare.service" <<'UNIT'
[Unit]
Description=install the boot loader
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/sh -xc 'grub-install /dev/vda && update-grub && rm /etc/systemd/system/multi-user.target.wants/prepare.service && sync && touch /prepared'
ExecStopPost=/bin/systemctl --no-block poweroff
StandardOutput=journal+console
UNIT
ln -sf ../prepare.service "$wants/"

# Replaced by the first `update-grub`. What this boot logs does not stay, so that a story's first boot is its first.
cat >"$root/boot/grub/grub.cfg" <<GRUB
serial --unit=0 --speed=115200
terminal_input serial; terminal_output serial
set timeout=1
menuentry bootstrap {
 search --no-floppy --label root --set=root
 linux /boot/vmlinuz-$release root=/dev/vda1 ro console=ttyS0,115200 no_timer_check systemd.mask=systemd-journal-flush.service
}
GRUB
# Without its modules beside the menu GRUB shows it and then waits for a key.
modules=/usr/lib/grub/i386-pc
cp "$modules"/*.mod "$modules"/*.lst "$root/boot/grub/i386-pc/"
grub-editenv "$root/boot/grub/grubenv" create

raw=$work/disk.raw
truncate -s ${megabytes}M "$raw"
printf 'label: dos\nlabel-id: 0x52454d31\nstart=2048, type=83, bootable\n' | sfdisk -q "$raw"
# Two features that GRUB 2.06 does not know and a newer mke2fs would turn on.
mke2fs -q -t ext4 -L root -O ^metadata_csum_seed,^orphan_file -d "$root" -E offset=1048576,root_owner=0:0 \
    "$raw" $(((megabytes - 1) * 1024))k
grub-mkimage -O i386-pc -d "$modules" -o "$work/core.img" -p '(hd0,msdos1)/boot/grub' \
    biosdisk part_msdos ext2 normal search serial terminal
[ "$(stat -c %s "$work/core.img")" -lt $((2047 * 512)) ]
dd if="$modules/boot.img" of="$raw" bs=440 count=1 conv=notrunc status=none
dd if="$work/core.img" of="$raw" bs=512 seek=1 conv=notrunc status=none
rm -rf "$root"
timeout 600 qemu-system-x86_64 -machine q35 -accel tcg,thread=multi -smp 2 -m 1024 -nodefaults -display none \
    -drive if=none,id=d,file="$raw",format=raw,cache=unsafe -device virtio-blk-pci,drive=d -no-reboot \
    -serial file:prepare.log -serial null
debugfs -R 'stat /prepared' "$raw?offset=1048576" 2>/dev/null | grep -q Inode: ||
    { tail -n 40 prepare.log; echo "image.sh: the first boot did not come to its end" >&2; exit 1; }
qemu-img convert -c -O qcow2 "$raw" "$work/disk.qcow2"
mv "$work/disk.qcow2" "$disk"
ln -sfn "$disk" disk
# Of older recipes, those that no story of today can still be running on.
find . -maxdepth 1 -name 'disk-*.qcow2' ! -name "$disk" -mtime +1 -delete
