#!/bin/sh
# What a build needs beside a Rust toolchain: installed where this may be done, else named.
# Usage: sh scripts/packages.sh [PACKAGE...]   (more packages of the distribution)
set -eu

missing=""
command -v cc >/dev/null 2>&1 || missing="$missing gcc libc6-dev"
command -v pkg-config >/dev/null 2>&1 || missing="$missing pkg-config"
pkg-config --exists libudev 2>/dev/null || missing="$missing libudev-dev"
for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$' || missing="$missing $package"
done

if [ -n "$missing" ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        export DEBIAN_FRONTEND=noninteractive
        apt-get update -q
        # shellcheck disable=SC2086 # a list of words
        apt-get install -q -y --no-install-recommends $missing
    else
        echo "missing packages; on Debian and Ubuntu: sudo apt-get install$missing" >&2
        echo "(elsewhere: a C compiler, pkg-config and the headers of libudev)" >&2
        exit 1
    fi
fi

wanted=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' "$(dirname "$0")/../Cargo.toml")
found=$(cargo --version 2>/dev/null | cut -d' ' -f2 || true)
lowest=$(printf '%s\n%s\n' "$wanted" "${found:-0}" | sort -V | head -n 1)
if [ "$lowest" != "$wanted" ]; then
    echo "Rust $wanted or newer is needed, found ${found:-none}: https://rustup.rs" >&2
    exit 1
fi
