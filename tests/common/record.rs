//! Builds benchmark records: a host with GPUs, arms with noise of a chosen kind. Deterministic by seed.

#![allow(clippy::cast_precision_loss)]

use peerfix::bench::record::{
    Arm, DataError, Deltas, GpuState, LinkSample, Outcome, PairRecord, Record, State, Version,
};
use std::f64::consts::TAU;

/// A small generator (splitmix64): the same seed gives the same records everywhere.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// Uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        f64::from(u32::try_from((z ^ (z >> 31)) >> 32).unwrap()) / 4_294_967_296.0
    }

    /// Standard normal.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (TAU * self.uniform()).cos()
    }
}

/// Noise of samples, in shares of the true value.
#[derive(Clone, Copy, Debug, Default)]
pub struct Noise {
    /// Standard deviation of samples.
    pub sigma: f64,
    /// Loss of speed from the first sample to the last one.
    pub drift: f64,
    /// Chance of a stray sample.
    pub strays: f64,
    /// How much slower stray samples are.
    pub stray: f64,
    /// Chance of the second mode.
    pub mode_chance: f64,
    /// How much slower the second mode is.
    pub mode: f64,
    /// Standard deviation of what one record is off by, all arms together.
    pub record: f64,
}

/// Samples of one arm.
pub fn samples(random: &mut Random, value: f64, n: usize, latency: bool, noise: Noise) -> Vec<f64> {
    let mut all = Vec::new();
    for i in 0..n {
        let at = i as f64 / n.max(2) as f64;
        let mut time = 1.0 + noise.drift * at + noise.sigma * random.normal();
        if random.uniform() < noise.strays {
            time *= 1.0 + noise.stray;
        }
        if random.uniform() < noise.mode_chance {
            time *= 1.0 + noise.mode;
        }
        all.push(if latency { value * time } else { value / time });
    }
    all
}

/// Arms of a pair: name, unit, bytes, true value.
pub const ARMS: [(&str, &str, u64, f64); 22] = [
    ("ce-read", "GB/s", 1 << 28, 394.1),
    ("ce-write", "GB/s", 1 << 28, 396.4),
    ("sm-read", "GB/s", 1 << 28, 376.2),
    ("sm-write", "GB/s", 1 << 28, 369.9),
    ("bidirectional", "GB/s", 1 << 28, 778.7),
    ("staged", "GB/s", 1 << 28, 27.2),
    ("staged-double", "GB/s", 1 << 28, 52.8),
    ("driver-staged", "GB/s", 1 << 28, 37.1),
    ("self", "GB/s", 1 << 28, 2093.0),
    ("latency-load", "ns", 4, 828.0),
    ("latency-copy-4", "us", 4, 6.1),
    ("latency-copy-1024", "us", 1024, 6.2),
    ("latency-copy-4096", "us", 4096, 6.3),
    ("latency-copy-16384", "us", 16384, 6.6),
    ("latency-copy-65536", "us", 65536, 7.2),
    ("latency-copy-262144", "us", 262_144, 9.4),
    ("latency-copy-1048576", "us", 1 << 20, 14.8),
    ("latency-loop-2048x32", "us", 65536, 4100.0),
    ("allreduce-256", "us", 256, 9.1),
    ("allreduce-16384", "us", 16384, 9.9),
    ("allreduce-262144", "us", 262_144, 12.6),
    ("first-page", "us", 4096, 30.0),
];

/// Names of the GPUs, by number.
pub fn bdf(gpu: usize) -> String {
    format!("0000:{:02x}:00.0", 0x20 + gpu)
}

/// A measured arm of these samples.
pub fn arm(name: &str, unit: &str, bytes: u64, samples: &[f64]) -> Arm {
    let quiet = Deltas {
        iommu_faults: Some(0),
        aer_correctable: Some(0),
        aer_uncorrectable: Some(0),
        xids: Some(Vec::new()),
        replays: Some(0),
    };
    Arm {
        name: name.to_owned(),
        outcome: Outcome::Measured,
        unit: unit.to_owned(),
        bytes,
        samples: samples.to_vec(),
        words_checked: bytes / 4,
        deltas: quiet,
        ..Arm::default()
    }
}

/// How many samples each kind of arm gets.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// Throughput.
    pub bulk: usize,
    /// Latency.
    pub latency: usize,
}

/// A full run.
pub const FULL: Counts = Counts { bulk: 9, latency: 15 };
/// A quick run.
pub const QUICK: Counts = Counts { bulk: 5, latency: 5 };

/// A record of `gpus` GPUs, every ordered pair, with `bulk` noise on throughput and `latency` noise on times.
pub fn record(seed: u64, gpus: usize, counts: Counts, bulk: Noise, latency: Noise) -> Record {
    let mut random = Random(seed);
    let off = [bulk.record * random.normal(), latency.record * random.normal()];
    let mut pairs = Vec::new();
    for (from, to) in (0..gpus).flat_map(|a| (0..gpus).map(move |b| (a, b))).filter(|(a, b)| a != b) {
        let mut arms = Vec::new();
        for (name, unit, bytes, value) in ARMS {
            let is_latency = unit != "GB/s";
            let (noise, off, n) =
                if is_latency { (latency, off[1], counts.latency) } else { (bulk, off[0], counts.bulk) };
            let n = if name == "first-page" { 1 } else { n };
            arms.push(arm(
                name,
                unit,
                bytes,
                &samples(&mut random, value * (1.0 + off), n, is_latency, noise),
            ));
        }
        pairs.push(PairRecord {
            from: bdf(from),
            to: bdf(to),
            route: "PHB".to_owned(),
            granted: Some(true),
            p2p_read: "ok".to_owned(),
            p2p_write: "ok".to_owned(),
            ceiling_gb_s: 478.0,
            arms,
        });
    }
    Record {
        schema: "peerfix/record".to_owned(),
        version: Version { major: 1, minor: 0 },
        program: "0.1.0".to_owned(),
        id: format!("20300102T030405Z-{seed:08x}"),
        started: "2030-01-02T03:04:05Z".to_owned(),
        mode: if counts.bulk == QUICK.bulk { "quick" } else { "full" }.to_owned(),
        seed,
        method: vec!["buffers before peer access".to_owned()],
        state: state(),
        gpus: (0..gpus).map(gpu).collect(),
        pairs,
        ..Record::default()
    }
}

/// A record with almost no noise, two GPUs, full.
pub fn calm(seed: u64) -> Record {
    let noise = Noise { sigma: 0.003, ..Noise::default() };
    record(seed, 2, FULL, noise, noise)
}

fn state() -> State {
    let text = |text: &str| Some(text.to_owned());
    State {
        kernel: text("6.12.3"),
        cmdline: text("BOOT_IMAGE=/vmlinuz-6.12.3 root=... quiet"),
        boot_id: text("5e1f"),
        cpu: text("Example CPU 9"),
        firmware: text("Example Board 1.2"),
        hypervisor: None,
        driver: text("570.10.01"),
        api: Some(12080),
        ..State::default()
    }
}

fn gpu(at: usize) -> GpuState {
    GpuState {
        bdf: bdf(at),
        uuid_hash: format!("hash-{at}"),
        name: "Example GPU".to_owned(),
        capability: "9.0".to_owned(),
        memory: 1 << 37,
        bar1: Some(1 << 37),
        domain_type: Some("DMA-FQ".to_owned()),
        link_max: LinkSample { generation: 5, width: 16, pstate: 0 },
        numa_node: Some(0),
        display: Some(false),
        ..GpuState::default()
    }
}

/// The arm `name` of the first pair.
pub fn first<'a>(record: &'a mut Record, name: &str) -> &'a mut Arm {
    record.pairs[0].arms.iter_mut().find(|arm| arm.name == name).unwrap()
}

/// Ends the arm `name` of the first pair this way, without samples.
pub fn ends(mut record: Record, name: &str, outcome: Outcome) -> Record {
    let arm = first(&mut record, name);
    arm.outcome = outcome;
    arm.samples.clear();
    if outcome == Outcome::Corrupt {
        arm.errors = vec![DataError { mechanism: "stale".to_owned(), words: 8, ..DataError::default() }];
    }
    record
}

/// Multiplies the samples of the arm `name` of the first pair.
pub fn scaled(mut record: Record, name: &str, factor: f64) -> Record {
    first(&mut record, name).samples.iter_mut().for_each(|x| *x *= factor);
    record
}
