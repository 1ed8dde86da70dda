//! What one audit costs: the whole process, release build, on a tree with eight GPUs and three hundred PCI
//! functions. `cargo bench --bench audit`; `PEERFIX_BENCH_RUNS` sets the number of runs.
//!
//! Each audit alternates with a run that does nothing (`--version`), so that both see the same machine: the
//! second is the floor that starting a process costs here. Time and memory are taken by a small process between
//! this one and the measured one: the kernel counts the memory of a process that starts another as the other's
//! (`exec_mmap` keeps the peak), and this one is large from building the tree.

#[path = "../tests/common/mod.rs"]
mod common;

use nix::sys::resource::{UsageWho, getrusage};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Aims of the whole process.
const AIM_WALL: Duration = Duration::from_millis(50);
const AIM_MEMORY_KIB: u64 = 32 * 1024;
const RUNS: usize = 30;

/// First argument of the process in between.
const MEASURE: &str = "--measure";

/// One run of peerfix.
struct Run {
    wall: Duration,
    peak_kib: u64,
}

/// All runs of one command line.
#[derive(Default)]
struct Runs {
    walls: Vec<Duration>,
    peak_kib: u64,
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [first, command @ ..] = args.as_slice()
        && first == MEASURE
    {
        return measure(command);
    }
    // Asked by `cargo test --benches` to run nothing long.
    let runs = match std::env::var("PEERFIX_BENCH_RUNS").ok().and_then(|n| n.parse().ok()) {
        Some(runs) => runs,
        None if args.iter().any(|a| a == "--bench") => RUNS,
        None => 1,
    };
    let tree = common::hosts::large();
    let host = tree.path().to_str().unwrap();
    let audit = ["audit", "--host", host, "--format", "json"];
    // The first runs fill the page cache.
    run(&audit);
    run(&["--version"]);
    let (mut full, mut floor) = (Runs::default(), Runs::default());
    for _ in 0..runs.max(1) {
        full.add(&run(&audit));
        floor.add(&run(&["--version"]));
    }
    println!("{}", full.row("audit"));
    println!("{}", floor.row("--version"));
    let ratio = full.median().as_secs_f64() / floor.median().as_secs_f64();
    println!(
        "audit takes {ratio:.1} times a run that does nothing; aim {} ms: {}, {} MiB: {}",
        AIM_WALL.as_millis(),
        met(full.median() < AIM_WALL),
        AIM_MEMORY_KIB / 1024,
        met(full.peak_kib < AIM_MEMORY_KIB),
    );
}

fn met(yes: bool) -> &'static str {
    if yes { "met" } else { "missed" }
}

impl Runs {
    fn add(&mut self, run: &Run) {
        self.walls.push(run.wall);
        self.walls.sort();
        self.peak_kib = self.peak_kib.max(run.peak_kib);
    }

    fn median(&self) -> Duration {
        self.walls[self.walls.len() / 2]
    }

    fn row(&self, name: &str) -> String {
        let ms = |wall: Duration| wall.as_secs_f64() * 1000.0;
        format!(
            "{name:<10} median {:7.2} ms   min {:7.2}   max {:7.2}   peak {:4}.{} MiB   {} runs",
            ms(self.median()),
            ms(self.walls[0]),
            ms(self.walls[self.walls.len() - 1]),
            self.peak_kib / 1024,
            self.peak_kib % 1024 * 10 / 1024,
            self.walls.len(),
        )
    }
}

/// Runs peerfix below a measuring process.
fn run(args: &[&str]) -> Run {
    let output = Command::new(std::env::current_exe().unwrap()).arg(MEASURE).args(args).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<u64> = text.split_whitespace().map(|n| n.parse().unwrap()).collect();
    let [nanoseconds, peak_kib] = numbers[..] else { panic!("{text:?}, {:?}", output.status) };
    Run { wall: Duration::from_nanos(nanoseconds), peak_kib }
}

/// The process in between: runs peerfix once, prints nanoseconds and the peak in KiB.
fn measure(args: &[String]) {
    let start = Instant::now();
    let status = Command::new(env!("CARGO_BIN_EXE_peerfix"))
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    let wall = start.elapsed();
    assert!(status.success(), "peerfix {args:?}: {status}");
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    println!("{} {}", wall.as_nanos(), usage.max_rss());
}
