//! Counts faults per requester and unit, and classes their addresses.

use super::classing::{Apertures, Place};
use super::read::Event;
use super::requester::{Requester, look_up};
use super::{FaultyDevice, ReasonCount};
use crate::host::log::{KernelLog, LogLine};
use crate::host::pci::PciDevice;
use crate::root::Fact;
use std::collections::{BTreeMap, HashMap};

/// Faults so far.
pub(super) struct Census<'a> {
    pci: &'a [PciDevice],
    gpus: &'a [String],
    apertures: Apertures,
    tallies: Vec<Tally<'a>>,
    by_name: HashMap<(String, String, &'static str), usize>,
}

struct Tally<'a> {
    requester: Requester<'a>,
    unit: &'static str,
    first: &'a LogLine,
    count: i64,
    reads: i64,
    writes: i64,
    /// Meaning and count by code.
    reasons: BTreeMap<String, (String, i64)>,
    peer: i64,
    masked: i64,
    own: i64,
    elsewhere: i64,
    unclassed: i64,
    peers: Vec<String>,
    /// Seconds of the last fault; none when a line has no stamp.
    last: Option<f64>,
}

impl<'a> Census<'a> {
    pub(super) fn new(pci: &'a [PciDevice], gpus: &'a [String]) -> Self {
        Self { pci, gpus, apertures: Apertures::new(pci, gpus), tallies: Vec::new(), by_name: HashMap::new() }
    }

    /// Counts one fault line.
    pub(super) fn add(&mut self, line: &'a LogLine, event: Event) {
        let key = (event.bdf.clone(), event.other_name.clone(), event.unit);
        let at = *self.by_name.entry(key).or_insert_with(|| {
            self.tallies.push(Tally::new(look_up(&event, self.pci, self.gpus), event.unit, line));
            self.tallies.len() - 1
        });
        if let Some(tally) = self.tallies.get_mut(at) {
            let place = self.apertures.place(&tally.requester, event.address);
            tally.add(line, event, place);
        }
    }

    /// The first line of every requester.
    pub(super) fn first_lines(&self) -> Vec<&'a LogLine> {
        let mut lines: Vec<&LogLine> = self.tallies.iter().map(|t| t.first).collect();
        lines.sort_by_key(|l| l.number);
        lines
    }

    /// One entry per requester and unit, most faults first, then by BDF.
    pub(super) fn devices(self, log: &KernelLog) -> Vec<FaultyDevice> {
        let bound = bindings(log, &self.tallies);
        let mut out: Vec<FaultyDevice> = self.tallies.into_iter().map(|t| t.finish(log, &bound)).collect();
        out.sort_by(|a, b| (b.count, &a.bdf, &a.unit, &a.what).cmp(&(a.count, &b.bdf, &b.unit, &b.what)));
        out
    }
}

impl<'a> Tally<'a> {
    fn new(requester: Requester<'a>, unit: &'static str, first: &'a LogLine) -> Self {
        Self {
            requester,
            unit,
            first,
            count: 0,
            reads: 0,
            writes: 0,
            reasons: BTreeMap::new(),
            peer: 0,
            masked: 0,
            own: 0,
            elsewhere: 0,
            unclassed: 0,
            peers: Vec::new(),
            last: Some(f64::MIN),
        }
    }

    fn add(&mut self, line: &LogLine, event: Event, place: Place) {
        self.count += 1;
        match event.write {
            Some(true) => self.writes += 1,
            Some(false) => self.reads += 1,
            None => {}
        }
        self.reasons.entry(event.code).or_insert((event.meaning, 0)).1 += 1;
        self.last = match (self.last, line.seconds) {
            (Some(last), Some(now)) => Some(last.max(now)),
            _ => None,
        };
        match place {
            Place::Peer(gpu) => {
                self.peer += 1;
                self.note_peer(gpu);
            }
            Place::MaskedPeer(gpu) => {
                self.masked += 1;
                self.note_peer(gpu);
            }
            Place::Own => self.own += 1,
            Place::Elsewhere => self.elsewhere += 1,
            Place::Unclassed => self.unclassed += 1,
        }
    }

    fn note_peer(&mut self, gpu: String) {
        if let Err(at) = self.peers.binary_search(&gpu) {
            self.peers.insert(at, gpu);
        }
    }

    fn finish(self, log: &KernelLog, bound: &HashMap<String, f64>) -> FaultyDevice {
        let before_driver = match (self.last, bound.get(&self.requester.bdf)) {
            (Some(last), Some(bound)) => last < *bound,
            _ => false,
        };
        let mut reasons: Vec<ReasonCount> = self
            .reasons
            .into_iter()
            .map(|(code, (meaning, count))| ReasonCount { code, meaning, count })
            .collect();
        reasons.sort_by_key(|r| std::cmp::Reverse(r.count));
        FaultyDevice {
            bdf: self.requester.bdf,
            is_gpu: self.requester.is_gpu,
            what: self.requester.what,
            identified: self.requester.identified,
            unit: self.unit.to_owned(),
            count: self.count,
            reads: self.reads,
            writes: self.writes,
            reasons,
            in_peer_bar: self.peer,
            in_masked_peer_bar: self.masked,
            in_own_bar: self.own,
            elsewhere: self.elsewhere,
            unclassed: self.unclassed,
            peers: self.peers,
            before_driver,
            first: Fact::known(self.first.text.clone(), log.cite(self.first)),
        }
    }
}

/// When a driver first shows itself for each faulting device: `DRIVER BDF: …` (the kernel writes `pci` there
/// while none is bound), or the line with which the NVIDIA or AMD module announces itself.
fn bindings(log: &KernelLog, tallies: &[Tally<'_>]) -> HashMap<String, f64> {
    let mut bound: HashMap<String, f64> = HashMap::new();
    if tallies.is_empty() {
        return bound;
    }
    let of_vendor = |id: i64| {
        tallies
            .iter()
            .filter(move |t| {
                let vendor = t.requester.device.and_then(|d| d.vendor.value()).copied();
                t.requester.is_gpu && vendor.is_none_or(|v| v == id)
            })
            .map(|t| t.requester.bdf.clone())
    };
    for line in &log.lines {
        let Some(seconds) = line.seconds else { continue };
        let names: Vec<String> = if line.text.starts_with("NVRM: loading") {
            of_vendor(0x10de).collect()
        } else if line.text.starts_with("[drm] amdgpu kernel modesetting") {
            of_vendor(0x1002).collect()
        } else {
            driver_line(&line.text)
                .filter(|bdf| tallies.iter().any(|t| t.requester.bdf == *bdf))
                .map(str::to_owned)
                .into_iter()
                .collect()
        };
        for bdf in names {
            bound.entry(bdf).and_modify(|first| *first = first.min(seconds)).or_insert(seconds);
        }
    }
    bound
}

/// The BDF of `DRIVER BDF: …` when a driver is bound.
fn driver_line(text: &str) -> Option<&str> {
    let (driver, rest) = text.split_once(' ')?;
    let (bdf, _) = rest.split_once(": ")?;
    (driver != "pci" && !driver.ends_with(':') && bdf.len() <= 16 && bdf.contains('.')).then_some(bdf)
}
