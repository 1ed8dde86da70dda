#!/bin/sh
# Assembles the hand-written PTX with NVIDIA's ptxas for every architecture that peerfix may meet.
#
# ptxas is the assembler that the driver's own compiler embeds. It comes from NVIDIA's wheels on PyPI
# (nvidia-cuda-nvcc-cu12: sm_50 to sm_90 and sm_12x; nvidia-cuda-nvcc: sm_75 and later), under NVIDIA's licence:
# it is fetched into a temporary folder, never shipped and never committed.
#
#   scripts/check-ptx.sh            fetch both wheels, check
#   PTXAS=/path/ptxas scripts/check-ptx.sh    check with that one
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

check() { # ptxas, architectures of plain.ptx, architectures of system.ptx
    "$1" --version | sed -n 's/^Cuda compilation tools, /ptxas /p'
    for file in plain system; do
        archs=$2
        [ "$file" = plain ] || archs=$3
        for arch in $archs; do
            if message=$("$1" --gpu-name "$arch" --warn-on-spills -o "$work/out" "$here/src/gpu/ptx/$file.ptx" 2>&1) &&
                [ -z "$message" ]; then
                echo "ok $file.ptx $arch"
            else
                printf 'FAIL %s.ptx %s\n%s\n' "$file" "$arch" "$message" >&2
                exit 1
            fi
        done
    done
}

if [ -n "${PTXAS:-}" ]; then
    check "$PTXAS" "sm_75 sm_80 sm_86 sm_89 sm_90" "sm_75 sm_80 sm_86 sm_89 sm_90"
    exit
fi
for wheel in nvidia-cuda-nvcc-cu12 nvidia-cuda-nvcc; do
    python3 -m pip download --quiet --no-deps --only-binary=:all: --dest "$work/$wheel" "$wheel"
    python3 -m zipfile -e "$work/$wheel"/*.whl "$work/$wheel"
    ptxas=$(find "$work/$wheel" -name ptxas -type f | head -n 1)
    chmod +x "$ptxas"
    case $wheel in
    *-cu12) check "$ptxas" "sm_52 sm_61 sm_70 sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120" \
        "sm_70 sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120" ;;
    *) check "$ptxas" "sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120" "sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120" ;;
    esac
done
