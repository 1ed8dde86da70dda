#!/bin/sh
# `provision --root` and `revert` on an installed Debian, mounted as an installer mounts it: the target's own
# update-grub and update-initramfs run inside it, and a rescue shell takes the change back without peerfix.
#
#   sudo tests/vm/debian_target.sh
#
# PEERFIX            the program (default target/debug/peerfix)
# PEERFIX_BOOKWORM   cache of the installed system, made with debootstrap when missing (needs a mirror once)
#
# Only a copy below a temporary folder is written to, in a mount namespace of its own. Skips with a reason
# where something is missing. The last line is "N passed, M failed".
set -u
HERE=$(cd "$(dirname "$0")/../.." && pwd)
PEERFIX=${PEERFIX:-$HERE/target/debug/peerfix}
CACHE=${PEERFIX_BOOKWORM:-/var/tmp/peerfix-bookworm}

skip() { printf 'skipped: %s\n0 passed, 0 failed\n' "$1"; exit 0; }
[ "$(id -u)" = 0 ] || skip 'needs root to mount and to change the root directory'
[ -x "$PEERFIX" ] || skip "$PEERFIX is not built (cargo build, or PEERFIX=PATH)"
for tool in unshare chroot; do
  command -v "$tool" >/dev/null || skip "$tool is not installed"
done

if [ "${1:-}" != inside ]; then
  unshare -m --propagation private true 2>/dev/null || skip 'mount namespaces are not allowed here'
  exec unshare -m --propagation private -- "$0" inside
fi

# ---- the installed system -------------------------------------------------------------------------------

mounts() {
  mount --bind "$1" "$1" && mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" &&
    mount --rbind /dev "$1/dev"
}

make_cache() {
  command -v debootstrap >/dev/null || skip 'debootstrap is not installed and no cache is there'
  rm -rf "$CACHE.part"
  echo "making $CACHE, once" >&2
  debootstrap --variant=minbase --include=grub2-common,grub-common,initramfs-tools,kmod,zstd \
    bookworm "$CACHE.part" >&2 || skip 'debootstrap failed (no mirror?)'
  mounts "$CACHE.part" || skip 'cannot mount inside the new system'
  mkdir -p "$CACHE.part/boot/grub"
  cp /etc/resolv.conf "$CACHE.part/etc/resolv.conf"
  echo 'grub-pc grub-pc/install_devices_empty boolean true' | chroot "$CACHE.part" debconf-set-selections
  DEBIAN_FRONTEND=noninteractive chroot "$CACHE.part" \
    apt-get install -y --no-install-recommends grub-pc linux-image-cloud-amd64 >&2 ||
    skip 'packages cannot be installed in the new system'
  chroot "$CACHE.part" apt-get clean
  umount -R "$CACHE.part" && mv "$CACHE.part" "$CACHE"
}
[ -e "$CACHE/etc/default/grub" ] || make_cache

WORK=$(mktemp -d /var/tmp/peerfix-target.XXXXXX) || exit 1
T=$WORK/target
# One file system only: whatever is still mounted in the target must not be reached by the removal.
trap 'umount -R "$T" 2>/dev/null; rm -rf --one-file-system "$WORK"' EXIT
cp -a --reflink=auto "$CACHE" "$T"

# ---- hosts whose facts are used --------------------------------------------------------------------------

Z890=$HERE/tests/hosts/z890-translated
TURIN=$WORK/turin
if command -v cargo >/dev/null; then
  (cd "$HERE" && PEERFIX_HOST=turin-stock PEERFIX_TO="$TURIN" \
    cargo test -q --test write_hosts -- --ignored write_one_host >/dev/null 2>&1)
fi

# ---- checks ----------------------------------------------------------------------------------------------

PASSED=0
FAILED=0
ok() { PASSED=$((PASSED + 1)); printf 'ok      %s\n' "$1"; }
bad() { FAILED=$((FAILED + 1)); printf 'FAILED  %s\n' "$1"; [ ! -s "$WORK/out" ] || sed 's/^/        | /' "$WORK/out"; }
check() { what=$1; shift; if "$@" >/dev/null 2>&1; then ok "$what"; else bad "$what"; fi; }
refute() { what=$1; shift; if "$@" >/dev/null 2>&1; then bad "$what"; else ok "$what"; fi; }

# exits CODE WHAT ARGUMENT...: runs peerfix, keeps what it prints in $WORK/out.
exits() {
  want=$1 what=$2
  shift 2
  "$PEERFIX" "$@" >"$WORK/out" 2>&1 </dev/null
  got=$?
  if [ "$got" = "$want" ]; then ok "$what (exit $want)"; else bad "$what: exit $got, expected $want"; fi
}
prints() { check "it says: $1" grep -q -- "$1" "$WORK/out"; }

# Names, kinds, modes, owners, times and bytes of what peerfix may touch; links as links.
picture() {
  for part in etc usr/sbin boot/grub; do
    find "$T/$part" \( -type d -printf '%p %M %U:%G\n' -o -printf '%p %M %U:%G %T@ %l\n' \) | grep -v '/boot/grub/grub.cfg '
    find "$T/$part" -type f ! -name grub.cfg -exec sha256sum {} +
  done | sort
}
same() { picture >"$WORK/now"; check "$1" cmp -s "$WORK/before" "$WORK/now"; cmp -s "$WORK/before" "$WORK/now" || diff "$WORK/before" "$WORK/now" | head -20; }
entries() { grep -c "^[[:space:]]*linux.*$1" "$T/boot/grub/grub.cfg"; }
# Files of the initramfs of the target's kernel, below $WORK/ram.
unpack() {
  rm -rf "$WORK/ram"; mkdir "$WORK/ram"
  mkdir -p "$T/tmp/ram"
  # shellcheck disable=SC2016 # expands inside
  chroot "$T" sh -c 'rm -rf /tmp/ram; unmkinitramfs "$(ls /boot/initrd.img-* | head -n 1)" /tmp/ram'
  cp -a "$T/tmp/ram/." "$WORK/ram"; rm -rf "$T/tmp/ram"
}

provision() { code=$1 what=$2; shift 2; exits "$code" "$what" provision --root "$T" --no-trial "$@"; }

# A target that is no mounted system is refused, with every reason, before anything is written.
provision 3 'a folder that is no mount point' --host "$Z890" --yes --run-in-target
prints 'not a mount point'
prints '/proc is not mounted'
refute 'nothing is left in it' test -e "$T/var/lib/peerfix"
mount --bind "$T" "$T"
provision 3 'a mount point without /proc, /sys and /dev' --host "$Z890" --yes --run-in-target
prints 'mount -t proc'
refute 'the mount point is not the reason any more' grep -q 'not a mount point' "$WORK/out"
umount "$T"
mounts "$T" || skip 'cannot mount inside the copy'
chown 1000 "$T"
provision 3 'a target of another user' --host "$Z890" --yes --run-in-target
prints 'owned by user 1000'
chown 0:0 "$T"; chmod 0777 "$T"
provision 3 'a target that anyone can write to' --host "$Z890" --yes --run-in-target
prints 'writable by others'
chmod 0755 "$T"
exits 2 '--run-in-target without --root' provision --yes --no-trial --run-in-target
exits 2 'facts of another host for this machine' provision --host "$Z890" --yes --no-trial

# The state of things before.
chmod 0640 "$T/etc/default/grub"; chgrp adm "$T/etc/default/grub"
touch -d '2024-02-03 04:05:06.789012345' "$T/etc/default/grub"
chroot "$T" update-grub >/dev/null 2>&1
check 'the target has a menu' grep -q '^[[:space:]]*linux' "$T/boot/grub/grub.cfg"
picture >"$WORK/before"

# Without a yes: the plan.
provision 3 'without --yes' --host "$Z890"
prints 'GRUB_CMDLINE_LINUX_DEFAULT="quiet iommu=pt"'
same 'nothing is written'

# Without --run-in-target: written, the commands printed.
provision 7 'without --run-in-target' --host "$Z890" --yes
prints 'update-grub'
check 'the defaults hold the word' grep -q '^GRUB_CMDLINE_LINUX_DEFAULT="quiet iommu=pt"$' "$T/etc/default/grub"
check 'the menu is as it was' test "$(entries iommu=pt)" = 0
# Given later, the flag runs what is outstanding.
provision 7 'with --run-in-target later' --host "$Z890" --yes --run-in-target
check 'the menu has the word now' test "$(entries iommu=pt)" -gt 0
provision 77 'a further run' --host "$Z890" --yes --run-in-target --unchanged-exit-77
refute 'nothing is outstanding' grep -q 'still to run' "$WORK/out"
exits 0 'revert with --run-in-target' revert last --root "$T" --run-in-target
same 'bytes, modes, owners and times are back'
check 'the menu is without the word' test "$(entries iommu=pt)" = 0

# With --run-in-target at once.
provision 7 'with --run-in-target' --host "$Z890" --yes --run-in-target
check 'normal entries have the word' test "$(entries iommu=pt)" -gt 0
refute 'the recovery entry keeps its line' sh -c "grep -E '^[[:space:]]*linux.*single' '$T/boot/grub/grub.cfg' | grep -q iommu=pt"
check 'mode and owner are kept' test "$(stat -c %a:%U:%G "$T/etc/default/grub")" = 640:root:adm
provision 77 'a second run' --host "$Z890" --yes --run-in-target --unchanged-exit-77
provision 0 'a second run without the flag for 77' --host "$Z890" --yes --run-in-target
exits 0 'status' status --root "$T"
exits 0 'revert last' revert last --root "$T" --run-in-target
same 'bytes, modes, owners and times are back'
check 'the menu is without the word' test "$(entries iommu=pt)" = 0

# From a rescue shell: the system at $T, no peerfix.
provision 7 'once more' --host "$Z890" --yes --run-in-target
ID=$(find "$T/var/lib/peerfix/ledger" -mindepth 1 -maxdepth 1 -name '[0-9]*' -printf '%f\n' | sort | tail -n 1)
sh "$T/var/lib/peerfix/ledger/$ID/revert.sh" >"$WORK/out" 2>&1
check 'revert.sh without ROOT touches nothing (exit 3)' test $? = 3
prints "ROOT=$T"
check 'the word is still there' grep -q iommu=pt "$T/etc/default/grub"
env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin ROOT="$T" sh "$T/var/lib/peerfix/ledger/$ID/revert.sh" >"$WORK/out" 2>&1
check 'revert.sh with ROOT leaves the commands (exit 7)' test $? = 7
prints 'update-grub'
same 'bytes, modes, owners and times are back'
exits 0 'the ledger knows' show "$ID" --root "$T"
prints 'taken back'
# From a shell inside the mounted system, the commands run.
chroot "$T" update-grub >/dev/null 2>&1
provision 7 'and once more' --host "$Z890" --yes --run-in-target
ID=$(find "$T/var/lib/peerfix/ledger" -mindepth 1 -maxdepth 1 -name '[0-9]*' -printf '%f\n' | sort | tail -n 1)
chroot "$T" sh "/var/lib/peerfix/ledger/$ID/revert.sh" >"$WORK/out" 2>&1
check 'revert.sh in a chroot does it all (exit 0)' test $? = 0
same 'bytes, modes, owners and times are back'
check 'the menu is without the word' test "$(entries iommu=pt)" = 0

# A command that fails: everything is put back.
mv "$T/usr/sbin/update-grub" "$T/usr/sbin/update-grub.away"
printf '#!/bin/sh\necho "no menu today" >&2\nexit 1\n' >"$T/usr/sbin/update-grub"; chmod 755 "$T/usr/sbin/update-grub"
"$PEERFIX" provision --root "$T" --host "$Z890" --yes --no-trial --run-in-target >"$WORK/out" 2>&1
check 'a failing update-grub fails the change' test $? != 7
prints 'no menu today'
mv -f "$T/usr/sbin/update-grub.away" "$T/usr/sbin/update-grub"
same 'and the files are as before'

# Module options: the initramfs has them.
if [ -d "$TURIN/sys" ]; then
  unpack
  refute 'the initramfs has no option of ours yet' grep -rq uvm_disable_hmm "$WORK/ram"
  provision 7 'module options with --run-in-target' --host "$TURIN" --yes --run-in-target
  check 'modprobe.d has the option' grep -rq 'options nvidia_uvm .*uvm_disable_hmm=1' "$T/etc/modprobe.d"
  check 'the target reads it' sh -c "chroot '$T' modprobe -c | grep -q 'options nvidia_uvm .*uvm_disable_hmm=1'"
  unpack
  check 'the initramfs has the option' grep -rq 'options nvidia_uvm .*uvm_disable_hmm=1' "$WORK/ram"
  provision 77 'a second run' --host "$TURIN" --yes --run-in-target --unchanged-exit-77
  exits 0 'revert last' revert last --root "$T" --run-in-target
  same 'bytes, modes, owners and times are back'
  unpack
  refute 'the initramfs is without the option' grep -rq uvm_disable_hmm "$WORK/ram"
else
  echo 'skipped the initramfs part: cargo is not here to write the host'
fi

# Nothing of ours lies about outside the state folder.
refute 'no temporary file is left' sh -c "find '$T/etc' '$T/boot' -name '*peerfix*' | grep -q ."
printf '%d passed, %d failed\n' "$PASSED" "$FAILED"
[ "$FAILED" = 0 ]
