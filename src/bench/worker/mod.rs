//! The worker process: brings the driver up, takes a job, runs its tasks in order, tells the parent everything.

mod concurrent;
pub(super) mod drives;
mod lanes;
mod measure;
mod nccl;
mod pair;
mod rounds;
mod session;
mod small;
mod start;
mod time;
mod verify;
mod written;

use super::protocol::{Event, Job, Task};
use super::rig::{Host, Rig};
use session::{Session, Stop, tell};
use std::collections::BTreeMap;

/// Everything of one worker.
pub(super) struct Bench {
    session: Session,
    rigs: Vec<Rig>,
    host: Host,
    /// NVML's index of each GPU of the job.
    indices: Vec<u32>,
    /// Pairs whose peer arms have ended, with the reason.
    down: BTreeMap<(usize, usize), String>,
    /// Rounds of all-reduce so far.
    rounds: u32,
}

/// Runs as a worker for GPUs: job from standard input, events to standard output.
pub fn run() {
    end_with_parent();
    let result = match start::start() {
        Ok(Some((mut bench, job))) => bench.tasks(&job),
        Ok(None) => Ok(()),
        Err(stop) => Err(stop),
    };
    end(result);
}

/// The same for drives.
pub fn run_drives() {
    end_with_parent();
    end(drives::work());
}

fn end_with_parent() {
    // Nobody would listen any more, and the GPUs would be held until the next event finds that out.
    let _ = nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL);
}

fn end(result: Result<(), Stop>) {
    if let Err(Stop::Broken(why)) = result {
        let _ = tell(&Event::Broken { why });
    }
    // The driver's own threads may hang on the way down; the parent has all it needs.
    std::process::exit(0);
}

impl Bench {
    fn tasks(&mut self, job: &Job) -> Result<(), Stop> {
        for (index, task) in job.tasks.iter().enumerate() {
            if index > 0 && self.session.late() {
                let text = format!(
                    "the budget is used up: {} of {} tasks were not run",
                    job.tasks.len() - index,
                    job.tasks.len()
                );
                tell(&Event::Note { text })?;
                break;
            }
            tell(&Event::Task { index })?;
            match task {
                Task::Pair { a, b, full } => self.pair(*a, *b, *full)?,
                Task::Rest { a, b, full, staged, why } => self.rest(*a, *b, *full, *staged, why)?,
                Task::Round { number, pairs } => {
                    self.concurrent(&format!("round-{number}"), pairs)?;
                }
                Task::Dense { pairs } => self.concurrent("dense", pairs)?,
                Task::Nccl => self.nccl()?,
            }
        }
        self.session.phase("")?;
        tell(&Event::Done)
    }

    /// Ends the peer arms of a pair.
    fn take_down(&mut self, a: usize, b: usize, why: &str) -> Result<(), Stop> {
        self.down.insert((a.min(b), a.max(b)), why.to_owned());
        tell(&Event::PairDown { a, b, why: why.to_owned() })
    }

    /// After a failed call: the worker ends where the contexts no longer work.
    fn still_works(&self, a: usize, b: usize) -> Result<(), Stop> {
        for rig in [a, b].iter().filter_map(|at| self.rigs.get(*at)) {
            if let Err(error) = rig.context.synchronize() {
                return Err(Stop::Broken(format!("GPU {} is lost to this process: {error}", rig.bdf)));
            }
        }
        Ok(())
    }
}
