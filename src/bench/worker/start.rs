//! Start-up: driver, NVML and `sync` at the same time, then the job, then all GPUs at the same time.

use super::Bench;
use super::session::{Session, Stop, tell};
use crate::bench::arms::latency::chain;
use crate::bench::counters::Counters;
use crate::bench::protocol::{DeviceFacts, Event, Job};
use crate::bench::rig::{Host, Rig, small};
use crate::bench::sampler::Sampler;
use crate::format::hex::hex;
use crate::gpu::LoadError;
use crate::gpu::cuda::{Context, Cuda, CudaError, Device};
use crate::gpu::nvml::Nvml;
use std::sync::Arc;
use std::time::Instant;

/// Bytes of source and target on each GPU.
const BULK: u64 = 256 << 20;
const BULK_QUICK: u64 = 128 << 20;
/// Least that is worth measuring.
const BULK_LEAST: u64 = 16 << 20;

/// Brings everything up; none when the parent has no job or the driver is not there (the parent knows).
pub(super) fn start() -> Result<Option<(Bench, Job)>, Stop> {
    let began = Instant::now();
    let nvml = std::thread::spawn(|| Nvml::open().ok().map(Arc::new));
    let synced = std::thread::spawn(nix::unistd::sync);
    let devices = match Cuda::open().and_then(|cuda| Ok((cuda.version(), cuda.devices()?))) {
        Ok((api, devices)) => {
            tell(&Event::Devices { api, devices: devices.iter().map(facts).collect() })?;
            devices
        }
        Err(error) => {
            let old = matches!(error, CudaError::Load(LoadError::Symbol { .. }));
            tell(&Event::NoDriver { why: error.to_string(), old })?;
            return Ok(None);
        }
    };
    phase("driver", began)?;
    let mut line = String::new();
    if std::io::stdin().read_line(&mut line).is_err() || line.trim().is_empty() {
        return Ok(None);
    }
    let job: Job = serde_json::from_str(&line)
        .map_err(|error| Stop::Broken(format!("the job cannot be read: {error}")))?;
    let chosen: Vec<Device> = job
        .gpus
        .iter()
        .filter_map(|gpu| devices.iter().find(|device| device.bdf == gpu.bdf).cloned())
        .collect();
    if chosen.len() != job.gpus.len() {
        return Err(Stop::Broken("a GPU of the job is gone".to_owned()));
    }
    let nvml = nvml.join().unwrap_or(None);
    let began = Instant::now();
    let contexts = in_parallel(&chosen, Context::retain)?;
    let (bulk, method) = choose_bulk(&contexts, job.quick)?;
    for text in method {
        tell(&Event::Method { text })?;
    }
    phase("contexts", began)?;
    let began = Instant::now();
    let first = contexts.first().cloned();
    let host = std::thread::scope(|scope| {
        let host = scope.spawn(|| first.as_ref().map(Host::new));
        let rigs = in_parallel(&contexts, |context| Rig::new(context, bulk));
        (rigs, host.join().ok().flatten())
    });
    let (rigs, host) = (host.0?, host.1);
    let mut host = host
        .ok_or_else(|| Stop::Broken("no GPU".to_owned()))?
        .map_err(|error| broken("pinned memory of the host", &error))?;
    for rig in &rigs {
        host.staging.put(0, &chain(rig.small.address() + small::CHAIN));
        rig.stream
            .copy_to_device(&rig.small, small::CHAIN, &host.staging, 0, small::CHAIN_BYTES)
            .and_then(|()| rig.stream.synchronize())
            .map_err(|error| broken(&rig.bdf, &error))?;
    }
    phase("buffers", began)?;
    let indices = indices(nvml.as_deref(), &job);
    let gpus: Vec<String> = job.gpus.iter().map(|gpu| gpu.bdf.clone()).collect();
    let mut paths: Vec<String> = job.gpus.iter().flat_map(|gpu| gpu.path.clone()).collect();
    paths.sort();
    paths.dedup();
    let counters = Counters::open(&gpus, &paths, nvml.clone());
    let mut session = Session::new(job.quick, job.seed, counters, Sampler::start(nvml));
    if job.budget_s > 0.0 {
        session.deadline = Some(Instant::now() + std::time::Duration::from_secs_f64(job.budget_s.min(1e6)));
    }
    // Everything that waits to be written is on disk before the first peer transfer.
    let _ = synced.join();
    let down = std::collections::BTreeMap::new();
    Ok(Some((Bench { session, rigs, host, indices, down, rounds: 0 }, job)))
}

fn phase(name: &str, since: Instant) -> Result<(), Stop> {
    tell(&Event::Phase { name: name.to_owned(), seconds: since.elapsed().as_secs_f64() })
}

fn broken(what: &str, error: &CudaError) -> Stop {
    Stop::Broken(format!("{what}: {error}"))
}

fn facts(device: &Device) -> DeviceFacts {
    let uuid = if device.uuid == [0; 16] { String::new() } else { hex(&device.uuid) };
    DeviceFacts {
        bdf: device.bdf.clone(),
        name: device.name.clone(),
        uuid,
        capability: format!("{}.{}", device.capability.0, device.capability.1),
        memory: device.memory,
        integrated: device.integrated,
    }
}

/// The same for every item, each in a thread: starting a GPU takes the driver long.
fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R, CudaError> + Sync,
) -> Result<Vec<R>, Stop> {
    let results = std::thread::scope(|scope| {
        let threads: Vec<_> = items.iter().map(|item| scope.spawn(|| work(item))).collect();
        threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>()
    });
    results
        .into_iter()
        .map(|result| match result {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(broken("starting a GPU", &error)),
            Err(_) => Err(Stop::Broken("starting a GPU: internal error".to_owned())),
        })
        .collect()
}

/// As much as was planned, or what fits into a third of the memory that is free.
fn choose_bulk(contexts: &[Context], quick: bool) -> Result<(u64, Vec<String>), Stop> {
    let wanted = if quick { BULK_QUICK } else { BULK };
    let mut bulk = wanted;
    for context in contexts {
        let (free, _) = context.memory().map_err(|error| broken("memory", &error))?;
        bulk = bulk.min(free / 3 / BULK_LEAST * BULK_LEAST);
        if bulk < BULK_LEAST {
            return Err(Stop::Broken(format!(
                "GPU {} has {} MiB free; {} are needed",
                context.device().bdf,
                free >> 20,
                (3 * BULK_LEAST) >> 20
            )));
        }
    }
    let mut method = vec![format!(
        "each GPU: source and target of {} MiB, 4 MiB of small buffers, one report; host: 64 MiB pinned; all allocated before peer access",
        bulk >> 20
    )];
    if bulk < wanted {
        method.push(format!("buffers are smaller than the usual {} MiB: memory is in use", wanted >> 20));
    }
    Ok((bulk, method))
}

/// NVML counts in bus order, the driver as it likes: by BDF.
fn indices(nvml: Option<&Nvml>, job: &Job) -> Vec<u32> {
    let Some(nvml) = nvml else { return Vec::new() };
    let listed: Vec<(u32, String)> = (0..nvml.count().unwrap_or(0))
        .filter_map(|index| Some((index, nvml.gpu(index).ok()?.bdf().ok()?)))
        .collect();
    job.gpus
        .iter()
        .map(|gpu| listed.iter().find(|(_, bdf)| *bdf == gpu.bdf).map_or(u32::MAX, |(index, _)| *index))
        .collect()
}
