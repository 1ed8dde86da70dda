#!/bin/sh
# Installs the Debian packages named as arguments where they are missing; without root it names them and stops.
set -eu
missing=
for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" -ne 0 ]; then
    echo "these packages are missing:$missing" >&2
    echo "install them: sudo apt-get install -y$missing" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
# The list is words, one per package.
# shellcheck disable=SC2086
apt-get install -q -y --no-install-recommends $missing
