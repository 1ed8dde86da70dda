#!/bin/sh
# Prints where apt on this machine gets a suite of Debian from, so that the boot tests use the mirror that is set up
# here, whichever that is. Usage: mirror.sh SUITE (bookworm, bookworm-security, ...)
set -eu

case $1 in
*-security) default=http://deb.debian.org/debian-security ;;
*) default=http://deb.debian.org/debian ;;
esac
# A suite that is not set up here comes from where its base suite comes from.
for suite in "$1" "${1%-backports}"; do
    # shellcheck disable=SC2016 # the variables are apt's
    found=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
        awk -v suite="$suite" '$1 == suite { print $2; exit }')
    if [ -n "$found" ]; then
        echo "${found%/}"
        exit 0
    fi
done
echo "$default"
