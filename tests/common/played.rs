//! A machine that is played: what it measures depends on the command line that it runs with.

use super::boots::Boots;
use super::hosts;
use super::record::{bdf, calm};
use peerfix::bench::choose::Refusal;
use peerfix::bench::record::{DataError, Outcome as Ended, Record};
use peerfix::bench::run::{Finding, finding};
use peerfix::host::health::{Health, Part};
use peerfix::ledger::{Ledger, RevertOptions, RunPolicy};
use peerfix::root::Root;
use peerfix::rules::Catalogue;
use peerfix::trial::history::Told;
use peerfix::trial::{
    Begun, Machine, Measurement, Outcome, Site, TrialPolicy, after_revert, begin, gate, idle,
};

/// The defaults of the menu.
pub const GRUB: &str = "etc/default/grub";
/// Where trial entries go.
pub const CUSTOM: &str = "boot/grub/custom.cfg";

/// A machine whose transfers depend on the running command line.
pub struct Played<'a> {
    /// It.
    pub host: &'a Boots,
    /// What it measures with this command line.
    pub record: fn(&str) -> Record,
    /// Reboots that were asked for.
    pub rebooted: u32,
}

impl Machine for Played<'_> {
    fn measure(&mut self, _: Measurement, told: &mut dyn FnMut(&str)) -> Result<Record, Refusal> {
        told("first-page 0000:02:00.0 -> 0000:03:00.0");
        told("ce-write 0000:02:00.0 -> 0000:03:00.0");
        Ok((self.record)(&self.host.line()))
    }

    fn health(&mut self) -> Health {
        healthy()
    }

    fn pause(&mut self) -> bool {
        false
    }

    fn judged(&mut self) {}

    fn reboot(&mut self) -> Result<(), String> {
        self.rebooted += 1;
        Ok(())
    }
}

/// A host of which everything is known.
pub fn healthy() -> Health {
    Health {
        cpus: Part::Known { value: vec![0, 1] },
        memory: Part::Known { value: 64 << 30 },
        pci: Part::Known { value: Vec::new() },
        disks: Part::Known { value: Vec::new() },
        mounts: Part::Known { value: Vec::new() },
        interfaces: Part::Known { value: Vec::new() },
        route_v4: Part::Absent,
        route_v6: Part::Absent,
        failed_units: Part::Known { value: Vec::new() },
        ..Health::default()
    }
}

/// Right data between the host's two cards.
pub fn right() -> Record {
    let mut record = calm(7);
    let name = |at: &str| if at == bdf(0) { "0000:02:00.0" } else { "0000:03:00.0" }.to_owned();
    for pair in &mut record.pairs {
        (pair.from, pair.to) = (name(&pair.from), name(&pair.to));
    }
    for gpu in &mut record.gpus {
        gpu.bdf = name(&gpu.bdf);
    }
    record
}

/// The data are wrong unless a passthrough domain is asked for.
pub fn cured_by_pt(line: &str) -> Record {
    if line.contains("iommu=pt") { right() } else { wrong(right()) }
}

/// Nothing helps.
pub fn never_right(_: &str) -> Record {
    wrong(right())
}

/// Every peer arm moves wrong data.
pub fn wrong(mut record: Record) -> Record {
    for arm in record.pairs.iter_mut().flat_map(|pair| &mut pair.arms) {
        if ["ce-read", "ce-write", "sm-read", "sm-write", "first-page"].contains(&arm.name.as_str()) {
            arm.outcome = Ended::Corrupt;
            arm.samples.clear();
            arm.errors =
                vec![DataError { mechanism: "untouched".to_owned(), words: 512, ..DataError::default() }];
        }
    }
    record
}

/// Translated; passthrough is the first rung.
pub fn host() -> Boots {
    Boots::of(hosts::z890(), hosts::z890_clean(), "quiet splash")
}

/// The rules, and where facts come from.
pub struct Run {
    catalogue: Catalogue,
    root: Root,
    hardware: Root,
}

impl Run {
    /// The log of a boot in which `record` moves right data holds no fault.
    pub fn new(host: &Boots, record: fn(&str) -> Record) -> Self {
        let root = Root::open(host.tree.path()).unwrap();
        let right = finding(&record(&host.line())) == Finding::Right;
        let hardware = Root::open(if right { host.cured.path() } else { host.tree.path() }).unwrap();
        let (catalogue, errors) = Catalogue::load(&root);
        assert!(errors.is_empty());
        Self { catalogue, root, hardware }
    }

    /// The site of a trial.
    pub fn site(&self) -> Site<'_> {
        Site {
            hardware: &self.hardware,
            config: &self.root,
            catalogue: &self.catalogue,
            run: RunPolicy::PrintOnly,
        }
    }
}

/// Takes the baseline and arms the first trial.
pub fn provision(host: &Boots, record: fn(&str) -> Record, policy: &TrialPolicy) -> Result<Told, String> {
    let run = Run::new(host, record);
    let mut ledger = Ledger::open(host.tree.path()).map_err(|e| e.to_string())?;
    let mut machine = Played { host, record, rebooted: 0 };
    match begin(&run.site(), policy, &[], &mut ledger, &mut machine, &mut |_| {}) {
        Ok(Begun::Armed { told, .. }) => Ok(*told),
        Ok(Begun::Nothing { selection, .. }) => Err(format!("nothing to try: {:?}", selection.left)),
        Err(error) => Err(error.to_string()),
    }
}

/// The trial that the gate looked after, and the one it armed behind it.
pub fn at_boot(host: &Boots, record: fn(&str) -> Record) -> (Told, Option<Told>) {
    looked_after(host, record).expect("the gate found nothing to do")
}

/// The same; none when there was nothing to look after.
pub fn looked_after(host: &Boots, record: fn(&str) -> Record) -> Option<(Told, Option<Told>)> {
    let run = Run::new(host, record);
    assert!(!idle(host.tree.path()), "nothing is pending");
    let mut ledger = Ledger::open(host.tree.path()).unwrap();
    let mut machine = Played { host, record, rebooted: 0 };
    match gate(&run.site(), &mut ledger, &mut machine, &mut |_| {}).unwrap() {
        Outcome::Trial { told, next, .. } => Some((*told, next.map(|told| *told))),
        Outcome::Idle => None,
    }
}

/// What `revert` does.
pub fn revert(host: &Boots, which: &str) {
    let run = Run::new(host, cured_by_pt);
    let mut ledger = Ledger::open(host.tree.path()).unwrap();
    let options = RevertOptions { dry_run: false, run: RunPolicy::PrintOnly };
    let outcome = ledger.revert(which, options).unwrap();
    after_revert(&run.site(), &mut ledger, &outcome.ids).unwrap();
}

/// Nothing of a trial is left: no entry, no choice, no permanent word.
#[track_caller]
pub fn nothing_left(host: &Boots) {
    assert!(!host.tree.has(CUSTOM), "custom.cfg is left");
    assert_eq!(host.choice(), "");
    assert!(!host.tree.read(GRUB).contains("iommu"), "{}", host.tree.read(GRUB));
}
