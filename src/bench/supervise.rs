//! The parent: starts a worker, gives it the job, listens, and goes on with another one after a hang or crash.

use super::child::{Heard, Worker};
use super::counters::{self, AFTER_FAULTS, Counters};
use super::protocol::{Event, Job, Task};
use super::record::{Arm, Backend, Deltas, Outcome};
use super::stats;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Sets the deadline of an arm in milliseconds; for tests.
pub const DEADLINE_VARIABLE: &str = "PEERFIX_ARM_DEADLINE_MS";
/// No event for so long means that the arm hangs.
const DEADLINE: Duration = Duration::from_secs(20);
/// Starting the driver and the GPUs may take longer (no persistence mode, many GPUs).
pub(super) const START: Duration = Duration::from_mins(2);

/// Arms that pass through host memory or stay in one GPU.
const HOST_ARMS: [&str; 3] = ["staged", "driver-staged", "self"];

/// What all workers of a run told.
#[derive(Default)]
pub(super) struct Told {
    pub(super) api: Option<i32>,
    /// By source and destination; both empty for arms over all GPUs.
    pub(super) arms: Vec<(String, String, Arm)>,
    pub(super) granted: BTreeMap<(String, String), bool>,
    /// Directions of each arm over several pairs.
    pub(super) ways: BTreeMap<String, Vec<(String, String)>>,
    pub(super) phases: BTreeMap<String, f64>,
    pub(super) notes: Vec<String>,
    pub(super) method: Vec<String>,
    /// Nothing could be measured from here on, and why.
    pub(super) lost: Option<String>,
    /// Pairs whose peer arms have ended; no later worker may try them again.
    pub(super) down: BTreeSet<(usize, usize)>,
}

/// A task as it goes on in the present worker.
#[derive(Default)]
struct Present {
    /// Index of the task in the job of this worker; none before the first.
    task: Option<usize>,
    /// The arm that runs.
    at: Option<(String, String, Arm)>,
    /// Arms with samples that are not finished.
    open: BTreeMap<(String, String, String), Arm>,
}

/// The run.
pub(super) struct Supervisor<'a> {
    pub(super) backend: Backend,
    pub(super) told: Told,
    pub(super) counters: Counters,
    /// Workers start without the variables that steer transfers.
    pub(super) bare: bool,
    /// Told what happens, for the person who waits.
    pub(super) progress: &'a mut dyn FnMut(&str),
}

/// How a worker came to its end.
enum End {
    Done,
    /// It said why.
    Broken(String),
    Silence(Duration),
    Closed,
}

impl Supervisor<'_> {
    /// Runs the job, which is given to `worker` first.
    pub(super) fn run(&mut self, worker: Worker, mut job: Job) {
        let mut worker = Some(worker);
        loop {
            let Some(mut present) = worker.take().or_else(|| self.another()) else { return };
            if let Err(error) = present.give(&job) {
                self.told.notes.push(format!("the job could not be given to the worker: {error}"));
            }
            let mut now = Present::default();
            let end = self.listen(&present, &mut now);
            if matches!(end, End::Done) {
                let _ = present.ended();
                return;
            }
            let Some(task) = now.task else {
                let why = self.bury(present, &end);
                self.told.lost =
                    Some(format!("the {} could not be made ready: {why}", self.backend.devices()));
                return;
            };
            let (arm, why) = self.failed(present, &end, now);
            let rest = job.tasks.split_off((task + 1).min(job.tasks.len()));
            let ended = job.tasks.pop();
            if let Some(Task::Pair { a, b, .. }) = &ended {
                self.told.down.insert((*a.min(b), *a.max(b)));
            }
            job.tasks = without(rest, &self.told.down);
            let by_host = HOST_ARMS.iter().any(|host| arm.starts_with(host));
            let why = if arm.is_empty() { why } else { format!("{arm}: {why}") };
            job.tasks.splice(0..0, ended.as_ref().and_then(|ended| left(ended, !by_host, why)));
            if job.tasks.is_empty() {
                return;
            }
        }
    }

    /// A fresh worker for the tasks that are left.
    fn another(&mut self) -> Option<Worker> {
        let worker = match Worker::start(self.backend, self.bare) {
            Ok(worker) => worker,
            Err(error) => {
                self.told.notes.push(format!("no further worker could be started: {error}"));
                return None;
            }
        };
        match worker.hear(start()) {
            Heard::Event(event) if matches!(*event, Event::Devices { .. } | Event::Ready) => Some(worker),
            _ => {
                self.told.notes.push("the driver did not come up again after the worker ended".to_owned());
                self.told.notes.extend(worker.kill());
                None
            }
        }
    }

    fn listen(&mut self, worker: &Worker, now: &mut Present) -> End {
        let limit = deadline();
        loop {
            let limit = if now.task.is_none() { start() } else { limit };
            let event = match worker.hear(limit) {
                Heard::Event(event) => *event,
                Heard::Silence => return End::Silence(limit),
                Heard::End => return End::Closed,
            };
            match event {
                Event::Done => return End::Done,
                Event::Broken { why } => return End::Broken(why),
                Event::Task { index } => {
                    now.task = Some(index);
                    now.at = None;
                    now.open.clear();
                }
                event => self.take(event, now),
            }
        }
    }

    fn take(&mut self, event: Event, now: &mut Present) {
        match event {
            Event::At { from, to, arm, unit, bytes } => {
                let same = now.at.as_ref().is_some_and(|(f, t, a)| (f, t, &a.name) == (&from, &to, &arm));
                if !same {
                    (self.progress)(&words(&from, &to, &arm));
                    self.counters.start();
                }
                let entry = Arm { name: arm, unit, bytes, ..Arm::default() };
                now.at = Some((from, to, entry));
            }
            Event::Sample { from, to, arm, value } => {
                let known = now.at.as_ref().map(|(_, _, arm)| arm.clone()).unwrap_or_default();
                let open = now.open.entry((from, to, arm.clone())).or_insert(Arm { name: arm, ..known });
                open.samples.push(value);
            }
            Event::Arm { from, to, arm } => {
                now.open.remove(&(from.clone(), to.clone(), arm.name.clone()));
                let finished =
                    now.at.as_ref().is_some_and(|(f, t, a)| (f, t, &a.name) == (&from, &to, &arm.name));
                if finished {
                    now.at = None;
                }
                self.keep_arm(from, to, arm);
            }
            Event::Granted { from, to, granted } => {
                self.told.granted.insert((from, to), granted);
            }
            Event::Ways { arm, ways } => {
                self.told.ways.insert(arm, ways);
            }
            Event::Phase { name, seconds } => *self.told.phases.entry(name).or_default() += seconds,
            Event::Note { text } => self.told.notes.push(text),
            Event::Method { text } => {
                if !self.told.method.contains(&text) {
                    self.told.method.push(text);
                }
            }
            Event::PairDown { a, b, .. } => {
                self.told.down.insert((a.min(b), a.max(b)));
            }
            Event::Beat
            | Event::Devices { .. }
            | Event::Ready
            | Event::NoDriver { .. }
            | Event::Task { .. }
            | Event::Broken { .. }
            | Event::Done => {}
        }
    }

    /// What is left of a pair names all its arms again: what was told before stands, unless it was not finished.
    fn keep_arm(&mut self, from: String, to: String, arm: Arm) {
        let same = |(f, t, a): &&mut (String, String, Arm)| (f, t, &a.name) == (&from, &to, &arm.name);
        match self.told.arms.iter_mut().find(same) {
            Some(_) if arm.outcome == Outcome::Skipped => {}
            Some((_, _, known)) if known.outcome == Outcome::Skipped => *known = arm,
            _ => self.told.arms.push((from, to, arm)),
        }
    }

    /// Names the arm that a worker did not survive, and keeps what the others had. Returns that arm's name, empty
    /// between two arms, and why.
    fn failed(&mut self, worker: Worker, end: &End, now: Present) -> (String, String) {
        let mut deltas = self.counters.grown();
        let why = self.bury(worker, end);
        if counters::faulted(&deltas).is_some() {
            std::thread::sleep(AFTER_FAULTS);
        }
        // What came while the worker was ended, or late.
        counters::add(&mut deltas, self.counters.grown());
        if let Some((from, to, mut arm)) = now.at {
            arm.outcome = match end {
                End::Silence(_) => Outcome::Hang,
                End::Broken(_) => Outcome::Failed,
                _ => Outcome::Crash,
            };
            arm.why.clone_from(&why);
            arm.deltas = deltas;
            let mut open = now.open;
            if let Some(partial) = open.remove(&(from.clone(), to.clone(), arm.name.clone())) {
                arm.samples = partial.samples;
            }
            let name = arm.name.clone();
            self.told.arms.push((from, to, arm));
            self.keep(open, &why);
            (name, why)
        } else {
            self.told.notes.push(format!("between two arms: {why}"));
            if let Some(fault) = counters::faulted(&deltas) {
                self.told.notes.push(format!("at that time: {fault}"));
            }
            self.keep(now.open, &why);
            (String::new(), why)
        }
    }

    fn keep(&mut self, open: BTreeMap<(String, String, String), Arm>, why: &str) {
        for ((from, to, _), mut arm) in open {
            arm.outcome = Outcome::Skipped;
            arm.why = format!("not finished: {why}");
            arm.median = stats::median(&arm.samples);
            arm.interval = stats::interval(&arm.samples);
            arm.deltas = Deltas::default();
            self.told.arms.push((from, to, arm));
        }
    }

    /// Ends a worker; how it ended, in words.
    fn bury(&mut self, mut worker: Worker, end: &End) -> String {
        let words = match end {
            End::Done => "done".to_owned(),
            End::Broken(why) => why.clone(),
            End::Silence(limit) => format!("no sign of life for {:.1} s", limit.as_secs_f64()),
            End::Closed => match worker.ended() {
                Some(status) => format!("the worker ended: {status}"),
                None => "the worker closed its output".to_owned(),
            },
        };
        if let Some(stuck) = worker.kill() {
            self.told.notes.push(stuck);
        }
        words
    }
}

fn words(from: &str, to: &str, arm: &str) -> String {
    if from.is_empty() { arm.to_owned() } else { format!("{from} -> {to} {arm}") }
}

fn deadline() -> Duration {
    set_deadline().unwrap_or(DEADLINE)
}

/// Deadline of what comes before the first task.
pub(super) fn start() -> Duration {
    set_deadline().unwrap_or(START)
}

fn set_deadline() -> Option<Duration> {
    std::env::var(DEADLINE_VARIABLE).ok()?.parse().ok().map(Duration::from_millis)
}

/// What is still to be said of the pair of a task that ended early. The staged ways may end the next worker too: then
/// they are only named.
fn left(ended: &Task, staged: bool, why: String) -> Option<Task> {
    match *ended {
        Task::Pair { a, b, full } => Some(Task::Rest { a, b, full, staged, why }),
        Task::Rest { a, b, full, staged: true, .. } => Some(Task::Rest { a, b, full, staged: false, why }),
        _ => None,
    }
}

/// The tasks that are left, without the pairs that may transfer no more. NCCL asks nobody which path it may take.
fn without(mut tasks: Vec<Task>, down: &BTreeSet<(usize, usize)>) -> Vec<Task> {
    for task in &mut tasks {
        if let Task::Round { pairs, .. } | Task::Dense { pairs } = task {
            pairs.retain(|(a, b)| !down.contains(&(*a.min(b), *a.max(b))));
        }
    }
    tasks.retain(|task| *task != Task::Nccl || down.is_empty());
    tasks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn staging_that_ends_a_second_worker_is_only_named_by_the_third() {
        let pair = Task::Pair { a: 0, b: 1, full: true };
        let rest = left(&pair, true, "hung".to_owned()).unwrap();
        let named = left(&rest, true, "hung too".to_owned()).unwrap();
        assert!(matches!(named, Task::Rest { staged: false, .. }), "{named:?}");
        assert_eq!(left(&named, true, String::new()), None);
    }
}
