//! Trial boots: what is armed, what each kind of boot leads to, and that nothing is left of what was not kept. GRUB and
//! the machine are played here; real ones are in tests/boot_stories.

#![allow(clippy::unwrap_used)]

mod common;

use common::boots::{Boots, Started};
use common::hosts;
use common::record::{bdf, calm};
use peerfix::bench::choose::Refusal;
use peerfix::bench::record::{DataError, Outcome as Ended, Record};
use peerfix::bench::run::{Finding, finding};
use peerfix::host::health::{Health, Part};
use peerfix::ledger::{Ledger, RevertOptions, RunPolicy, history};
use peerfix::root::Root;
use peerfix::rules::Catalogue;
use peerfix::trial::history::Told;
use peerfix::trial::{
    Begun, Machine, Measurement, Outcome, Site, State, TrialPolicy, after_revert, begin, gate, idle,
};

const GRUB: &str = "etc/default/grub";
const CUSTOM: &str = "boot/grub/custom.cfg";

/// A machine whose transfers depend on the running command line.
struct Played<'a> {
    host: &'a Boots,
    record: fn(&str) -> Record,
    rebooted: u32,
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
fn healthy() -> Health {
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
fn right() -> Record {
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
fn cured_by_pt(line: &str) -> Record {
    if line.contains("iommu=pt") { right() } else { wrong(right()) }
}

fn never_right(_: &str) -> Record {
    wrong(right())
}

/// Every peer arm moves wrong data.
fn wrong(mut record: Record) -> Record {
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

fn host() -> Boots {
    Boots::of(hosts::z890(), hosts::z890_clean(), "quiet splash")
}

struct Run {
    catalogue: Catalogue,
    root: Root,
    hardware: Root,
}

impl Run {
    /// The log of a boot in which `record` moves right data holds no fault.
    fn new(host: &Boots, record: fn(&str) -> Record) -> Self {
        let root = Root::open(host.tree.path()).unwrap();
        let right = finding(&record(&host.line())) == Finding::Right;
        let hardware = Root::open(if right { host.cured.path() } else { host.tree.path() }).unwrap();
        let (catalogue, errors) = Catalogue::load(&root);
        assert!(errors.is_empty());
        Self { catalogue, root, hardware }
    }

    fn site(&self) -> Site<'_> {
        Site {
            hardware: &self.hardware,
            config: &self.root,
            catalogue: &self.catalogue,
            run: RunPolicy::PrintOnly,
        }
    }
}

fn provision(host: &Boots, record: fn(&str) -> Record, policy: &TrialPolicy) -> Result<Told, String> {
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
fn at_boot(host: &Boots, record: fn(&str) -> Record) -> (Told, Option<Told>) {
    let run = Run::new(host, record);
    assert!(!idle(host.tree.path()), "nothing is pending");
    let mut ledger = Ledger::open(host.tree.path()).unwrap();
    let mut machine = Played { host, record, rebooted: 0 };
    match gate(&run.site(), &mut ledger, &mut machine, &mut |_| {}).unwrap() {
        Outcome::Trial { told, next, .. } => (*told, next.map(|told| *told)),
        Outcome::Idle => panic!("the gate found nothing to do"),
    }
}

fn revert(host: &Boots, which: &str) {
    let run = Run::new(host, cured_by_pt);
    let mut ledger = Ledger::open(host.tree.path()).unwrap();
    let options = RevertOptions { dry_run: false, run: RunPolicy::PrintOnly };
    let outcome = ledger.revert(which, options).unwrap();
    after_revert(&run.site(), &mut ledger, &outcome.ids).unwrap();
}

/// Nothing of a trial is left: no entry, no choice, no permanent word.
#[track_caller]
fn nothing_left(host: &Boots) {
    assert!(!host.tree.has(CUSTOM), "custom.cfg is left");
    assert_eq!(host.choice(), "");
    assert!(!host.tree.read(GRUB).contains("iommu"), "{}", host.tree.read(GRUB));
}

#[test]
fn a_cure_is_armed_measured_kept_and_verified() {
    let host = host();
    let told = provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap();
    assert_eq!(told.state(), State::Armed);
    assert_eq!(host.choice(), "peerfix-trial-t1");
    assert!(!host.tree.read(GRUB).contains("iommu=pt"), "nothing permanent is written before the verdict");

    assert_eq!(host.start(), Started::Chosen);
    assert!(host.line().contains("iommu=pt") && host.line().contains("peerfix.trial=t1"), "{}", host.line());
    let (told, _) = at_boot(&host, cured_by_pt);
    assert_eq!(told.state(), State::Kept, "{}", told.reason());
    assert!(host.tree.read(GRUB).contains("iommu=pt"));
    assert!(!host.tree.has(CUSTOM), "the trial's entry is gone");

    host.regenerate();
    assert_eq!(host.start(), Started::Default);
    assert!(host.line().contains("iommu=pt"));
    let (told, _) = at_boot(&host, cured_by_pt);
    assert_eq!(told.state(), State::Verified, "{}", told.reason());
    assert!(idle(host.tree.path()));
}

#[test]
fn taking_a_kept_change_back_is_checked_at_the_next_boot() {
    let host = host();
    provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap();
    host.start();
    at_boot(&host, cured_by_pt);
    host.regenerate();
    host.start();
    at_boot(&host, cured_by_pt);

    revert(&host, "last");
    assert!(!host.tree.read(GRUB).contains("iommu=pt"));
    host.regenerate();
    host.start();
    let (told, _) = at_boot(&host, cured_by_pt);
    assert_eq!(told.state(), State::VerifiedBack);
    nothing_left(&host);
}

#[test]
fn a_kept_change_that_the_menu_never_got_is_told() {
    let host = host();
    provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap();
    host.start();
    at_boot(&host, cured_by_pt);
    // Nobody ran update-grub.
    host.start();
    let (told, _) = at_boot(&host, cured_by_pt);
    assert_eq!(told.state(), State::NotRunning);
    assert!(told.reason().contains("iommu=pt"), "{}", told.reason());
}

#[test]
fn what_does_not_help_is_rejected_and_the_next_rung_waits_for_consent() {
    let host = host();
    provision(&host, never_right, &TrialPolicy::default()).unwrap();
    host.start();
    let (told, _) = at_boot(&host, never_right);
    assert_eq!(told.state(), State::Reverted, "{}", told.reason());
    nothing_left(&host);
    host.start();
    let (_, next) = at_boot(&host, never_right);
    assert!(next.is_none(), "the next rung needs consent");
    assert!(idle(host.tree.path()));
}

#[test]
fn with_consent_the_next_rung_is_armed_by_itself() {
    let host = host();
    let accepted = ["dma-isolation", "stray-dma"].map(str::to_owned).into();
    let policy = TrialPolicy { accepted, ..TrialPolicy::default() };
    let cured_by_off = |line: &str| if line.contains("intel_iommu=off") { right() } else { wrong(right()) };
    provision(&host, cured_by_off, &policy).unwrap();
    host.start();
    let (told, _) = at_boot(&host, cured_by_off);
    assert_eq!(told.state(), State::Reverted, "{}", told.reason());
    host.start();
    let (_, next) = at_boot(&host, cured_by_off);
    let next = next.unwrap();
    assert_eq!(next.trial.tried, ["iommu-pt"]);
    assert!(next.trial.members[0].add.contains(&"intel_iommu=off".to_owned()));
    assert_eq!(host.start(), Started::Chosen);
    let (told, _) = at_boot(&host, cured_by_off);
    assert_eq!(told.state(), State::Kept, "{}", told.reason());
}

#[test]
fn a_panic_leads_back_and_is_not_tried_again() {
    let host = host();
    provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap();
    assert_eq!(host.start_and_panic(), Started::Default);
    let (told, next) = at_boot(&host, cured_by_pt);
    assert_eq!(told.state(), State::DidNotBoot);
    assert!(next.is_none());
    nothing_left(&host);
    assert!(idle(host.tree.path()));
}

#[test]
fn an_entry_that_was_never_started_is_not_blamed() {
    let host = host();
    provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap();
    // Another loader, or a kexec: GRUB never read its block.
    host.runs(&host.line());
    let (told, _) = at_boot(&host, cured_by_pt);
    assert_eq!(told.state(), State::NotTaken);
    nothing_left(&host);
}

#[test]
fn the_gate_in_the_boot_that_armed_it_changes_nothing() {
    let host = host();
    provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap();
    let (told, _) = at_boot(&host, cured_by_pt);
    assert_eq!(told.state(), State::Armed);
    assert_eq!(host.choice(), "peerfix-trial-t1");
}

#[test]
fn an_armed_trial_is_given_up_by_revert() {
    let host = host();
    provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap();
    revert(&host, "last");
    nothing_left(&host);
    assert!(idle(host.tree.path()));
}

#[test]
fn a_reset_while_measuring_is_blamed_on_the_arm() {
    let host = host();
    provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap();
    host.start();
    // The machine stops in the middle of the measurement: the journal holds what it was doing.
    let journal = "var/lib/peerfix/trials/t1/journal";
    let boot = host.tree.read("proc/sys/kernel/random/boot_id");
    for step in
        [r#""state":"trialing","member":0"#, r#""state":"measuring","what":"ce-write 02:00.0 -> 03:00.0""#]
    {
        let line = format!("{{\"at\":\"2030-01-02T03:04:05Z\",\"boot\":\"{}\",{step}}}\n", boot.trim());
        let text = host.tree.read(journal) + &line;
        std::fs::write(host.tree.path().join(journal), text).unwrap();
    }
    host.start();
    let (told, _) = at_boot(&host, cured_by_pt);
    assert_eq!(told.state(), State::Reverted);
    assert!(told.reason().contains("ce-write 02:00.0"), "{}", told.reason());
    nothing_left(&host);
}

#[test]
fn custom_entries_of_the_host_keep_their_bytes() {
    let mine = "# mine\nmenuentry 'Memtest' --id mem {\n\tlinux16 /boot/memtest86+.bin\n}";
    let host = Boots::of(hosts::z890().file(CUSTOM, mine), hosts::z890_clean(), "quiet splash");
    provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap();
    assert!(host.tree.read(CUSTOM).starts_with(mine));
    host.start_and_panic();
    at_boot(&host, cured_by_pt);
    assert_eq!(host.tree.read(CUSTOM), mine);
}

#[test]
fn a_menu_that_does_not_forget_is_refused_and_nothing_is_written() {
    let host = host();
    let cfg = host.tree.read("boot/grub/grub.cfg").replace("   save_env next_entry\n", "");
    std::fs::write(host.tree.path().join("boot/grub/grub.cfg"), cfg).unwrap();
    let before = host.tree.digest_of_host();
    let error = provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap_err();
    assert!(error.contains("next_entry") && error.contains("no trial is armed"), "{error}");
    assert_eq!(before, host.tree.digest_of_host());
    assert!(history::list(host.tree.path()).unwrap().is_empty() && idle(host.tree.path()));
}

#[test]
fn a_trial_that_cannot_be_read_is_disarmed_all_the_same() {
    let host = host();
    provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap();
    std::fs::write(host.tree.path().join("var/lib/peerfix/trials/t1/trial.json"), "{").unwrap();
    let run = Run::new(&host, cured_by_pt);
    let mut ledger = Ledger::open(host.tree.path()).unwrap();
    let mut machine = Played { host: &host, record: cured_by_pt, rebooted: 0 };
    let error = gate(&run.site(), &mut ledger, &mut machine, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("t1"), "{error}");
    nothing_left(&host);
    assert!(idle(host.tree.path()));
}

#[test]
fn the_root_of_a_kernel_without_initramfs_is_found_by_its_number() {
    let root = |device: &str| {
        Boots::of(
            hosts::z890()
                .file("proc/1/mountinfo", "21 1 259:2 / / rw,relatime shared:1 - ext4 /dev/root rw\n")
                .link("sys/dev/block/259:2", &format!("../../devices/virtual/block/{device}")),
            hosts::z890_clean(),
            "quiet splash",
        )
    };
    let mounts = "/dev/root / ext4 rw,relatime 0 0\n";
    let host = root("nvme0n1p2");
    std::fs::write(host.tree.path().join("proc/mounts"), mounts).unwrap();
    assert_eq!(provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap().state(), State::Armed);
    let host = root("md0");
    std::fs::write(host.tree.path().join("proc/mounts"), mounts).unwrap();
    let error = provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap_err();
    assert!(error.contains("is on MD"), "{error}");
}
