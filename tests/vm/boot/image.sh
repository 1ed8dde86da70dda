#!/bin/bash
# Builds the disk that the boot tests start: Debian 12 behind real GRUB on SeaBIOS, a root shell on the second
# serial port, the kernel of kernel.sh as the default entry and Debian's own beside it. The menu is made by the guest's
# own grub-install and update-grub. No loop device, no mount. Needs root, about three minutes and 2 GB.
# Usage: image.sh FOLDER [MIRROR]   (makes FOLDER/disk.qcow2; done already: nothing)
#   apt-get install qemu-system-x86 qemu-utils mmdebstrap grub-pc-bin grub-common fdisk e2fsprogs
set -euo pipefail

folder=$1
mirror=${2:-http://deb.debian.org/debian}
megabytes=1500
[ ! -e "$folder/disk.qcow2" ] || exit 0
"$(dirname "$0")/kernel.sh" "$folder"
mkdir -p "$folder"
cd "$folder"

if [ ! -e root.tar ]; then
    # shellcheck disable=SC2016 # $1 is the hook's
    mmdebstrap --variant=minbase --mode=root --format=tar \
        --include=systemd,systemd-sysv,dbus,udev,kmod,linux-image-amd64,grub-pc,pciutils,procps,initramfs-tools,e2fsprogs,zstd,iproute2,lvm2 \
        --aptopt='Apt::Install-Recommends "false"' \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' \
        --essential-hook='echo "grub-pc grub-pc/install_devices_empty boolean true" | chroot "$1" debconf-set-selections' \
        bookworm root.tar.part "deb $mirror bookworm main"
    mv root.tar.part root.tar
fi

rm -rf root
mkdir root
tar -C root -xf root.tar --exclude='./dev/*'
release=$(basename root/lib/modules/*)

lean=$(cat release-lean)
cp vmlinuz-lean "root/boot/vmlinuz-$lean"
mkdir -p "root/lib/modules/$lean"
chroot root depmod "$lean"

echo vm >root/etc/hostname
echo "LABEL=root / ext4 defaults,noatime 0 1" >root/etc/fstab
sed -i 's/^root:[^:]*:/root::/' root/etc/shadow
: >root/etc/machine-id
mkdir -p root/var/log/journal root/boot/grub/i386-pc

# An emulated machine needs few drivers; loading a large initrd takes longest.
(cd "root/lib/modules/$release/kernel" && rm -rf sound net/{wireless,mac80211,bluetooth,sctp,tipc,openvswitch} \
    drivers/{ata,gpu,media,net/wireless,net/ethernet,infiniband,scsi,iio,staging,usb,hwmon,video,md,mtd,isdn,mmc,thunderbolt,atm,accel} \
    fs/{ocfs2,xfs,btrfs,f2fs,gfs2,ceph,cifs,smb,nfs,nfsd,jfs,reiserfs,afs,ubifs,ksmbd})
chroot root depmod "$release"
printf 'MODULES=list\nCOMPRESS=zstd\nBUSYBOX=n\nFSTYPE=ext4\n' >root/etc/initramfs-tools/conf.d/lean
printf '%s\n' virtio_pci virtio_blk ext4 >root/etc/initramfs-tools/modules
chroot root update-initramfs -u -k "$release"

cat >root/etc/default/grub <<'GRUB'
GRUB_DEFAULT=0
GRUB_TIMEOUT=1
GRUB_DISTRIBUTOR=Debian
GRUB_CMDLINE_LINUX_DEFAULT="quiet"
GRUB_CMDLINE_LINUX="console=ttyS0,115200"
GRUB_TERMINAL="serial"
GRUB_SERIAL_COMMAND="serial --unit=0 --speed=115200"
GRUB_DISABLE_OS_PROBER=true
GRUB

cat >root/etc/systemd/system/harness-shell.service <<'UNIT'
[Unit]
Description=root shell for the test on the second serial port
After=multi-user.target
[Service]
Type=simple
ExecStartPre=/bin/stty -F /dev/ttyS1 raw -echo 115200
ExecStart=/bin/sh -c 'echo __READY__ $(cut -d" " -f1 /proc/uptime); exec /bin/bash --norc --noprofile'
StandardInput=tty-force
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS1
Environment=PS1= HOME=/root TERM=dumb PATH=/usr/sbin:/usr/bin:/sbin:/bin
Restart=always
KillSignal=SIGKILL
TimeoutStopSec=2
[Install]
WantedBy=multi-user.target
UNIT
mkdir -p root/etc/systemd/system/multi-user.target.wants
ln -sf ../harness-shell.service root/etc/systemd/system/multi-user.target.wants/
for unit in systemd-logind.service systemd-random-seed.service systemd-update-utmp.service \
    systemd-update-utmp-runlevel.service systemd-user-sessions.service systemd-binfmt.service apt-daily.timer \
    apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer \
    systemd-pstore.service getty@tty1.service; do
    ln -sf /dev/null "root/etc/systemd/system/$unit"
done

# The first boot installs the loader for real, then powers off.
cat >root/etc/systemd/system/prepare.service <<'UNIT'
[Unit]
Description=install the boot loader
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/sh -xc 'grub-install /dev/vda && update-grub && rm /etc/systemd/system/multi-user.target.wants/prepare.service && sync && touch /prepared'
ExecStopPost=/bin/systemctl --no-block poweroff
StandardOutput=journal+console
UNIT
ln -sf ../prepare.service root/etc/systemd/system/multi-user.target.wants/

# Replaced by the first `update-grub`.
cat >root/boot/grub/grub.cfg <<GRUB
serial --unit=0 --speed=115200
terminal_input serial; terminal_output serial
set timeout=1
menuentry bootstrap {
 search --no-floppy --label root --set=root
 linux /boot/vmlinuz-$lean root=/dev/vda1 ro console=ttyS0,115200
}
GRUB
modules=/usr/lib/grub/i386-pc
cp "$modules"/*.mod "$modules"/*.lst root/boot/grub/i386-pc/
grub-editenv root/boot/grub/grubenv create

rm -f disk.part
truncate -s ${megabytes}M disk.part
printf 'label: dos\nlabel-id: 0x52454d31\nstart=2048, type=83, bootable\n' | sfdisk -q disk.part
mke2fs -q -t ext4 -L root -O ^metadata_csum_seed,^orphan_file -d root -E offset=1048576,root_owner=0:0 \
    disk.part $(((megabytes - 1) * 1024))k
grub-mkimage -O i386-pc -d "$modules" -o core.img -p '(hd0,msdos1)/boot/grub' \
    biosdisk part_msdos ext2 normal search serial terminal
[ "$(stat -c %s core.img)" -lt $((2047 * 512)) ]
dd if="$modules/boot.img" of=disk.part bs=440 count=1 conv=notrunc status=none
dd if=core.img of=disk.part bs=512 seek=1 conv=notrunc status=none
rm -rf root
timeout 600 qemu-system-x86_64 -machine q35 -accel tcg,thread=multi -smp 2 -m 1024 -nodefaults -display none \
    -drive if=none,id=d,file=disk.part,format=raw,cache=unsafe -device virtio-blk-pci,drive=d -no-reboot \
    -serial file:prepare.log -serial null
debugfs -R 'stat /prepared' 'disk.part?offset=1048576' 2>/dev/null | grep -q Inode: ||
    { tail -n 40 prepare.log; echo "image.sh: the first boot did not come to its end" >&2; exit 1; }
qemu-img convert -c -O qcow2 disk.part disk.qcow2.part
rm disk.part
mv disk.qcow2.part disk.qcow2
