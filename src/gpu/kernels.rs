//! The device code: every PTX entry point with its parameters in order and what it does exactly.
//!
//! This file is the contract between the PTX in `ptx/`, the launches in [`super::cuda`] and whoever stands in
//! for a GPU: a fake `libcuda.so.1` implements these functions in host code from the words below.
//!
//! # Modules
//!
//! Two PTX texts are loaded per context with `cuModuleLoadDataEx` (text, NUL terminated, no options but an error
//! log): [`PLAIN`] (`.target sm_52`) and [`SYSTEM`] (`.target sm_70`, system-scope memory order). On GPUs below
//! compute capability 7.0 `SYSTEM` is not loaded, and the arms that need it are skipped with that reason.
//! A module is recognised by its first line: `// peerfix plain` or `// peerfix system`.
//!
//! # Words
//!
//! Buffers hold 64-bit words, little endian. The pattern of word `i` (from 0, `base` added):
//!
//! ```text
//! word(i) = mix64((header | (base + i)) ^ key)          base + i < 2^32
//! mix64(z): z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9
//!           z = (z ^ z >> 27) * 0x94d049bb133111eb
//!           z =  z ^ z >> 31                            all modulo 2^64; a bijection
//! header  = 0xA6 << 56 | tag << 44 | iteration << 32    tag and iteration of 12 bits
//! ```
//!
//! `key` is the seed of the run. Host and device compute the same words; `crate::bench::pattern` inverts them.
//!
//! # Report of the checking kernels
//!
//! `report` points to 64-bit words, zeroed by the host before the launch:
//!
//! ```text
//! [0] wrong     words that differ from what was expected
//! [1] zero      of those, words that are 0
//! [2] poison    of those, words that equal `poison`
//! [3] first     2^64 - 1 - smallest index of a wrong word (a maximum, so that 0 means none)
//! [4] last      largest index of a wrong word, plus 1; 0 when none
//! [5] recorded  records asked for; those beyond `slots` are dropped
//! [6] status    1: gave up waiting (`pf_consume`, `pf_produce`, `pf_allreduce`)
//! [7] progress  pages or rounds finished
//! [8 + 2n]      index of a wrong word         n < min(recorded, slots); order not defined
//! [9 + 2n]      the word found there
//! ```
//!
//! # Streams
//!
//! `pf_produce` and `pf_consume`, and the two `pf_allreduce` of two GPUs, wait for each other: they are launched
//! on streams of different devices and must make progress at the same time. A stand-in needs a thread per
//! stream. All other kernels may run at the launch or later in stream order.

/// PTX of the kernels that need no system-scope order.
pub const PLAIN: &str = concat!(include_str!("ptx/plain.ptx"), "\0");
/// PTX of the kernels that talk across devices while they run.
pub const SYSTEM: &str = concat!(include_str!("ptx/system.ptx"), "\0");
/// Lowest compute capability of [`SYSTEM`], major number.
pub const SYSTEM_MAJOR: i32 = 7;

/// 64-bit words of a report before its records.
pub const REPORT_HEAD: usize = 8;
/// Records a report has room for.
pub const REPORT_SLOTS: usize = 1024;

/// One kernel: its module, name, and parameters for the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Entry point.
    pub name: &'static str,
    /// It is in [`SYSTEM`], not in [`PLAIN`].
    pub system: bool,
    /// Size in bytes of each parameter, in order.
    pub parameters: &'static [u8],
}

/// `pf_fill(dst: u64, words: u64, key: u64, header: u64, base: u32)`
///
/// `dst[i] = word(i)` for `i < words`. Grid-stride: any grid and block size is right.
pub const FILL: Kernel = Kernel { name: "pf_fill", system: false, parameters: &[8, 8, 8, 8, 4] };

/// `pf_poison(dst: u64, words: u64, value: u64)`
///
/// `dst[i] = value` for `i < words`. Grid-stride.
pub const POISON: Kernel = Kernel { name: "pf_poison", system: false, parameters: &[8, 8, 8] };

/// `pf_verify(src: u64, words: u64, key: u64, header: u64, base: u32, poison: u64, report: u64, slots: u32)`
///
/// Compares `src[i]` with `word(i)` for `i < words`, loads not cached in L1, and fills `report` (indices are
/// `i`, without `base`). Grid-stride. Runs on the owner of the memory, and for diagnosis on a peer.
pub const VERIFY: Kernel = Kernel { name: "pf_verify", system: false, parameters: &[8, 8, 8, 8, 4, 8, 8, 4] };

/// `pf_copy(dst: u64, src: u64, vectors: u64, rounds: u32)`
///
/// Copies `vectors` units of 16 bytes by the SMs, `rounds` times over, independent loads in flight in every thread.
/// Grid-stride; a round does not wait for the other blocks, so that the link stays busy from the first to the last.
/// On the destination's GPU it is the SM read arm, on the source's the SM write arm.
pub const COPY: Kernel = Kernel { name: "pf_copy", system: false, parameters: &[8, 8, 8, 4] };

/// `pf_chase(start: u64, hops: u32, out: u64)`
///
/// One thread: `p = start; hops times: p = *(u64*)p` (each load depends on the one before, none cached in L1), then
/// `out[0] = p`, `out[1]` = SM cycles, `out[2]` = nanoseconds of the global timer. The chain of addresses
/// is written by the host. Launched as 1 x 1.
pub const CHASE: Kernel = Kernel { name: "pf_chase", system: false, parameters: &[8, 4, 8] };

/// `pf_gate(flag: u64, limit_ns: u64)`
///
/// One thread: returns when the 32-bit word at `flag` is not 0, or after `limit_ns` of the global timer, or with
/// `flag` 0 after `limit_ns` alone. It only holds a stream back or keeps a GPU awake: a stand-in may return at once.
pub const GATE: Kernel = Kernel { name: "pf_gate", system: false, parameters: &[8, 8] };

/// `pf_produce(dst: u64, flag: u64, ack: u64, pages: u32, ring: u32, page_words: u32, key: u64, header: u64,
/// report: u64, limit_ns: u64)`
///
/// One block on the source's GPU. For page `p` in `0..pages`: wait until the 32-bit word at `ack` (pinned host
/// memory) plus `ring` is greater than `p`; store `word(i)` with `header | ((p & 0xfff) << 32)` and `base` 0 at
/// `dst[(p % ring) * page_words + i]` for `i < page_words` (the destination is the peer's memory); make the stores visible
/// to the system; store `p + 1` with release at the 32-bit word `flag` in the peer's memory; `report[7] = p + 1`.
/// After `limit_ns` in one wait: `report[6] = 1`, return. `header` comes with iteration 0.
pub const PRODUCE: Kernel =
    Kernel { name: "pf_produce", system: true, parameters: &[8, 8, 8, 4, 4, 4, 8, 8, 8, 8] };

/// `pf_consume(src: u64, flag: u64, ack: u64, pages: u32, ring: u32, page_words: u32, key: u64, header: u64,
/// poison: u64, report: u64, slots: u32, limit_ns: u64)`
///
/// One block on the owner of `src`, resident while the producer still writes. For page `p`: wait until the 32-bit word at `flag`
/// (own memory, load with acquire) is greater than `p`; compare `src[(p % ring) * page_words + i]` with the
/// producer's word and fill `report` (index `p * page_words + i`); store `p + 1` at `ack` with release;
/// `report[7] = p + 1`. After `limit_ns` in one wait: `report[6] = 1`, return.
pub const CONSUME: Kernel =
    Kernel { name: "pf_consume", system: true, parameters: &[8, 8, 8, 4, 4, 4, 8, 8, 8, 8, 4, 8] };

/// `pf_allreduce(mine: u64, theirs: u64, my_flags: u64, their_flags: u64, out: u64, vectors: u32, rounds: u32,
/// first: u32, rank: u32, seed: u32, report: u64, limit_ns: u64)`
///
/// One rank of a one-shot all-reduce of two GPUs, `vectors` units of four 32-bit words, `rounds` times in
/// one launch, same grid on both ranks. `mine` and `theirs` hold two slots of `vectors` units each. In round `r`
/// (from 0) with `n = first + r`, element `e` (32-bit, `e < 4 * vectors`), slot `n & 1`, `%` the block's index:
///
/// ```text
/// value(e, n, rank) = (e * 0x9E3779B1 ^ n * 0x85EBCA6B ^ seed) + rank * 0xC2B2AE35   (modulo 2^32)
/// mine[slot][e] = value(e, n, rank)             own memory, the block's share of the elements
/// their_flags[% * 32] = n + 1                   32-bit, peer's memory, release, system scope
/// wait until my_flags[% * 32] >= n + 1          acquire, system scope (as unsigned)
/// sum = mine[slot][e] + theirs[slot][e]         own value from the register, peer's loaded over the link
/// out[e] = sum; wrong when sum != value(e, n, 0) + value(e, n, 1)
/// ```
///
/// A block's share of the vectors is grid-stride, so the same block of the peer wrote what it reads. `report[0]` counts wrong
/// elements, `[3]` and `[4]` as above in elements, `[6]` 1 after `limit_ns` in one wait (then the block returns),
/// `[7]` rounds that block 0 finished. Nothing is recorded.
pub const ALLREDUCE: Kernel =
    Kernel { name: "pf_allreduce", system: true, parameters: &[8, 8, 8, 8, 8, 4, 4, 4, 4, 4, 8, 8] };

/// All kernels.
pub const ALL: [Kernel; 9] = [FILL, POISON, VERIFY, COPY, CHASE, GATE, PRODUCE, CONSUME, ALLREDUCE];

/// Symbols of `libcuda.so.1` that are bound when the library is opened; one that is missing is an error that names it.
///
/// Driver API versions from 10.1 (R418) on have them all.
pub const SYMBOLS: [&str; 40] = [
    "cuInit",
    "cuDriverGetVersion",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceGetUuid",
    "cuDeviceTotalMem_v2",
    "cuDeviceGetAttribute",
    "cuDeviceGetPCIBusId",
    "cuDeviceCanAccessPeer",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuCtxEnablePeerAccess",
    "cuCtxDisablePeerAccess",
    "cuMemGetInfo_v2",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemHostAlloc",
    "cuMemFreeHost",
    "cuMemHostGetDevicePointer_v2",
    "cuMemcpyPeerAsync",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuEventElapsedTime",
    "cuModuleLoadDataEx",
    "cuModuleGetFunction",
    "cuLaunchKernel",
];
