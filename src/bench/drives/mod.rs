//! Drives that read into memory of another device, through the kernel's own p2pdma: the path of GPUDirect Storage, and a
//! proof of peer transfers on a host without GPUs.
//!
//! The source of a pair is a drive, the destination a device with memory for peers. The peer arm is an unbuffered read,
//! for which the drive's DMA engine writes into the other device; the staged one is the same read into host memory and a
//! copy by the processor. Drives are only ever read: what ought to arrive is read through host memory before.

mod choose;
pub(super) mod state;

use super::arrival::ready;
use super::assemble::{name_one_direction, share};
use super::child::Worker;
use super::choose::Refusal;
use super::counters::Counters;
use super::protocol::{Job, JobDrive};
use super::record::{Backend, MAJOR, MINOR, PairRecord, Record, SCHEMA, Version};
use super::run::{Options, finish};
use super::state::{host_state, salt};
use super::supervise::{Supervisor, Told};
use super::view::View;
use crate::gpu::p2pmem::{Drive, allocation};
use crate::host::Host;
use crate::host::p2pmem::P2pmem;
use crate::root::Root;
use choose::Chosen;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::time::Instant;

/// Names a folder that stands for `/` where devices, drives and the state of the host are looked for; for tests.
pub const ROOT_VARIABLE: &str = "PEERFIX_P2PMEM_ROOT";

/// Where this host is.
pub(super) fn root() -> Root {
    let named = std::env::var_os(ROOT_VARIABLE).and_then(|path| Root::target(Path::new(&path)).ok());
    named.unwrap_or_else(Root::live)
}

/// Measures drives in place of GPUs, which cannot be measured for the reason given. Without drives that is the answer.
pub(super) fn instead(
    options: &Options,
    why: &str,
    progress: &mut dyn FnMut(&str),
) -> Result<Record, Refusal> {
    let any = P2pmem::read(&root()).ways().value().is_some_and(|ways| !ways.is_empty());
    if !any {
        return Err(Refusal::Unsupported(why.to_owned()));
    }
    match run(options, progress) {
        Ok(mut record) => {
            let note = format!("drives were measured in place of GPUs, which cannot be: {why}");
            record.notes.insert(0, note);
            super::run::seal(&mut record);
            Ok(record)
        }
        Err(drives) => Err(Refusal::Unsupported(format!("{why}; nor can drives be measured: {drives}"))),
    }
}

/// Measures drives.
pub(super) fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Record, Refusal> {
    let began = Instant::now();
    let started = jiff::Timestamp::now();
    let seed = RandomState::new().hash_one(started.as_nanosecond());
    let root = root();
    let facts = P2pmem::read(&root);
    let host = Host::read(&root, &root);
    let mut notes = Vec::new();
    let chosen = choose::choose(&facts, &host, &root, options.quick, &mut notes)?;
    chosen.drives.iter().try_for_each(|drive| accessible(&drive.job))?;
    let worker = Worker::start(Backend::P2pmem, options.bare)
        .map_err(|error| Refusal::Unsupported(format!("no worker could be started: {error}")))?;
    if let Err(refusal) = ready(&worker) {
        let _ = worker.kill();
        return Err(refusal);
    }
    let jobs: Vec<JobDrive> = chosen.drives.iter().map(|drive| drive.job.clone()).collect();
    let names: Vec<String> = jobs.iter().map(|drive| drive.bdf.clone()).collect();
    let paths: Vec<String> = jobs.iter().flat_map(|drive| drive.path.clone()).collect();
    let job = Job {
        quick: options.quick,
        seed,
        budget_s: options.budget_s.unwrap_or(0.0),
        drives: jobs,
        tasks: chosen.tasks.clone(),
        ..Job::default()
    };
    let counters = Counters::open(&names, &paths, None);
    let told = Told::default();
    let mut supervisor =
        Supervisor { backend: Backend::P2pmem, told, counters, bare: options.bare, progress };
    supervisor.run(worker, job);
    let mut told = supervisor.told;
    notes.append(&mut told.notes);
    notes.extend(told.lost.clone());
    let salt = salt(&root);
    let mut record = Record {
        schema: SCHEMA.to_owned(),
        version: Version { major: MAJOR, minor: MINOR },
        program: env!("CARGO_PKG_VERSION").to_owned(),
        id: format!("p2pmem-{}-{:08x}", started.strftime("%Y%m%dT%H%M%SZ"), seed >> 32),
        started: started.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        mode: if options.quick { "quick" } else { "full" }.to_owned(),
        budget_s: options.budget_s.unwrap_or(0.0),
        seed,
        backend: Backend::P2pmem,
        state: host_state(&host, None, &View::default(), options.bare),
        gpus: chosen.drives.iter().map(|drive| state::device(drive, &host, &salt)).collect(),
        pairs: pairs(&chosen, &told),
        phases: told.phases,
        method: told.method,
        notes,
        ..Record::default()
    };
    finish(&mut record, began);
    Ok(record)
}

/// Without rights nothing is begun; any other trouble of one device is left to the worker, which measures the others.
fn accessible(drive: &JobDrive) -> Result<(), Refusal> {
    let opened = [
        drive.block.as_ref().map(|path| (path, Drive::open(Path::new(path)).map(drop))),
        drive.allocate.as_ref().map(|path| (path, allocation(Path::new(path)).map(drop))),
    ];
    for (path, result) in opened.into_iter().flatten() {
        if let Err(error) = result
            && error.kind() == std::io::ErrorKind::PermissionDenied
        {
            let why = format!(
                "{path}: {error}: reading a drive into memory of a device needs root: sudo peerfix bench --p2pmem"
            );
            return Err(Refusal::Usage(why));
        }
    }
    Ok(())
}

/// Records of all ordered pairs, in the order of their BDFs.
fn pairs(chosen: &Chosen, told: &Told) -> Vec<PairRecord> {
    let mut records = Vec::new();
    for (from, to) in &chosen.ways {
        let (Some(source), Some(target)) = (chosen.drives.get(*from), chosen.drives.get(*to)) else {
            continue;
        };
        let (from, to) = (&source.job.bdf, &target.job.bdf);
        let arms = told.arms.iter().filter(|(f, t, _)| f == from && t == to).map(|(_, _, arm)| arm.clone());
        let mut record = PairRecord {
            from: from.clone(),
            to: to.clone(),
            route: state::route(source, target),
            granted: told.granted.get(&(from.clone(), to.clone())).copied(),
            ceiling_gb_s: source.carries().min(target.carries()),
            arms: arms.collect(),
            ..PairRecord::default()
        };
        for arm in &mut record.arms {
            arm.share = share(arm, record.ceiling_gb_s, record.ceiling_gb_s);
        }
        records.push(record);
    }
    name_one_direction(&mut records);
    records
}
