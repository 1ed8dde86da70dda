//! The worker for drives: opens them, takes memory of other devices, runs the tasks in order, tells the parent everything.

mod landed;
mod pair;
mod place;
mod time;
mod transfer;

use super::session::{Session, Stop, tell};
use super::written::Written;
use crate::bench::counters::Counters;
use crate::bench::drives;
use crate::bench::protocol::{Event, Job, JobDrive, Task};
use crate::bench::sampler::Sampler;
use crate::gpu::p2pmem::{Drive, Memory, allocation};
use crate::root::Root;
use nix::errno::Errno;
use place::Places;
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes of the first transfer, and of the small ones.
const PAGE: usize = 4096;

/// A drive by its place in the job, and the device whose memory it reads into.
type Way = (usize, usize);

/// Everything of one worker.
pub(super) struct Storage {
    session: Session,
    root: Root,
    job: Vec<JobDrive>,
    /// In the order of the job, or why they cannot be read.
    drives: Vec<Result<Drive, String>>,
    /// In the order of the job, or why they cannot be written to.
    memories: Vec<Result<Memory, String>>,
    /// What is read from each drive.
    places: Vec<Places>,
    /// What the last verified transfers brought into each memory, the newest first.
    held: Vec<Vec<Vec<u64>>>,
    /// Memory of the host.
    staging: Memory,
    /// Verified transfers into each memory so far: each brings another place than the one before.
    turns: Vec<usize>,
}

/// Runs as a worker: job from standard input, events to standard output.
pub(super) fn work() -> Result<(), Stop> {
    tell(&Event::Ready)?;
    // Most of what waits to be written is on disk by the first peer transfer, which waits for the rest.
    let _ = Written::begin();
    let mut line = String::new();
    if std::io::stdin().read_line(&mut line).is_err() || line.trim().is_empty() {
        return Ok(());
    }
    let job: Job = serde_json::from_str(&line)
        .map_err(|error| Stop::Broken(format!("the job cannot be read: {error}")))?;
    let began = Instant::now();
    let mut storage = Storage::start(&job)?;
    tell(&Event::Phase { name: "buffers".to_owned(), seconds: began.elapsed().as_secs_f64() })?;
    storage.tasks(&job)
}

impl Storage {
    fn start(job: &Job) -> Result<Self, Stop> {
        let mut memories = Vec::new();
        for drive in &job.drives {
            let memory = map(drive);
            if let Ok(memory) = &memory {
                let text = format!("{}: {} KiB of its memory for peers", drive.bdf, memory.words() / 128);
                tell(&Event::Method { text })?;
            }
            memories.push(memory);
        }
        let longest = memories.iter().flatten().map(|memory| memory.words() * 8).max().unwrap_or(PAGE);
        let staging = Memory::host(longest)
            .map_err(|error| Stop::Broken(format!("{longest} bytes of host memory: {error}")))?;
        let text = "drives are read without buffers (O_DIRECT); staged: into host memory, from where the processor \
                    writes word by word (8 bytes) to the device";
        tell(&Event::Method { text: text.to_owned() })?;
        let names: Vec<String> = job.drives.iter().map(|drive| drive.bdf.clone()).collect();
        let mut paths: Vec<String> = job.drives.iter().flat_map(|drive| drive.path.clone()).collect();
        paths.sort();
        paths.dedup();
        let counters = Counters::open(&names, &paths, None);
        let mut session = Session::new(job.quick, job.seed, counters, Sampler::start(None));
        if job.budget_s > 0.0 {
            session.deadline = Some(Instant::now() + Duration::from_secs_f64(job.budget_s.min(1e6)));
        }
        Ok(Self {
            session,
            root: drives::root(),
            drives: job.drives.iter().map(open).collect(),
            places: job.drives.iter().map(|drive| Places::of(drive.bytes, longest)).collect(),
            held: vec![Vec::new(); memories.len()],
            turns: vec![0; memories.len()],
            memories,
            staging,
            job: job.drives.clone(),
        })
    }

    fn tasks(&mut self, job: &Job) -> Result<(), Stop> {
        for (index, task) in job.tasks.iter().enumerate() {
            if index > 0 && self.session.late() {
                let left = job.tasks.len() - index;
                let text = format!("the budget is used up: {left} of {} tasks were not run", job.tasks.len());
                tell(&Event::Note { text })?;
                break;
            }
            tell(&Event::Task { index })?;
            match task {
                Task::Pair { a, b, full } => self.pair(*a, *b, *full)?,
                Task::Rest { a, b, full, staged, why } => self.rest(*a, *b, *full, *staged, why)?,
                // Drives do not all transfer at once.
                Task::Round { .. } | Task::Dense { .. } | Task::Nccl => {}
            }
        }
        self.session.phase("")?;
        tell(&Event::Done)
    }

    /// The directions of a pair in which there is a drive to read and memory to read into.
    fn ways(&self, a: usize, b: usize) -> Vec<Way> {
        let is = |(from, to): &Way| {
            let reads = self.job.get(*from).is_some_and(|drive| drive.block.is_some());
            reads && self.job.get(*to).is_some_and(|drive| drive.allocate.is_some())
        };
        [(a, b), (b, a)].into_iter().filter(is).collect()
    }

    fn bdf(&self, at: usize) -> &str {
        self.job.get(at).map_or("", |drive| drive.bdf.as_str())
    }

    /// Why a way cannot be measured at all.
    fn shut(&self, (from, to): Way) -> Option<String> {
        let drive = self.drives.get(from).and_then(|drive| drive.as_ref().err());
        drive.or_else(|| self.memories.get(to).and_then(|memory| memory.as_ref().err())).cloned()
    }
}

fn open(drive: &JobDrive) -> Result<Drive, String> {
    let path = drive.block.as_ref().ok_or_else(|| format!("{} is no drive", drive.bdf))?;
    Drive::open(Path::new(path)).map_err(|error| format!("{path}: {error}"))
}

/// Takes memory of a device; less than was planned where no piece is that long.
fn map(drive: &JobDrive) -> Result<Memory, String> {
    let path = drive.allocate.as_ref().ok_or_else(|| format!("{} has no memory for peers", drive.bdf))?;
    let file = allocation(Path::new(path)).map_err(|error| format!("{path}: {error}"))?;
    let mut bytes = usize::try_from(drive.memory).unwrap_or(PAGE).max(PAGE);
    loop {
        match Memory::device(&file, bytes) {
            Ok(memory) => return Ok(memory),
            Err(error) if error.raw_os_error() == Some(Errno::ENOMEM as i32) && bytes > PAGE => bytes /= 2,
            Err(error) => return Err(format!("{path}: mapping {bytes} bytes: {error}")),
        }
    }
}
