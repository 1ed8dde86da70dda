//! The PTX does what `src/gpu/kernels.rs` says of it: interpreted here, and beside it the fake driver's host code.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
use common::fakes::in_child;
use common::ptx::{Launch, Memory, run};
use peerfix::bench::pattern::{POISON, Pattern};
use peerfix::gpu::cuda::{Arg, Buffer, Context, Cuda, Grid, HostBuffer, Kernels, Stream};
use peerfix::gpu::kernels::{self, Kernel, PLAIN, SYSTEM};

const PATTERN: Pattern = Pattern { key: 0x0f1e_2d3c_4b5a_6978, tag: 0x21, iteration: 0 };
const SLOTS: usize = 16;
const LIMIT: u64 = 10_000_000_000;
/// Addresses of the segments, apart from each other.
const AT: [u64; 6] = [0x1_0000, 0x10_0000, 0x20_0000, 0x30_0000, 0x40_0000, 0x50_0000];

fn words(base: u32, count: u32) -> Vec<u64> {
    (base..base + count).map(|i| PATTERN.word(i)).collect()
}

fn interpret(memory: &mut Memory, kernel: Kernel, grid: (u32, u32), parameters: &[u64]) {
    let ptx = if kernel.system { SYSTEM } else { PLAIN };
    run(memory, &[Launch { ptx, name: kernel.name, grid, parameters }]);
}

/// A report with `found` records sorted: the order is not defined.
fn sorted(report: &[u64]) -> Vec<u64> {
    let (head, records) = report.split_at(kernels::REPORT_HEAD);
    let mut records: Vec<_> = records.chunks(2).filter(|r| r[1] != 0).collect();
    records.sort_unstable();
    head.iter().copied().chain(records.concat()).collect()
}

#[test]
fn fill_writes_the_pattern_whatever_the_grid() {
    for grid in [(1, 1), (3, 5), (2, 64)] {
        let mut memory = Memory::default();
        memory.add(AT[0], &[7; 100]);
        let parameters = [AT[0], 97, PATTERN.key, PATTERN.header(), 1000];
        interpret(&mut memory, kernels::FILL, grid, &parameters);
        let mut expected = words(1000, 97);
        expected.extend([7; 3]);
        assert_eq!(memory.words(AT[0]), expected, "{grid:?}");
    }
}

#[test]
fn poison_fills_and_copy_copies() {
    let mut memory = Memory::default();
    memory.add(AT[0], &words(0, 64));
    memory.add(AT[1], &[0; 64]);
    interpret(&mut memory, kernels::POISON, (2, 3), &[AT[1], 64, POISON]);
    assert_eq!(memory.words(AT[1]), [POISON; 64]);
    for (vectors, grid, rounds) in [(29, (1, 2), 1), (1, (2, 8), 2), (31, (2, 4), 3)] {
        memory.add(AT[1], &[POISON; 64]);
        interpret(&mut memory, kernels::COPY, grid, &[AT[1], AT[0], vectors, rounds]);
        let n = usize::try_from(vectors).unwrap() * 2;
        assert_eq!(memory.words(AT[1])[..n], words(0, 64)[..n], "{vectors} {grid:?}");
        assert!(memory.words(AT[1])[n..].iter().all(|w| *w == POISON), "{vectors} {grid:?}");
    }
    for (vectors, rounds) in [(29, 0), (0, 3)] {
        memory.add(AT[1], &[POISON; 64]);
        interpret(&mut memory, kernels::COPY, (1, 2), &[AT[1], AT[0], vectors, rounds]);
        assert_eq!(memory.words(AT[1]), [POISON; 64], "{vectors} {rounds}");
    }
}

#[test]
fn chase_follows_the_chain() {
    let mut memory = Memory::default();
    let chain: Vec<u64> = (0..16).map(|i| AT[0] + (i * 5 + 3) % 16 * 8).collect();
    memory.add(AT[0], &chain);
    memory.add(AT[1], &[0; 3]);
    interpret(&mut memory, kernels::CHASE, (1, 1), &[AT[0], 11, AT[1]]);
    let end = (0..11).fold(AT[0], |p, _| chain[usize::try_from((p - AT[0]) / 8).unwrap()]);
    assert_eq!(memory.words(AT[1])[0], end);
}

/// Buffers of the fake driver, on GPU 0.
struct Fake {
    context: Context,
    stream: Stream,
    kernels: Kernels,
}

impl Fake {
    fn new() -> Self {
        let context = Context::retain(&Cuda::open().unwrap().devices().unwrap()[0]).unwrap();
        let stream = Stream::new(&context).unwrap();
        let kernels = Kernels::load(&context).unwrap();
        Self { context, stream, kernels }
    }

    fn buffer(&self, words: &[u64]) -> Buffer {
        let bytes = words.len() as u64 * 8;
        let mut host = HostBuffer::new(&self.context, bytes).unwrap();
        host.put(0, words);
        let buffer = Buffer::new(&self.context, bytes).unwrap();
        self.stream.copy_to_device(&buffer, 0, &host, 0, bytes).unwrap();
        self.stream.synchronize().unwrap();
        buffer
    }

    fn words(&self, buffer: &Buffer) -> Vec<u64> {
        let host = HostBuffer::new(&self.context, buffer.bytes()).unwrap();
        self.stream.copy_to_host(&host, 0, buffer, 0, buffer.bytes()).unwrap();
        self.stream.synchronize().unwrap();
        host.get(0, usize::try_from(buffer.bytes() / 8).unwrap())
    }
}

#[test]
fn verify_reports_every_kind_of_wrong_word() {
    in_child("verify_reports_every_kind_of_wrong_word", "", || {
        let mut found = words(50, 200);
        for (index, word) in [(3, 0), (77, POISON), (78, POISON), (150, 99), (199, 0)] {
            found[index] = word;
        }
        let mut memory = Memory::default();
        memory.add(AT[0], &found);
        memory.add(AT[1], &[0; kernels::REPORT_HEAD + 2 * SLOTS]);
        let of = |src: u64, report: u64| {
            [src, 200, PATTERN.key, PATTERN.header(), 50, POISON, report, SLOTS as u64]
        };
        interpret(&mut memory, kernels::VERIFY, (2, 32), &of(AT[0], AT[1]));
        let report = sorted(&memory.words(AT[1]));
        assert_eq!(report[..8], [5, 2, 2, u64::MAX - 3, 200, 5, 0, 0]);

        let fake = Fake::new();
        let (src, at) = (fake.buffer(&found), fake.buffer(&[0; kernels::REPORT_HEAD + 2 * SLOTS]));
        let args: Vec<Arg> = of(src.address(), at.address())
            .iter()
            .zip(kernels::VERIFY.parameters)
            .map(
                |(value, bytes)| {
                    if *bytes == 4 { Arg::U32(u32::try_from(*value).unwrap()) } else { Arg::U64(*value) }
                },
            )
            .collect();
        fake.kernels.launch(&fake.stream, kernels::VERIFY, Grid { blocks: 2, threads: 32 }, &args).unwrap();
        assert_eq!(sorted(&fake.words(&at)), report, "the host code differs");
    });
}

/// Producer and consumer at the same time; the report of the consumer. `spoil` changes the ring's memory first.
fn resident(pages: u64, ring: u64, page_words: u64) -> (Vec<u64>, Vec<u64>, Memory) {
    let mut memory = Memory::default();
    let size = usize::try_from(ring * page_words).unwrap();
    memory.add(AT[0], &vec![POISON; size]);
    for at in [AT[1], AT[2]] {
        memory.add(at, &[0]);
    }
    for at in [AT[3], AT[4]] {
        memory.add(at, &[0; kernels::REPORT_HEAD + 2 * SLOTS]);
    }
    let shared = [AT[0], AT[1], AT[2], pages, ring, page_words, PATTERN.key, PATTERN.header()];
    let produce = [&shared[..], &[AT[3], LIMIT]].concat();
    let consume = [&shared[..], &[POISON, AT[4], SLOTS as u64, LIMIT]].concat();
    let grid = (1, 8);
    run(
        &mut memory,
        &[
            Launch { ptx: SYSTEM, name: kernels::CONSUME.name, grid, parameters: &consume },
            Launch { ptx: SYSTEM, name: kernels::PRODUCE.name, grid, parameters: &produce },
        ],
    );
    (memory.words(AT[3]), memory.words(AT[4]), memory)
}

#[test]
fn producer_and_consumer_go_hand_in_hand() {
    for (pages, ring) in [(1, 1), (9, 1), (12, 4)] {
        let (made, used, memory) = resident(pages, ring, 20);
        assert_eq!((made[6], made[7], used[0], used[6], used[7]), (0, pages, 0, 0, pages), "{pages} {ring}");
        let last = Pattern { iteration: u16::try_from(pages - 1).unwrap(), ..PATTERN };
        let slot = usize::try_from((pages - 1) % ring * 20).unwrap();
        let expected: Vec<u64> = (0..20).map(|i| last.word(i)).collect();
        assert_eq!(memory.words(AT[0])[slot..slot + 20], expected);
        assert_eq!(memory.words(AT[2])[0], pages, "the last acknowledgement");
    }
}

#[test]
fn who_waits_in_vain_gives_up() {
    let mut memory = Memory::default();
    memory.add(AT[0], &[0; 64]);
    for at in [AT[1], AT[2]] {
        memory.add(at, &[0]);
    }
    memory.add(AT[3], &[0; kernels::REPORT_HEAD]);
    let head = [AT[0], AT[1], AT[2], 3, 1, 8, PATTERN.key, PATTERN.header()];
    let consume = [&head[..], &[POISON, AT[3], 0, 5_000]].concat();
    interpret(&mut memory, kernels::CONSUME, (1, 4), &consume);
    assert_eq!(memory.words(AT[3])[6..], [1, 0]);
    memory.add(AT[3], &[0; kernels::REPORT_HEAD]);
    let produce = [&head[..], &[AT[3], 5_000]].concat();
    interpret(&mut memory, kernels::PRODUCE, (1, 4), &produce);
    assert_eq!(memory.words(AT[3])[6..], [1, 1], "one page fits the ring, the second waits");
    interpret(&mut memory, kernels::GATE, (1, 1), &[AT[2], 1_000]);
    interpret(&mut memory, kernels::GATE, (1, 1), &[0, 1_000]);
}

#[test]
fn two_ranks_sum_what_the_words_say() {
    let (vectors, rounds, first, seed, blocks) = (10_u32, 5_u32, 3_u32, 77_u32, 2);
    let value = |e: u32, n: u32, rank: u32| {
        (e.wrapping_mul(0x9E37_79B1) ^ n.wrapping_mul(0x85EB_CA6B) ^ seed)
            .wrapping_add(rank.wrapping_mul(0xC2B2_AE35))
    };
    let mut memory = Memory::default();
    let at = |rank: usize, what: u64| 0x100_0000 * (rank as u64 + 1) + what * 0x1_0000;
    for rank in [0, 1] {
        memory.add(at(rank, 0), &[0; 64]);
        memory.add(at(rank, 1), &[0; 64]);
        memory.add(at(rank, 2), &[0; 64]);
        memory.add(at(rank, 3), &[0; kernels::REPORT_HEAD]);
    }
    let parameters = [0, 1].map(|rank: usize| {
        let other = 1 - rank;
        let [vectors, rounds, first, seed] = [vectors, rounds, first, seed].map(u64::from);
        let places = [at(rank, 0), at(other, 0), at(rank, 1), at(other, 1), at(rank, 2)];
        [&places[..], &[vectors, rounds, first, rank as u64, seed, at(rank, 3), LIMIT]].concat()
    });
    let launch = |rank: usize| Launch {
        ptx: SYSTEM,
        name: kernels::ALLREDUCE.name,
        grid: (blocks, 4),
        parameters: &parameters[rank],
    };
    run(&mut memory, &[launch(0), launch(1)]);
    for rank in [0, 1] {
        let report = memory.words(at(rank, 3));
        assert_eq!((report[0], report[6], report[7]), (0, 0, u64::from(rounds)));
        let n = first + rounds - 1;
        let sums: Vec<u64> = (0..vectors * 2)
            .map(|e| {
                let sum = |e: u32| u64::from(value(e, n, 0).wrapping_add(value(e, n, 1)));
                sum(2 * e) | sum(2 * e + 1) << 32
            })
            .collect();
        assert_eq!(memory.words(at(rank, 2))[..sums.len()], sums);
    }
}
