//! One run of the benchmark, from start-up to the finished record.

use super::arrival::devices;
use super::assemble;
use super::child::Worker;
use super::choose::{Refusal, choose, users};
use super::counters::Counters;
use super::drives;
use super::protocol::{Job, JobGpu};
use super::record::{Backend, MAJOR, MINOR, Outcome, Record, SCHEMA, Version};
use super::schedule;
use super::state;
use super::supervise::{Supervisor, Told};
use super::view::View;
use crate::format::sealed;
use crate::host::Host;
use crate::root::Root;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

/// Pause between two looks at busy GPUs.
const BUSY_PAUSE: Duration = Duration::from_secs(2);

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What to measure; none for GPUs, and drives where there are no GPUs.
    pub backend: Option<Backend>,
    /// GPUs by number or BDF; all when empty.
    pub gpus: Vec<String>,
    /// Fewer and smaller samples.
    pub quick: bool,
    /// Seconds for the measurements; none without limit.
    pub budget_s: Option<f64>,
    /// Wait until the GPUs are free.
    pub wait: bool,
    /// Leave out the variables of this process that steer transfers, so that records taken from a shell and from a
    /// boot unit compare.
    pub bare: bool,
}

/// Measures. `progress` is told what happens.
///
/// Unless told otherwise measures GPUs. On a host without two of them that has drives which can read into memory of
/// another device, those are measured, and a note of the record says so.
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Record, Refusal> {
    match options.backend {
        Some(Backend::P2pmem) => drives::run(options, progress),
        Some(Backend::Cuda) => gpus(options, progress),
        None => match gpus(options, progress) {
            Err(Refusal::Unsupported(why)) if options.gpus.is_empty() => {
                drives::instead(options, &why, progress)
            }
            other => other,
        },
    }
}

/// Measures GPUs.
fn gpus(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Record, Refusal> {
    let began = Instant::now();
    let started = jiff::Timestamp::now();
    let seed = RandomState::new().hash_one(started.as_nanosecond());
    let reader = std::thread::spawn(|| {
        let began = Instant::now();
        let root = Root::live();
        (Host::read(&root, &root), began.elapsed().as_secs_f64())
    });
    let viewer = std::thread::spawn(View::take);
    let worker = Worker::start(Backend::Cuda, options.bare)
        .map_err(|error| Refusal::Unsupported(format!("no worker could be started: {error}")))?;
    let (api, listed) = match devices(&worker) {
        Ok(up) => up,
        Err(refusal) => {
            let _ = worker.kill();
            return Err(refusal);
        }
    };
    let mut view = viewer.join().unwrap_or_default();
    let mut notes = Vec::new();
    if let Some(why) = &view.refusal {
        notes.push(format!("NVML cannot be used ({why}): who uses the GPUs and their links are not known"));
    }
    let chosen = match choose(&listed, &options.gpus, &view, &mut notes)
        .and_then(|chosen| free(chosen, options.wait, &mut view, &mut notes, progress))
    {
        Ok(chosen) => chosen,
        Err(refusal) => {
            let _ = worker.kill();
            return Err(refusal);
        }
    };
    let (host, host_seconds) = reader.join().unwrap_or_default();
    let gpus: Vec<JobGpu> = chosen.iter().map(|device| job_gpu(&device.bdf, &host)).collect();
    let names: Vec<String> = gpus.iter().map(|gpu| gpu.bdf.clone()).collect();
    let paths: Vec<String> = gpus.iter().flat_map(|gpu| gpu.path.clone()).collect();
    let job = Job {
        quick: options.quick,
        seed,
        budget_s: options.budget_s.unwrap_or(0.0),
        gpus,
        tasks: schedule::tasks(chosen.len(), options.quick),
        ..Job::default()
    };
    let told = Told { api: Some(api), ..Told::default() };
    let counters = Counters::open(&names, &paths, None);
    let mut supervisor = Supervisor { backend: Backend::Cuda, told, counters, bare: options.bare, progress };
    supervisor.run(worker, job);
    let mut told = supervisor.told;
    told.phases.insert("host state, at the same time".to_owned(), host_seconds);
    notes.append(&mut told.notes);
    notes.extend(told.lost.clone());
    let salt = state::salt(&Root::live());
    let mut record = Record {
        schema: SCHEMA.to_owned(),
        version: Version { major: MAJOR, minor: MINOR },
        program: env!("CARGO_PKG_VERSION").to_owned(),
        id: format!("{}-{:08x}", started.strftime("%Y%m%dT%H%M%SZ"), seed >> 32),
        started: started.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        mode: if options.quick { "quick" } else { "full" }.to_owned(),
        budget_s: options.budget_s.unwrap_or(0.0),
        seed,
        state: state::host_state(&host, told.api, &view, options.bare),
        gpus: chosen.iter().map(|device| state::gpu_state(device, &host, &view, &salt)).collect(),
        pairs: assemble::pairs(&chosen, &mut told, &view),
        fabric: told
            .arms
            .iter()
            .filter(|(from, _, _)| from.is_empty())
            .map(|(_, _, arm)| arm.clone())
            .collect(),
        phases: told.phases,
        method: told.method,
        notes,
        ..Record::default()
    };
    shares(&mut record, &told.ways);
    finish(&mut record, began);
    Ok(record)
}

/// The last touches: how long it took, figures of a sensible length, the hash.
pub(super) fn finish(record: &mut Record, began: Instant) {
    record.seconds = began.elapsed().as_secs_f64();
    round(record);
    seal(record);
}

/// Waits for free GPUs, or refuses.
fn free(
    chosen: Vec<super::protocol::DeviceFacts>,
    wait: bool,
    view: &mut View,
    notes: &mut Vec<String>,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<super::protocol::DeviceFacts>, Refusal> {
    loop {
        let mut found = Vec::new();
        match users(&chosen, view, &mut found) {
            None => {
                notes.append(&mut found);
                return Ok(chosen);
            }
            Some(busy) if wait => {
                progress(&format!("waiting: {busy}"));
                std::thread::sleep(BUSY_PAUSE);
                *view = View::take();
            }
            Some(busy) => {
                return Err(Refusal::Busy(format!("{busy}; end them, or wait for them with --wait")));
            }
        }
    }
}

/// The functions from the root port to the GPU, as far as the host shows them.
fn job_gpu(bdf: &str, host: &Host) -> JobGpu {
    let mut path: Vec<String> =
        host.gpus.iter().find(|gpu| gpu.bdf == bdf).map(|gpu| gpu.upstream.clone()).unwrap_or_default();
    path.push(bdf.to_owned());
    JobGpu { bdf: bdf.to_owned(), path }
}

/// Arms over several pairs as a share of the sum of what the directions that took part reach alone; 0 where one of
/// those was not measured.
fn shares(record: &mut Record, ways: &BTreeMap<String, Vec<(String, String)>>) {
    let alone = |(from, to): &(String, String)| {
        let pair = record.pairs.iter().find(|pair| pair.from == *from && pair.to == *to)?;
        // Of the many pairs of a large host most are timed only in rounds of disjoint ones.
        let of = |name: &str| pair.arms.iter().find(|arm| arm.name == name && arm.median > 0.0);
        of("ce-write").or_else(|| of("round-ce-write")).map(|arm| arm.median)
    };
    for arm in &mut record.fabric {
        let sum: Option<f64> = ways.get(&arm.name).and_then(|ways| ways.iter().map(alone).sum());
        if let Some(sum) = sum.filter(|sum| *sum > 0.0) {
            arm.share = arm.median / sum;
        }
    }
}

/// Cuts figures to a millionth: digits beyond that mean nothing, and shorter numbers survive every JSON reader.
fn round(record: &mut Record) {
    let cut = |value: &mut f64| *value = (*value * 1e6).round() / 1e6;
    cut(&mut record.seconds);
    record.phases.values_mut().for_each(cut);
    let pairs = record.pairs.iter_mut().flat_map(|pair| {
        cut(&mut pair.ceiling_gb_s);
        pair.arms.iter_mut()
    });
    for arm in pairs.chain(&mut record.fabric) {
        arm.samples.iter_mut().for_each(cut);
        cut(&mut arm.median);
        arm.interval.iter_mut().for_each(cut);
        cut(&mut arm.share);
    }
}

/// Sets the hash, which [`crate::format::sealed`] describes.
pub fn seal(record: &mut Record) {
    record.hash = digest(record);
}

/// The hash that a record ought to have.
pub fn digest(record: &Record) -> String {
    let mut open = record.clone();
    open.hash.clear();
    sealed::digest(&serde_json::to_vec_pretty(&open).unwrap_or_default())
}

/// What a record says in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// All that was measured is right.
    Right,
    /// No pair could transfer: the driver, or the kernel, grants none.
    NoPair,
    /// Wrong data, a hang or a crash.
    Wrong,
    /// Nothing was measured: the devices could not be made ready (the notes say why).
    NotBegun,
}

/// Judges a record for the exit code.
pub fn finding(record: &Record) -> Finding {
    let arms = || record.pairs.iter().flat_map(|pair| &pair.arms).chain(&record.fabric);
    if arms().any(troubled) {
        return Finding::Wrong;
    }
    if arms().next().is_none() {
        return Finding::NotBegun;
    }
    let usable = arms().any(|arm| arm.name == "first-page" && arm.outcome == Outcome::Measured);
    if usable { Finding::Right } else { Finding::NoPair }
}

/// Wrong data, a hang, a crash, a failed call or a fault.
fn troubled(arm: &super::record::Arm) -> bool {
    matches!(arm.outcome, Outcome::Corrupt | Outcome::Hang | Outcome::Crash | Outcome::Failed)
        || super::counters::faulted(&arm.deltas).is_some()
}
