//! What both fake libraries are told by `PEERFIX_FAKE`: `key=value` parts between semicolons.
//!
//! `gpus=2;nvlinks=18;fault=drop-sector:64;pair=0>1;engine=sm`: a filter (`pair`, `engine`, `op`, `path`,
//! `min`, `max`, `after`, `times`, `call`, `once`) belongs to the fault before it. GPUs are numbered in the order of
//! their bus addresses. See `README.md` beside this file for every key.
#![allow(dead_code)]

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The fake host.
#[derive(Clone, Debug)]
pub struct Config {
    pub gpus: usize,
    /// CUDA numbers the GPUs from the other end than NVML does.
    pub reversed: bool,
    pub name: String,
    pub capability: (i32, i32),
    pub memory: u64,
    /// Bytes free before this process allocates.
    pub free: u64,
    pub bar1: u64,
    pub driver: String,
    pub api: i32,
    pub mig: bool,
    /// 0 none, 1 HMM, 2 ATS; none where the driver does not know the question.
    pub addressing: Option<u32>,
    pub display: bool,
    /// Graphics processes of another program: GPU, pid, bytes.
    pub busy: Vec<(usize, u32, u64)>,
    pub nvlinks: u32,
    pub nvlink_mb_s: u32,
    /// Links of `nvlinks` that are not active.
    pub nvlinks_down: u32,
    pub topology: u32,
    /// NVML's P2P status, and where it applies.
    pub p2p: Vec<(P2p, u32, Option<Pair>)>,
    pub link: (u32, u32),
    pub link_max: (u32, u32),
    pub pstate: u32,
    /// The replay counter grows by this at every query.
    pub replays: u32,
    pub peer_gb_s: f64,
    pub sm_read_gb_s: f64,
    pub sm_write_gb_s: f64,
    pub host_gb_s: f64,
    pub driver_staged_gb_s: f64,
    pub local_gb_s: f64,
    /// GPUs that share one port to the rest of the host.
    pub per_port: usize,
    /// Peers that one context can reach.
    pub max_peers: usize,
    /// Nanoseconds of one dependent load from a peer.
    pub load_ns: f64,
    /// Relative noise of every duration.
    pub noise: f64,
    pub seed: u64,
    /// Folder in which processes with a context leave their pid, for NVML's process list.
    pub state: Option<PathBuf>,
    pub faults: Vec<Fault>,
}

/// Which of NVML's peer capabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum P2p {
    Read,
    Write,
    Nvlink,
}

/// Data from one GPU to another; `both` for `0-1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    pub from: usize,
    pub to: usize,
    pub both: bool,
}

impl Pair {
    pub fn covers(self, from: usize, to: usize) -> bool {
        (self.from, self.to) == (from, to) || self.both && (self.to, self.from) == (from, to)
    }
}

/// What goes wrong, and where.
#[derive(Clone, Debug)]
pub struct Fault {
    pub kind: String,
    pub number: u64,
    pub pair: Option<Pair>,
    pub engine: Option<String>,
    pub op: Option<String>,
    pub path: String,
    pub min: u64,
    pub max: u64,
    pub after: u64,
    pub times: u64,
    pub call: Option<String>,
    pub once: Option<PathBuf>,
    /// Calls so far, for `call`.
    pub calls: Arc<AtomicU64>,
}

const KINDS: [&str; 17] = [
    "drop-sector",
    "drop",
    "zeros",
    "stale",
    "shift",
    "foreign",
    "flip",
    "mirror",
    "late",
    "slow",
    "hang",
    "crash",
    "error",
    "refuse",
    "enable",
    "iommu",
    "xid",
];

impl Default for Config {
    fn default() -> Self {
        Self {
            gpus: 2,
            reversed: false,
            name: "NVIDIA Fake 9000".into(),
            capability: (9, 0),
            memory: 64 << 20,
            free: 0,
            bar1: 2 << 30,
            driver: "580.65.06".into(),
            api: 13000,
            mig: false,
            addressing: Some(0),
            display: false,
            busy: Vec::new(),
            nvlinks: 0,
            nvlink_mb_s: 26_562,
            nvlinks_down: 0,
            topology: 30,
            p2p: Vec::new(),
            link: (3, 8),
            link_max: (3, 8),
            pstate: 0,
            replays: 0,
            peer_gb_s: 5.4,
            sm_read_gb_s: 5.0,
            sm_write_gb_s: 5.2,
            host_gb_s: 5.5,
            driver_staged_gb_s: 3.7,
            local_gb_s: 40.0,
            per_port: 1,
            max_peers: 31,
            load_ns: 830.0,
            noise: 0.002,
            seed: 1,
            state: None,
            faults: Vec::new(),
        }
    }
}

impl Config {
    /// From the environment, once in a process. A wrong text ends the process: the test is wrong.
    pub fn get() -> &'static Self {
        static CONFIG: OnceLock<Config> = OnceLock::new();
        CONFIG.get_or_init(|| {
            let text = std::env::var("PEERFIX_FAKE").unwrap_or_default();
            Self::parse(&text).unwrap_or_else(|why| {
                eprintln!("PEERFIX_FAKE: {why}");
                std::process::abort()
            })
        })
    }

    pub fn parse(text: &str) -> Result<Self, String> {
        let mut config = Self::default();
        for part in text.split(';').filter(|p| !p.is_empty()) {
            let (key, value) = part.split_once('=').ok_or_else(|| format!("`{part}` has no value"))?;
            config.set(key, value).ok_or_else(|| format!("`{part}` is not understood"))?;
        }
        if config.free == 0 || config.free > config.memory {
            config.free = config.memory - config.memory / 32;
        }
        Ok(config)
    }

    fn set(&mut self, key: &str, value: &str) -> Option<()> {
        match key {
            "gpus" => self.gpus = value.parse().ok().filter(|n| *n <= 32)?,
            "order" => self.reversed = value == "reversed",
            "name" => self.name = value.into(),
            "capability" => self.capability = two(value, '.')?,
            "memory" => self.memory = bytes(value)?,
            "free" => self.free = bytes(value)?,
            "bar1" => self.bar1 = bytes(value)?,
            "driver" => self.driver = value.into(),
            "api" => self.api = value.parse().ok()?,
            "mig" => self.mig = value == "on",
            "addressing" => self.addressing = value.parse().ok(),
            "display" => self.display = value == "on",
            "busy" => {
                let mut parts = value.split(':');
                self.busy.push((
                    parts.next()?.parse().ok()?,
                    parts.next()?.parse().ok()?,
                    bytes(parts.next()?)?,
                ));
            }
            "nvlinks" => self.nvlinks = value.parse().ok()?,
            "nvlinks-down" => self.nvlinks_down = value.parse().ok()?,
            "nvlink-mb-s" => self.nvlink_mb_s = value.parse().ok()?,
            "topology" => self.topology = value.parse().ok()?,
            "p2p-read" => self.p2p.push(p2p(P2p::Read, value)?),
            "p2p-write" => self.p2p.push(p2p(P2p::Write, value)?),
            "p2p-nvlink" => self.p2p.push(p2p(P2p::Nvlink, value)?),
            "link" => self.link = two(value, 'x')?,
            "link-max" => self.link_max = two(value, 'x')?,
            "pstate" => self.pstate = value.parse().ok()?,
            "replays" => self.replays = value.parse().ok()?,
            "peer-gb-s" => self.peer_gb_s = value.parse().ok()?,
            "sm-read-gb-s" => self.sm_read_gb_s = value.parse().ok()?,
            "sm-write-gb-s" => self.sm_write_gb_s = value.parse().ok()?,
            "host-gb-s" => self.host_gb_s = value.parse().ok()?,
            "driver-staged-gb-s" => self.driver_staged_gb_s = value.parse().ok()?,
            "local-gb-s" => self.local_gb_s = value.parse().ok()?,
            "max-peers" => self.max_peers = value.parse().ok()?,
            "per-port" => self.per_port = value.parse().ok().filter(|n| *n > 0)?,
            "load-ns" => self.load_ns = value.parse().ok()?,
            "noise" => self.noise = value.parse().ok()?,
            "seed" => self.seed = value.parse().ok()?,
            "state" => self.state = Some(value.into()),
            "fault" => self.faults.push(Fault::parse(value)?),
            _ => self.faults.last_mut()?.filter(key, value)?,
        }
        Some(())
    }

    /// Whether `to` may access the memory of `from` (`fault=refuse`).
    pub fn grants(&self, from: usize, to: usize) -> bool {
        !self.faults.iter().any(|f| f.kind == "refuse" && f.pair.is_none_or(|p| p.covers(from, to)))
    }

    /// What a call must do at once (`fault=error:N;call=NAME`, also `hang` and `crash`): its return code.
    pub fn at_call(&self, name: &str) -> Option<i32> {
        let fault = self.faults.iter().find(|f| f.call.as_deref() == Some(name))?;
        let n = fault.calls.fetch_add(1, Ordering::Relaxed);
        if n < fault.after || n - fault.after >= fault.times || !fault.first_time() {
            return None;
        }
        match fault.kind.as_str() {
            "hang" => loop {
                std::thread::park();
            },
            "crash" => std::process::abort(),
            _ => Some(i32::try_from(fault.number).unwrap_or(999)),
        }
    }

    /// Domain, bus and device number of a GPU; hexadecimal letters and a gap, as on real boards.
    pub fn address(index: usize) -> (u32, u32, u32) {
        let index = u32::try_from(index).unwrap_or(0);
        (0, 0x1a + 0x11 * (index % 8) + index / 8, 0)
    }
}

impl Fault {
    /// With `once=FILE` a fault strikes in one process only: the one that makes the file.
    pub fn first_time(&self) -> bool {
        self.once.as_ref().is_none_or(|at| std::fs::File::create_new(at).is_ok())
    }

    fn parse(value: &str) -> Option<Self> {
        let (kind, number) = value.split_once(':').unwrap_or((value, "0"));
        KINDS.contains(&kind).then_some(())?;
        Some(Self {
            kind: kind.into(),
            number: number.parse().ok()?,
            pair: None,
            engine: None,
            op: None,
            path: "peer".into(),
            min: 0,
            max: u64::MAX,
            after: 0,
            times: u64::MAX,
            call: None,
            once: None,
            calls: Arc::default(),
        })
    }

    fn filter(&mut self, key: &str, value: &str) -> Option<()> {
        match key {
            "pair" => self.pair = Some(pair(value)?),
            "engine" => self.engine = Some(one_of(value, &["ce", "sm"])?),
            "op" => self.op = Some(one_of(value, &["read", "write"])?),
            "path" => self.path = one_of(value, &["peer", "host", "local"])?,
            "min" => self.min = bytes(value)?,
            "max" => self.max = bytes(value)?,
            "after" => self.after = value.parse().ok()?,
            "times" => self.times = value.parse().ok()?,
            "call" => self.call = Some(value.into()),
            "once" => self.once = Some(value.into()),
            _ => return None,
        }
        Some(())
    }
}

fn one_of(value: &str, known: &[&str]) -> Option<String> {
    known.contains(&value).then(|| value.to_owned())
}

fn two<T: std::str::FromStr>(value: &str, between: char) -> Option<(T, T)> {
    let (a, b) = value.split_once(between)?;
    Some((a.parse().ok()?, b.parse().ok()?))
}

fn pair(value: &str) -> Option<Pair> {
    let both = value.contains('-');
    let (from, to) = two(value, if both { '-' } else { '>' })?;
    Some(Pair { from, to, both })
}

/// `5` or `5@0>1`.
fn p2p(which: P2p, value: &str) -> Option<(P2p, u32, Option<Pair>)> {
    Some(match value.split_once('@') {
        Some((status, at)) => (which, status.parse().ok()?, Some(pair(at)?)),
        None => (which, value.parse().ok()?, None),
    })
}

/// `4096`, `64K`, `512M`, `2G`.
fn bytes(value: &str) -> Option<u64> {
    let unit = match value.chars().last()? {
        'K' => 10,
        'M' => 20,
        'G' => 30,
        _ => return value.parse().ok(),
    };
    Some(value[..value.len() - 1].parse::<u64>().ok()? << unit)
}
