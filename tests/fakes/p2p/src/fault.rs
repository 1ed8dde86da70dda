//! What goes wrong, and where: `fault=KIND:N;pair=0>1;path=host;min=4097;after=2`.

use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Whose memory a drive is read into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    Host,
    Own,
    Peer(u32),
}

#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: String,
    pub(crate) number: u64,
    /// Drive, and device whose memory it reads into.
    pair: Option<(u32, u32)>,
    path: String,
    min: usize,
    after: u64,
    times: u64,
    /// Of so many matching reads the last one only.
    every: u64,
    /// Strikes in one process only: the one that makes the file.
    once: Option<String>,
    place: usize,
}

static COUNTS: [AtomicU64; 8] = [const { AtomicU64::new(0) }; 8];

const KINDS: [&str; 11] =
    ["drop", "drop-sector", "zeros", "stale", "shift", "flip", "refuse", "error", "crash", "hang", "slow"];

/// Faults that hit a read of `bytes` of this drive.
pub(crate) fn active(from: u32, path: Path, bytes: usize) -> Vec<Fault> {
    static FAULTS: OnceLock<Vec<Fault>> = OnceLock::new();
    let faults = FAULTS.get_or_init(|| {
        let text = std::env::var("PEERFIX_FAKE").unwrap_or_default();
        parse(&text).unwrap_or_else(|| {
            eprintln!("PEERFIX_FAKE={text} is not understood");
            std::process::abort()
        })
    });
    faults.iter().filter(|fault| fault.hits(from, path, bytes)).cloned().collect()
}

fn parse(text: &str) -> Option<Vec<Fault>> {
    let mut faults: Vec<Fault> = Vec::new();
    for part in text.split(';').filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=')?;
        if key == "fault" {
            let (kind, number) = value.split_once(':').unwrap_or((value, "0"));
            (KINDS.contains(&kind) || kind == "iommu").then_some(())?;
            faults.push(Fault {
                kind: kind.to_owned(),
                number: number.parse().ok()?,
                pair: None,
                path: "peer".to_owned(),
                min: 0,
                after: 0,
                times: u64::MAX,
                every: 1,
                once: None,
                place: faults.len(),
            });
            continue;
        }
        let fault = faults.last_mut()?;
        match key {
            "pair" => {
                let (from, to) = value.split_once('>')?;
                fault.pair = Some((from.parse().ok()?, to.parse().ok()?));
            }
            "path" => fault.path = value.to_owned(),
            "min" => fault.min = value.parse().ok()?,
            "after" => fault.after = value.parse().ok()?,
            "times" => fault.times = value.parse().ok()?,
            "every" => fault.every = value.parse().ok().filter(|n| *n > 0)?,
            "once" => fault.once = Some(value.to_owned()),
            _ => return None,
        }
    }
    Some(faults)
}

impl Fault {
    fn hits(&self, from: u32, path: Path, bytes: usize) -> bool {
        let (name, to) = match path {
            Path::Host => ("host", None),
            Path::Own => ("own", Some(from)),
            Path::Peer(to) => ("peer", Some(to)),
        };
        let here = self.path == name && bytes >= self.min;
        if !here || self.pair.is_some_and(|pair| to.is_some_and(|to| pair != (from, to))) {
            return false;
        }
        let n = COUNTS[self.place].fetch_add(1, Ordering::Relaxed);
        if n < self.after || n - self.after >= self.times || n % self.every != self.every - 1 {
            return false;
        }
        self.once.as_ref().is_none_or(|at| std::fs::File::create_new(at).is_ok())
    }

    /// Changes what was read.
    pub(crate) fn bend(&self, bytes: &mut [u8]) {
        match self.kind.as_str() {
            "zeros" => bytes.fill(0),
            "flip" => {
                let step = usize::try_from(self.number).unwrap().max(1) * 8;
                bytes.chunks_mut(step).for_each(|word| word[0] ^= 1);
            }
            _ => {}
        }
    }
}

/// A fault of the drive's, as VT-d logs it.
pub(crate) fn log(drive: u32) {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    let Some(path) = std::env::var_os("PEERFIX_KMSG") else { return };
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let text = format!(
        "3,{number},{number}000000,-;DMAR: [DMA Write NO_PASID] Request device [{:02x}:00.0] fault addr 0xfc020000 \
         [fault reason 0x05] PTE Write access is not set\n",
        drive + 3
    );
    let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}
