#!/bin/bash
# Everything that tests/device/README.md reports, on a host with two NVIDIA GPUs. Needs gcc and python3, no toolkit.
#
#   bash tests/device/run.sh target/release/peerfix [FOLDER for records]
set -u
peerfix=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
out=${2:-$(mktemp -d)}
mkdir -p "$out/slow" && cd "$out" || exit 1
gcc -O2 -o reference "$here/reference.c" -ldl || exit 1
gcc -O2 -shared -fPIC -o slow/libcuda.so.1 "$here/slow.c" -ldl || exit 1

timed() { # command: its output goes to last.txt
    local began
    began=$(date +%s%N)
    "$@" >last.txt 2>&1
    echo "exit $?, $((($(date +%s%N) - began) / 1000000)) ms: $*"
}

date -u
uname -r
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader

echo "== side by side"
./reference
timed "$peerfix" bench -o full.json
cat last.txt
timed "$peerfix" bench --quick -o quick.json
cat last.txt
./reference

echo "== ten records of each mode, any two compared"
for mode in full quick; do
    for n in 0 1 2 3 4 5 6 7 8 9; do
        if [ $mode = quick ]; then
            timed "$peerfix" bench --quick -o $mode$n.json
        else
            timed "$peerfix" bench -o $mode$n.json
        fi
    done
    for a in 0 1 2 3 4 5 6 7 8; do
        for b in $(seq $((a + 1)) 9); do
            "$peerfix" compare "$mode$a.json" "$mode$b.json" >last.txt 2>&1
            echo "$mode exit $?: $(head -1 last.txt | cut -c1-70)"
        done
    done | sort | uniq -c | sort -rn
done
python3 - <<'P'
import json
for mode in ("full", "quick"):
    records = [json.load(open(f"{mode}{n}.json")) for n in range(10)]
    print(mode, "seconds", [round(r["seconds"], 2) for r in records])
    print(mode, "phases", {k: round(v, 2) for k, v in records[0]["phases"].items()})
    for pair in (0, 1):
        for arm in records[0]["pairs"][pair]["arms"]:
            medians = [a["median"] for r in records for a in r["pairs"][pair]["arms"] if a["name"] == arm["name"]]
            if min(medians) > 0:
                print(mode, pair, arm["name"], "%.4g to %.4g %s, %.1f %% apart" % (
                    min(medians), max(medians), arm["unit"], (max(medians) / min(medians) - 1) * 100))
P

echo "== a real slowdown of peer copies"
real=$(ldconfig -p | sed -n 's/.*libcuda.so.1 .*x86-64.*=> //p' | head -1)
for percent in 5 10; do
    for mode in "" --quick; do
        REAL_CUDA=$real SLOW_PERCENT=$percent LD_LIBRARY_PATH=slow timed "$peerfix" bench $mode -o slow.json
        "$peerfix" compare "$([ -n "$mode" ] && echo quick0.json || echo full0.json)" slow.json >slow$percent$mode.txt
        echo "$percent % slower $mode: exit $?"
        head -2 slow$percent$mode.txt
    done
done

echo "== refusals and losses"
CUDA_VISIBLE_DEVICES=0 timed "$peerfix" bench -o none.json
tail -1 last.txt
(sleep 1.2 && pkill -9 -f bench-worker) &
timed "$peerfix" bench -o killed.json
grep -i crash last.txt
(sleep 1.5 && pkill -STOP -f bench-worker) &
PEERFIX_ARM_DEADLINE_MS=3000 timed "$peerfix" bench -o stopped.json
grep -i hang last.txt
(sleep 1.5 && pkill -INT -x peerfix) &
timed "$peerfix" bench -o interrupted.json
ls interrupted.json
sleep 3
pgrep -fl bench-worker
timed "$peerfix" audit
cat last.txt
