//! The gate: what becomes of a change after its trial. Each step of the judgement, and what outranks what.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::record::{FULL, Noise, bdf, calm, ends, first, record, scaled};
use peerfix::bench::record::{Outcome, Record};
use peerfix::host::health::{Announced, Disk, Health, Part, PciFunction};
use peerfix::rules::{About, Severity, Status};
use peerfix::verdict::gate::{
    Decision, Evidence, Found, Judgement, Measured, Observed, Policy, Role, StepName, StepOutcome, TrialCall,
    Tried, TriedRule, judge,
};

/// One boot.
#[derive(Clone)]
struct Boot {
    health: Health,
    record: Result<Record, &'static str>,
    /// The benchmark could not run, which says nothing about the host.
    not_taken: bool,
    findings: Vec<Found>,
}

impl Boot {
    fn seen(&self) -> Observed<'_> {
        let measured = match &self.record {
            Ok(record) => Measured::Record(record),
            Err(why) if self.not_taken => Measured::NotTaken(why),
            Err(why) => Measured::NoPair(why),
        };
        Observed { health: &self.health, measured, findings: &self.findings }
    }
}

/// A whole trial.
struct Trial {
    before: Vec<Boot>,
    after: Boot,
    second: Option<Record>,
    tried: Tried,
    policy: Policy,
}

impl Trial {
    /// A change for a rule about `about`; its finding is there before and gone after, and nothing else differs.
    fn new(about: About) -> Self {
        let boot = |seed, status| Boot {
            health: healthy(),
            record: Ok(booted(calm(seed), &format!("boot-{seed}"))),
            not_taken: false,
            findings: vec![finding(RULE, status, Severity::High, &[&bdf(0), &bdf(1)], "wrong")],
        };
        Self {
            before: vec![boot(1, Status::Fail)],
            after: boot(2, Status::Pass),
            second: None,
            tried: tried(about),
            policy: Policy::default(),
        }
    }

    fn before(mut self, change: impl FnOnce(Record) -> Record) -> Self {
        let boot = self.before.last_mut().unwrap();
        boot.record = Ok(change(boot.record.clone().unwrap()));
        self
    }

    fn after(mut self, change: impl FnOnce(Record) -> Record) -> Self {
        self.after.record = Ok(change(self.after.record.clone().unwrap()));
        self
    }

    /// A second pass of the trial boot.
    fn again(mut self, change: impl FnOnce(Record) -> Record) -> Self {
        self.second = Some(change(booted(calm(3), "boot-2")));
        self
    }

    fn came(mut self, found: Found) -> Self {
        self.after.findings.push(found);
        self
    }

    fn role(mut self, role: Role) -> Self {
        self.tried.role = role;
        self
    }

    fn judge(&self) -> Judgement {
        let before: Vec<Observed<'_>> = self.before.iter().map(Boot::seen).collect();
        let judgement = judge(&Evidence {
            before: &before,
            after: self.after.seen(),
            second: self.second.as_ref(),
            tried: &self.tried,
            policy: &self.policy,
        });
        assert!(!judgement.reason.is_empty() && !judgement.reason.contains('\n'));
        assert_eq!(judgement.steps.len(), 7);
        assert!(judgement.steps.iter().all(|step| !step.found.is_empty()), "{judgement:#?}");
        let text = serde_json::to_string(&judgement).unwrap();
        assert_eq!(serde_json::from_str::<Judgement>(&text).unwrap().decision, judgement.decision);
        judgement
    }

    #[track_caller]
    fn is(&self, decision: Decision, call: TrialCall) -> Judgement {
        let judgement = self.judge();
        assert_eq!((judgement.decision, judgement.call), (decision, call), "{}", judgement.reason);
        judgement
    }
}

const RULE: &str = "example/rule";

fn tried(about: About) -> Tried {
    Tried {
        name: "example".to_owned(),
        answers: vec!["example".to_owned()],
        rules: vec![TriedRule { id: RULE.to_owned(), about }],
        add: vec!["example=1".to_owned()],
        ..Tried::default()
    }
}

/// The change of `iommu/faults` that takes translation away.
fn passthrough() -> Trial {
    let mut trial = Trial::new(About::Correctness);
    "iommu/faults".clone_into(&mut trial.tried.rules[0].id);
    trial.tried.add = vec!["iommu=pt".to_owned()];
    for boot in trial.before.iter_mut().chain([&mut trial.after]) {
        "iommu/faults".clone_into(&mut boot.findings[0].rule);
    }
    trial
}

fn booted(mut record: Record, boot: &str) -> Record {
    record.state.boot_id = Some(boot.to_owned());
    record
}

fn healthy() -> Health {
    let known = |bdf: &str, driver: &str| PciFunction {
        bdf: bdf.to_owned(),
        id: format!("10de:2684 {bdf}"),
        class: "030000".to_owned(),
        driver: Some(driver.to_owned()),
    };
    Health {
        boot_id: Part::Known { value: "x".to_owned() },
        cpus: Part::Known { value: vec![0, 1] },
        memory: Part::Known { value: 64 << 30 },
        pci: Part::Known { value: vec![known(&bdf(0), "nvidia"), known("0000:03:00.0", "vfio-pci")] },
        disks: Part::Known {
            value: vec![Disk {
                name: "sda".to_owned(),
                identity: Some("one".to_owned()),
                place: String::new(),
                bytes: 9,
            }],
        },
        mounts: Part::Known { value: Vec::new() },
        interfaces: Part::Known { value: Vec::new() },
        route_v4: Part::Absent,
        route_v6: Part::Absent,
        failed_units: Part::Known { value: Vec::new() },
        ..Health::default()
    }
}

fn finding(rule: &str, status: Status, severity: Severity, subjects: &[&str], summary: &str) -> Found {
    Found {
        rule: rule.to_owned(),
        status,
        severity,
        subjects: subjects.iter().map(ToString::to_string).collect(),
        summary: summary.to_owned(),
        remedies: Vec::new(),
    }
}

fn step(judgement: &Judgement, name: StepName) -> StepOutcome {
    judgement.steps.iter().find(|step| step.step == name).unwrap().outcome
}

const PEER: [&str; 4] = ["ce-read", "ce-write", "sm-read", "sm-write"];

fn refused(record: Record) -> Record {
    PEER.iter().fold(record, |record, name| ends(record, name, Outcome::Refused))
}

fn failing(mut health: Health, unit: &str) -> Health {
    health.failed_units = Part::Known { value: vec![unit.to_owned()] };
    health
}

// --- 1: health -----------------------------------------------------------------------------------------

#[test]
fn a_loss_that_was_not_announced_is_worse_whatever_was_gained() {
    let mut trial = Trial::new(About::Correctness).before(|r| ends(r, "ce-read", Outcome::Corrupt));
    assert_eq!(trial.judge().decision, Decision::Keep);
    trial.after.health.disks = Part::Known { value: Vec::new() };
    let judgement = trial.is(Decision::Reject, TrialCall::Worse);
    assert_eq!(judgement.reason, "disk sda (0 GB) is gone");
    assert_eq!(judgement.losses.len(), 1);
    assert_eq!(step(&judgement, StepName::Cured), StepOutcome::For, "the later steps are told all the same");
}

#[test]
fn an_announced_loss_does_not_count_and_is_told() {
    let mut trial = Trial::new(About::Correctness);
    let functions = trial.after.health.pci.value().unwrap().clone();
    let unbound = functions.into_iter().map(|mut f| {
        f.driver = f.driver.filter(|driver| driver != "vfio-pci");
        f
    });
    trial.after.health.pci = Part::Known { value: unbound.collect() };
    trial.is(Decision::Reject, TrialCall::Worse);
    trial.tried.announced = vec![Announced::Driver("vfio-pci".to_owned())];
    let judgement = trial.is(Decision::Keep, TrialCall::Same);
    assert!(judgement.steps[0].found[0].starts_with("announced: no driver is bound"), "{judgement:#?}");
}

#[test]
fn health_that_cannot_be_compared_is_no_pass_and_no_cover() {
    let mut trial = Trial::new(About::Correctness);
    trial.after.health.disks = Part::default();
    let judgement = trial.is(Decision::Inconclusive, TrialCall::Inconclusive);
    assert!(judgement.reason.starts_with("disks: not known now"), "{}", judgement.reason);
    assert!(!judgement.needs_second_pass, "another benchmark tells nothing about disks");
    // What speaks against the change is not hidden by what is not known.
    trial.after(|r| ends(r, "ce-read", Outcome::Corrupt)).is(Decision::Reject, TrialCall::Corrupt);
}

#[test]
fn what_fails_in_one_of_several_baselines_is_no_loss() {
    let mut trial = Trial::new(About::Correctness);
    trial.after.health = failing(healthy(), "flaky.service");
    trial.is(Decision::Reject, TrialCall::Worse);
    let mut earlier = trial.before[0].clone();
    earlier.health = failing(healthy(), "flaky.service");
    trial.before.insert(0, earlier);
    trial.is(Decision::Keep, TrialCall::Same);
}

// --- the baseline holds --------------------------------------------------------------------------------

#[test]
fn a_state_that_the_change_does_not_explain_ends_the_comparison() {
    let kernel = |mut record: Record| {
        record.state.kernel = Some("6.12.9".to_owned());
        record
    };
    let mut trial = Trial::new(About::Correctness).after(kernel);
    let judgement = trial.is(Decision::Inconclusive, TrialCall::Inconclusive);
    assert!(judgement.reason.starts_with("state.kernel was \"6.12.3\" before and \"6.12.9\" after"));
    assert!(judgement.reason.contains("the baseline does not hold any more"), "{}", judgement.reason);
    trial.tried.other_kernel = true;
    trial.is(Decision::Keep, TrialCall::Same);
}

#[test]
fn words_of_the_change_and_of_the_trial_explain_a_command_line_and_others_do_not() {
    let line = |text: &str| {
        let text = text.to_owned();
        move |mut record: Record| {
            record.state.cmdline = Some(text);
            record
        }
    };
    let mut trial = Trial::new(About::Correctness)
        .after(line("BOOT_IMAGE=/vmlinuz-6.12.3 root=... quiet example=1 panic=... peerfix.trial=..."));
    assert!(trial.judge().reason.contains("state.cmdline"));
    trial.tried.trial_words = vec!["panic=30".to_owned()];
    trial.is(Decision::Keep, TrialCall::Same);
    let trial = trial.after(line("BOOT_IMAGE=/vmlinuz-6.12.3 root=... example=1 panic=..."));
    let judgement = trial.is(Decision::Inconclusive, TrialCall::Inconclusive);
    assert!(judgement.reason.contains("quiet"), "{}", judgement.reason);
}

#[test]
fn a_parameter_is_explained_by_its_own_word_only() {
    let mut trial = Trial::new(About::Correctness).after(|mut record| {
        record.state.parameters.insert("EnableResizableBar".to_owned(), "1".to_owned());
        record
    });
    assert_eq!(trial.judge().decision, Decision::Inconclusive);
    trial.tried.add = vec!["nvidia.NVreg_EnableResizableBar=1".to_owned()];
    trial.is(Decision::Keep, TrialCall::Same);
}

#[test]
fn what_follows_from_the_change_may_differ_and_another_machine_may_not() {
    let domain = |mut record: Record| {
        record.gpus[0].domain_type = Some("identity".to_owned());
        record
    };
    Trial::new(About::Correctness).after(domain).is(Decision::Keep, TrialCall::Same);
    let renumbered = |mut record: Record| {
        record.gpus[0].bdf = "0000:99:00.0".to_owned();
        record
    };
    let judgement =
        Trial::new(About::Correctness).after(renumbered).is(Decision::Inconclusive, TrialCall::Inconclusive);
    assert!(judgement.reason.starts_with("gpus[].bdf"), "{}", judgement.reason);
}

#[test]
fn a_policy_that_asks_for_more_baselines_than_there_are_is_not_met() {
    let mut trial = Trial::new(About::Correctness);
    trial.policy.baseline_boots = 2;
    assert!(trial.is(Decision::Inconclusive, TrialCall::Inconclusive).reason.contains("2 baseline boots"));
    let mut earlier = trial.before[0].clone();
    trial.before.insert(0, earlier.clone());
    assert_eq!(trial.judge().decision, Decision::Inconclusive, "one boot measured twice is one boot");
    earlier.record = Ok(booted(calm(7), "boot-0"));
    trial.before[0] = earlier;
    trial.is(Decision::Keep, TrialCall::Same);
}

// --- 2: wrong words, hangs, faults ---------------------------------------------------------------------

#[test]
fn a_word_that_became_wrong_vetoes_everything() {
    let faster = |r| scaled(r, "sm-read", 2.0);
    let trial = Trial::new(About::Speed).after(faster);
    trial.is(Decision::Keep, TrialCall::Better);
    let trial = trial.after(|r| ends(r, "ce-write", Outcome::Corrupt));
    let judgement = trial.is(Decision::Reject, TrialCall::Corrupt);
    assert!(
        judgement.reason.contains("ce-write") && judgement.reason.contains("stale"),
        "{}",
        judgement.reason
    );
    // One arm cured does not outweigh another that became wrong.
    let judgement =
        trial.before(|r| ends(r, "ce-read", Outcome::Corrupt)).is(Decision::Reject, TrialCall::Corrupt);
    assert_eq!(step(&judgement, StepName::Cured), StepOutcome::For);
}

#[test]
fn a_path_that_opens_with_wrong_data_is_corrupt() {
    let trial = Trial::new(About::Reach).before(refused).after(|r| ends(r, "sm-read", Outcome::Corrupt));
    trial.is(Decision::Reject, TrialCall::Corrupt);
    trial.role(Role::Member).is(Decision::Reject, TrialCall::Corrupt);
}

#[test]
fn a_hang_outranks_a_cure_and_a_lost_transfer_too() {
    for (outcome, call) in [
        (Outcome::Hang, TrialCall::Hang),
        (Outcome::Crash, TrialCall::Worse),
        (Outcome::Refused, TrialCall::Worse),
    ] {
        let trial = Trial::new(About::Correctness)
            .before(|r| ends(r, "ce-read", Outcome::Corrupt))
            .after(|r| ends(r, "sm-read", outcome));
        trial.is(Decision::Reject, call);
    }
}

#[test]
fn new_faults_xids_and_bus_errors_are_worse_even_with_right_data() {
    let faults: [fn(&mut Record); 3] = [
        |r| first(r, "ce-read").deltas.iommu_faults = Some(4),
        |r| first(r, "ce-read").deltas.xids = Some(vec![79]),
        |r| first(r, "ce-read").deltas.aer_uncorrectable = Some(1),
    ];
    for fault in faults {
        let with = move |mut record: Record| {
            fault(&mut record);
            record
        };
        Trial::new(About::Correctness).after(with).is(Decision::Reject, TrialCall::Worse);
        // Also where the arm was wrong before, and where it was refused.
        let cured = Trial::new(About::Correctness).before(|r| ends(r, "ce-read", Outcome::Corrupt));
        cured.after(with).is(Decision::Reject, TrialCall::Worse);
        Trial::new(About::Reach).before(refused).after(with).is(Decision::Reject, TrialCall::Worse);
    }
}

#[test]
fn a_counter_that_can_no_longer_be_read_is_no_zero() {
    let blind = |mut record: Record| {
        record.pairs.iter_mut().flat_map(|p| &mut p.arms).for_each(|arm| arm.deltas.xids = None);
        record
    };
    let judgement =
        Trial::new(About::Correctness).after(blind).is(Decision::Inconclusive, TrialCall::Inconclusive);
    assert!(judgement.reason.contains("Xids"), "{}", judgement.reason);
    // Verified data says more than a counter.
    let cured = Trial::new(About::Correctness).before(|r| ends(r, "ce-read", Outcome::Corrupt));
    cured.after(blind).is(Decision::Keep, TrialCall::Better);
}

#[test]
fn a_wrong_control_is_the_hosts_fault() {
    let judgement = Trial::new(About::Correctness)
        .after(|r| ends(r, "staged", Outcome::Corrupt))
        .is(Decision::Reject, TrialCall::Corrupt);
    assert!(judgement.reason.contains("host is at fault"), "{}", judgement.reason);
}

#[test]
fn data_that_stays_wrong_is_no_success_and_for_a_member_no_harm() {
    let wrong = |r| ends(r, "ce-read", Outcome::Corrupt);
    let trial = Trial::new(About::Correctness).before(wrong).after(wrong);
    let judgement = trial.is(Decision::Reject, TrialCall::Corrupt);
    assert!(judgement.reason.contains("as before"), "{}", judgement.reason);
    let trial = trial.role(Role::Member);
    trial.is(Decision::Step, TrialCall::Same);
    trial.after(|r| ends(r, "sm-read", Outcome::Hang)).is(Decision::Reject, TrialCall::Hang);
}

#[test]
fn arms_that_were_not_run_because_one_was_wrong_are_no_news_for_a_member() {
    let before = |r| ends(ends(r, "first-page", Outcome::Corrupt), "ce-read", Outcome::Skipped);
    let after = |r| ends(r, "ce-read", Outcome::Corrupt);
    let trial = Trial::new(About::Correctness).before(before).after(after);
    trial.is(Decision::Reject, TrialCall::Corrupt);
    trial.role(Role::Member).is(Decision::Step, TrialCall::Same);
}

#[test]
fn a_direction_that_a_fault_in_the_other_one_ended_is_no_news_for_a_member() {
    let skipped = |mut record: Record| {
        let pair = &mut record.pairs[1];
        assert_eq!((pair.from.as_str(), pair.to.as_str()), (bdf(1).as_str(), bdf(0).as_str()));
        for arm in &mut pair.arms {
            arm.outcome = Outcome::Skipped;
            arm.samples.clear();
        }
        ends(record, "first-page", Outcome::Corrupt)
    };
    let wrong = |mut record: Record| {
        record.pairs.swap(0, 1);
        let mut record = ends(record, "first-page", Outcome::Corrupt);
        record.pairs.swap(0, 1);
        ends(record, "first-page", Outcome::Corrupt)
    };
    let trial = Trial::new(About::Correctness).before(skipped).after(wrong);
    trial.is(Decision::Reject, TrialCall::Corrupt);
    let judgement = trial.role(Role::Member).judge();
    assert_ne!(judgement.decision, Decision::Reject, "{}", judgement.reason);
}

// --- 3: cured ------------------------------------------------------------------------------------------

#[test]
fn data_that_became_right_is_better_whatever_the_speed() {
    let trial = Trial::new(About::Correctness)
        .before(|r| ends(r, "ce-write", Outcome::Corrupt))
        .after(|r| scaled(scaled(r, "sm-read", 0.5), "staged", 0.3));
    let judgement = trial.is(Decision::Keep, TrialCall::Better);
    assert!(judgement.reason.contains("moves right data"), "{}", judgement.reason);
    assert!(!judgement.needs_second_pass);
}

#[test]
fn right_without_a_checked_word_and_refused_instead_of_wrong_are_no_cure() {
    let trial = Trial::new(About::Correctness).before(|r| ends(r, "ce-write", Outcome::Corrupt));
    let unchecked = |mut record: Record| {
        first(&mut record, "ce-write").words_checked = 0;
        record
    };
    let judgement = trial.after(unchecked).is(Decision::Inconclusive, TrialCall::Inconclusive);
    assert!(judgement.reason.contains("no word was checked"), "{}", judgement.reason);
    for outcome in [Outcome::Refused, Outcome::Skipped] {
        Trial::new(About::Correctness)
            .before(|r| ends(r, "ce-write", Outcome::Corrupt))
            .after(|r| ends(r, "ce-write", outcome))
            .is(Decision::Inconclusive, TrialCall::Inconclusive);
    }
}

// --- 4: possible now -----------------------------------------------------------------------------------

#[test]
fn a_path_that_became_possible_and_is_faster_is_better() {
    let judgement = Trial::new(About::Reach).before(refused).is(Decision::Keep, TrialCall::Better);
    assert!(judgement.reason.contains("possible now and faster than what"), "{}", judgement.reason);
    assert!(judgement.switches.is_empty());
}

fn slow_peer(record: Record) -> Record {
    PEER.iter().fold(record, |record, name| scaled(record, name, 0.05))
}

#[test]
fn a_path_that_became_possible_and_is_slower_is_a_choice() {
    let once = Trial::new(About::Reach).before(refused).after(slow_peer);
    let judgement = once.is(Decision::Inconclusive, TrialCall::Inconclusive);
    assert!(judgement.needs_second_pass, "{}", judgement.reason);
    let mut twice = once.again(slow_peer);
    let judgement = twice.is(Decision::AskPerson, TrialCall::PossibleButSlower);
    assert_eq!(judgement.switches, ["GGML_CUDA_NO_PEER_COPY", "NCCL_P2P_DISABLE"]);
    assert!(judgement.reason.contains("NCCL_P2P_DISABLE=1"), "{}", judgement.reason);
    twice.policy.accept_slower = true;
    twice.is(Decision::Keep, TrialCall::PossibleButSlower);
    // A policy that accepts a slower path does not accept anything else.
    let slower = |r| scaled(slow_peer(r), "latency-copy-1048576", 1.5);
    twice.after(slower).again(slower).is(Decision::Reject, TrialCall::Worse);
}

#[test]
fn small_copies_are_compared_apart_from_bulk() {
    let small = |mut record: Record| {
        let mut staged = first(&mut record, "latency-copy-4096").clone();
        staged.name = "driver-staged-4096".to_owned();
        record.pairs[0].arms.push(staged);
        ends(refused(record), "latency-copy-4096", Outcome::Refused)
    };
    let slow = |r| scaled(r, "latency-copy-4096", 1.6);
    let trial = Trial::new(About::Reach).before(small).after(slow).again(slow);
    let judgement = trial.is(Decision::Keep, TrialCall::Better);
    let found = &judgement.steps.iter().find(|s| s.step == StepName::Possible).unwrap().found;
    assert!(
        found.iter().any(|words| words.contains("latency-copy-4096") && words.contains("slower")),
        "{found:?}"
    );
    let both = |r| scaled(slow_peer(r), "latency-copy-4096", 0.5);
    trial.after(both).again(both).is(Decision::AskPerson, TrialCall::PossibleButSlower);
}

#[test]
fn a_path_whose_data_was_not_verified_is_not_open() {
    let unchecked = |mut record: Record| {
        record.pairs[0].arms.iter_mut().for_each(|arm| arm.words_checked = 0);
        record
    };
    let judgement = Trial::new(About::Reach)
        .before(refused)
        .after(unchecked)
        .is(Decision::Inconclusive, TrialCall::Inconclusive);
    assert!(judgement.reason.contains("was not verified"), "{}", judgement.reason);
}

// --- 5: speed ------------------------------------------------------------------------------------------

#[test]
fn worse_needs_two_passes() {
    let slow = |r| scaled(r, "ce-read", 0.8);
    let once = Trial::new(About::Correctness).after(slow);
    let judgement = once.is(Decision::Inconclusive, TrialCall::Inconclusive);
    assert!(
        judgement.needs_second_pass && judgement.reason.contains("worse needs two"),
        "{}",
        judgement.reason
    );
    once.again(slow).is(Decision::Reject, TrialCall::Worse);
    let once = Trial::new(About::Correctness).after(slow).again(|r| r);
    let judgement = once.is(Decision::Inconclusive, TrialCall::Inconclusive);
    assert!(!judgement.needs_second_pass, "there is no third");
    // Two arms, each slow in one pass, are not slower.
    let trial = Trial::new(About::Correctness).after(slow).again(|r| scaled(r, "sm-read", 0.8));
    trial.is(Decision::Inconclusive, TrialCall::Inconclusive);
}

#[test]
fn a_second_pass_settles_what_the_first_left_open() {
    let once = Trial::new(About::Correctness).after(|r| scaled(r, "ce-read", 0.965));
    assert!(once.is(Decision::Inconclusive, TrialCall::Inconclusive).needs_second_pass);
    once.again(|r| r).is(Decision::Keep, TrialCall::Same);
    // Faster in one pass and the same in the other is not faster.
    let trial = Trial::new(About::Speed).after(|r| scaled(r, "ce-read", 1.2)).again(|r| r);
    trial.is(Decision::Reject, TrialCall::Same);
    let other = Trial::new(About::Speed).again(|r| booted(r, "boot-9"));
    assert!(other.is(Decision::Inconclusive, TrialCall::Inconclusive).reason.contains("another boot"));
    // Wrong data in the second pass counts as much as in the first.
    let trial = Trial::new(About::Speed).again(|r| ends(r, "ce-read", Outcome::Corrupt));
    trial.is(Decision::Reject, TrialCall::Corrupt);
}

#[test]
fn speed_alone_needs_five_percent_or_a_second_baseline() {
    let faster = |r| scaled(r, "ce-read", 1.045);
    Trial::new(About::Speed).after(faster).again(faster).is(Decision::Reject, TrialCall::Same);
    Trial::new(About::Speed).after(|r| scaled(r, "ce-read", 1.1)).is(Decision::Keep, TrialCall::Better);
    let mut trial = Trial::new(About::Speed).after(faster);
    let mut earlier = trial.before[0].clone();
    earlier.record = Ok(booted(calm(7), "boot-0"));
    trial.before.insert(0, earlier);
    trial.is(Decision::Keep, TrialCall::Better);
}

#[test]
fn what_boots_do_by_themselves_is_the_floor() {
    let drop = |r| scaled(r, "ce-read", 0.94);
    let mut trial = Trial::new(About::Correctness).after(drop).again(drop);
    trial.is(Decision::Reject, TrialCall::Worse);
    let mut earlier = trial.before[0].clone();
    earlier.record = Ok(booted(scaled(calm(7), "ce-read", 0.92), "boot-0"));
    trial.before.insert(0, earlier);
    trial.is(Decision::Keep, TrialCall::Same);
    // The floor of one arm covers no other.
    let other = |r| scaled(r, "sm-read", 0.94);
    trial.after(other).again(other).is(Decision::Reject, TrialCall::Worse);
}

#[test]
fn staging_may_lose_what_the_policy_says() {
    let slow = |factor: f64| move |r| scaled(r, "staged", factor);
    let mut trial = Trial::new(About::Correctness).after(slow(0.8)).again(slow(0.8));
    let judgement = trial.is(Decision::Reject, TrialCall::Worse);
    assert!(judgement.reason.starts_with("staged "), "{}", judgement.reason);
    trial.policy.max_staged_loss = 25.0;
    trial.is(Decision::Keep, TrialCall::Same);
    trial
        .after(|r| scaled(r, "ce-read", 0.8))
        .again(|r| scaled(r, "ce-read", 0.8))
        .is(Decision::Reject, TrialCall::Worse);
}

#[test]
fn the_same_is_kept_for_right_data_and_for_nothing_else() {
    Trial::new(About::Correctness).is(Decision::Keep, TrialCall::Same);
    for about in [About::Speed, About::Reach, About::Reporting] {
        Trial::new(about).is(Decision::Reject, TrialCall::Same);
    }
}

#[test]
fn noise_alone_keeps_and_rejects_nothing_by_itself() {
    let noise = Noise { sigma: 0.01, record: 0.004, ..Noise::default() };
    let mut better = 0;
    for seed in 0..40 {
        let mut trial = Trial::new(About::Speed);
        trial.before[0].record = Ok(booted(record(seed * 3 + 1, 2, FULL, noise, noise), "boot-1"));
        trial.after.record = Ok(booted(record(seed * 3 + 2, 2, FULL, noise, noise), "boot-2"));
        trial.second = Some(booted(record(seed * 3 + 3, 2, FULL, noise, noise), "boot-2"));
        let judgement = trial.judge();
        assert_ne!(judgement.call, TrialCall::Worse, "{seed}: {}", judgement.reason);
        better += usize::from(judgement.call == TrialCall::Better);
    }
    assert!(better <= 2, "{better} of 40");
}

// --- 6: the findings -----------------------------------------------------------------------------------

#[test]
fn a_finding_that_is_still_there_rejects_even_what_is_faster() {
    let mut trial = Trial::new(About::Speed).after(|r| scaled(r, "ce-read", 1.5));
    trial.after.findings[0].status = Status::Fail;
    let judgement = trial.is(Decision::Reject, TrialCall::Better);
    assert_eq!(judgement.reason, "example/rule is still there: wrong");
    trial.after.findings[0].subjects = vec![bdf(1)];
    trial.is(Decision::Reject, TrialCall::Better);
    // What remains is a lesser matter.
    trial.after.findings[0].severity = Severity::Low;
    trial.is(Decision::Keep, TrialCall::Better);
}

#[test]
fn a_rule_that_cannot_be_judged_any_more_is_no_pass() {
    let mut trial = Trial::new(About::Correctness);
    trial.after.findings[0].status = Status::Unknown;
    trial.is(Decision::Inconclusive, TrialCall::Inconclusive);
    trial.after.findings.clear();
    trial.is(Decision::Inconclusive, TrialCall::Inconclusive);
    let mut other = Trial::new(About::Correctness);
    other.before[0].findings.push(finding("pcie/aer-errors", Status::Pass, Severity::High, &[], ""));
    let other = other.came(finding("pcie/aer-errors", Status::Unknown, Severity::High, &[], "no counters"));
    let judgement = other.is(Decision::Inconclusive, TrialCall::Inconclusive);
    assert!(judgement.reason.starts_with("pcie/aer-errors could be judged before"), "{}", judgement.reason);
    let mut lesser = Trial::new(About::Correctness);
    lesser.before[0].findings.push(finding("pcie/aer-errors", Status::Pass, Severity::Low, &[], ""));
    lesser
        .came(finding("pcie/aer-errors", Status::Unknown, Severity::Low, &[], ""))
        .is(Decision::Keep, TrialCall::Same);
}

#[test]
fn other_findings_of_the_same_rule_are_not_the_changes() {
    let mut trial = Trial::new(About::Correctness);
    trial.before[0].findings[0].remedies = vec!["example".to_owned()];
    let stranger = finding(RULE, Status::Warn, Severity::Medium, &["0000:07:00.0"], "a sound card");
    trial.before[0].findings.push(stranger.clone());
    trial.after.findings = vec![stranger];
    trial.is(Decision::Keep, TrialCall::Same);
}

#[test]
fn a_new_finding_as_grave_is_worse_and_a_lesser_or_an_old_one_is_not() {
    let cured = || Trial::new(About::Correctness).before(|r| ends(r, "ce-read", Outcome::Corrupt));
    let grave = finding("bar/unassigned", Status::Fail, Severity::High, &[&bdf(1)], "no address");
    let judgement = cured().came(grave.clone()).is(Decision::Reject, TrialCall::Worse);
    assert!(judgement.reason.starts_with("bar/unassigned came: no address"), "{}", judgement.reason);
    let lesser = finding("bar/unassigned", Status::Fail, Severity::Medium, &[&bdf(1)], "");
    cured().came(lesser).is(Decision::Keep, TrialCall::Better);
    let mut old = cured();
    old.before[0].findings.push(grave.clone());
    let old = old.came(grave.clone());
    old.is(Decision::Keep, TrialCall::Better);
    let mut wider =
        cured().came(finding("bar/unassigned", Status::Fail, Severity::High, &[&bdf(0), &bdf(1)], "two"));
    wider.before[0].findings.push(grave.clone());
    wider.is(Decision::Reject, TrialCall::Worse);
    let mut announced = cured().came(grave);
    announced.tried.announced = vec![Announced::Finding("bar/unassigned".to_owned())];
    announced.is(Decision::Keep, TrialCall::Better);
}

#[test]
fn words_of_the_trial_are_no_drift_and_others_are() {
    let drift =
        |rule, subject: &str, summary: &str| finding(rule, Status::Warn, Severity::High, &[subject], summary);
    let mut trial = Trial::new(About::Correctness).came(drift("boot/cmdline-drift", "example=1", "x"));
    trial.is(Decision::Keep, TrialCall::Same);
    trial.after.findings[1].subjects.push("quiet".to_owned());
    trial.is(Decision::Reject, TrialCall::Worse);
    let module = |subject: &str| {
        let mut trial = Trial::new(About::Correctness).came(drift(
            "nvidia/params-not-loaded",
            subject,
            "Configured, not loaded",
        ));
        trial.tried.add = vec!["nvidia-uvm.uvm_disable_hmm=1".to_owned()];
        trial.judge().decision
    };
    assert_eq!(module("nvidia_uvm.uvm_disable_hmm"), Decision::Keep);
    assert_eq!(module("nvidia_uvm.uvm_debug"), Decision::Reject);
    let shadow = |summary| {
        let found = drift("modprobe/shadowed-option", "etc/modprobe.d/x.conf:1", summary);
        Trial::new(About::Correctness).came(found).judge().decision
    };
    assert_eq!(shadow("Lost to a later line: example=0 at etc/modprobe.d/x.conf:1"), Decision::Keep);
    assert_eq!(shadow("Lost to a later line: other.example2=0 at etc/modprobe.d/x.conf:1"), Decision::Reject);
}

#[test]
fn without_a_finding_before_none_is_gone() {
    let mut trial = Trial::new(About::Correctness);
    trial.before[0].findings.clear();
    trial.is(Decision::Inconclusive, TrialCall::Inconclusive);
}

// --- translation taken away ----------------------------------------------------------------------------

#[test]
fn without_translation_silence_is_no_evidence_and_verified_data_is() {
    passthrough().is(Decision::Keep, TrialCall::Same);
    let unverified = |mut record: Record| {
        record.pairs.iter_mut().flat_map(|p| &mut p.arms).for_each(|arm| arm.words_checked = 0);
        record
    };
    let judgement = passthrough().after(unverified).is(Decision::Inconclusive, TrialCall::Inconclusive);
    assert!(judgement.reason.contains("silent whatever happens"), "{}", judgement.reason);
    let mut translated = passthrough().after(unverified);
    translated.tried.add = vec!["pcie_aspm=off".to_owned()];
    translated.is(Decision::Keep, TrialCall::Same);
    let mut elsewhere = passthrough();
    elsewhere.before[0].findings[0].subjects = vec!["0000:77:00.0".to_owned()];
    elsewhere.is(Decision::Inconclusive, TrialCall::Inconclusive);
}

// --- no record -----------------------------------------------------------------------------------------

#[test]
fn pairs_that_can_no_longer_be_measured_are_worse() {
    let mut trial = Trial::new(About::Correctness);
    trial.after.record = Err("the driver does not answer");
    let judgement = trial.is(Decision::Reject, TrialCall::Worse);
    assert!(judgement.reason.contains("the driver does not answer"), "{}", judgement.reason);
    trial.after.not_taken = true;
    trial.is(Decision::Inconclusive, TrialCall::Inconclusive);
    let one = |mut record: Record| {
        record.gpus.truncate(1);
        record.pairs.truncate(1);
        record
    };
    let judgement = Trial::new(About::Correctness).after(one).is(Decision::Reject, TrialCall::Worse);
    assert!(judgement.reason.contains(&bdf(1)), "{}", judgement.reason);
}

fn unmeasured(about: About) -> Trial {
    let mut trial = Trial::new(about);
    trial.before[0].record = Err("one GPU");
    trial.after.record = Err("one GPU");
    trial
}

#[test]
fn where_nothing_can_be_measured_health_and_findings_judge_and_say_so() {
    let judgement = unmeasured(About::Correctness).is(Decision::Keep, TrialCall::Same);
    assert!(judgement.reason.contains("judged by these alone"), "{}", judgement.reason);
    assert_eq!(step(&judgement, StepName::Speed), StepOutcome::NotJudged);
    for about in [About::Reach, About::Speed] {
        unmeasured(about).is(Decision::Inconclusive, TrialCall::Inconclusive);
    }
    let mut lost = unmeasured(About::Correctness);
    lost.after.health.disks = Part::Known { value: Vec::new() };
    lost.is(Decision::Reject, TrialCall::Worse);
    let mut remains = unmeasured(About::Correctness);
    remains.after.findings[0].status = Status::Fail;
    remains.is(Decision::Reject, TrialCall::Same);
    let mut silent = unmeasured(About::Correctness);
    "iommu/faults".clone_into(&mut silent.tried.rules[0].id);
    silent.tried.add = vec!["intel_iommu=off".to_owned()];
    for boot in silent.before.iter_mut().chain([&mut silent.after]) {
        "iommu/faults".clone_into(&mut boot.findings[0].rule);
    }
    silent.is(Decision::Inconclusive, TrialCall::Inconclusive);
}

#[test]
fn pairs_that_can_be_measured_for_the_first_time_need_right_data() {
    let mut trial = Trial::new(About::Reach);
    trial.before[0].record = Err("no driver");
    let judgement = trial.is(Decision::Keep, TrialCall::Better);
    assert!(judgement.reason.contains("every pair moves right data"), "{}", judgement.reason);
    let trial = trial.after(|r| ends(r, "ce-read", Outcome::Corrupt));
    trial.is(Decision::Reject, TrialCall::Corrupt);
}

#[test]
fn without_a_baseline_nothing_is_kept() {
    let mut trial = Trial::new(About::Correctness);
    trial.before.clear();
    trial.is(Decision::Inconclusive, TrialCall::Inconclusive);
}

// --- sets ----------------------------------------------------------------------------------------------

#[test]
fn a_member_passes_as_a_step_when_its_rung_opens_and_nothing_is_worse() {
    let member = || Trial::new(About::Reach).role(Role::Member);
    let judgement = member().is(Decision::Step, TrialCall::Same);
    assert!(judgement.reason.contains("judged with its last member"), "{}", judgement.reason);
    let mut closed = member();
    closed.after.findings[0].status = Status::Fail;
    closed.is(Decision::Reject, TrialCall::Same);
    let slow = |r| scaled(r, "ce-read", 0.8);
    assert!(member().after(slow).is(Decision::Inconclusive, TrialCall::Inconclusive).needs_second_pass);
    member().after(slow).again(slow).is(Decision::Reject, TrialCall::Worse);
    member().after(slow).again(|r| r).is(Decision::Step, TrialCall::Inconclusive);
    let mut lost = member();
    lost.after.health.disks = Part::Known { value: Vec::new() };
    lost.is(Decision::Reject, TrialCall::Worse);
}

#[test]
fn the_next_rung_that_shows_once_a_member_opened_its_own_is_no_news() {
    let next = finding("iommu/needs-translation", Status::Fail, Severity::High, &[&bdf(0)], "too high");
    let mut trial = Trial::new(About::Reach).role(Role::Member).came(next);
    trial.is(Decision::Reject, TrialCall::Worse);
    trial.tried = trial.tried.clone().in_set(Role::Member, &["iommu/needs-translation".to_owned()]);
    trial.is(Decision::Step, TrialCall::Same);
    // The last member has nobody after it.
    trial.tried.role = Role::Last;
    trial.is(Decision::Reject, TrialCall::Worse);
}

#[test]
fn the_last_member_answers_for_the_whole_set() {
    let mut earlier = tried(About::Reach);
    "first".clone_into(&mut earlier.name);
    earlier.answers = vec!["first".to_owned()];
    "first/rule".clone_into(&mut earlier.rules[0].id);
    earlier.add = vec!["first=1".to_owned()];
    let mut trial = Trial::new(About::Reach).before(refused);
    trial.tried = trial.tried.clone().after(&earlier, Role::Last);
    assert_eq!(trial.tried.add, ["example=1", "first=1"]);
    trial.before[0].findings.push(finding("first/rule", Status::Fail, Severity::High, &[], "closed"));
    let open = finding("first/rule", Status::Pass, Severity::High, &[], "");
    trial.after.findings.push(open);
    trial.is(Decision::Keep, TrialCall::Better);
    trial.after.findings[1].status = Status::Fail;
    trial.is(Decision::Reject, TrialCall::Better);
    let mut same = Trial::new(About::Reach).role(Role::Last);
    same.tried.answers.push("first".to_owned());
    same.is(Decision::Reject, TrialCall::Same);
}

// --- rules ---------------------------------------------------------------------------------------------

#[test]
fn every_built_in_rule_says_what_is_at_stake() {
    for (file, text) in peerfix::rules::embedded::FILES {
        let table: toml::Table = text.parse().unwrap();
        for rule in table["rule"].as_array().unwrap() {
            assert!(rule.get("about").is_some(), "{file}: {}", rule["id"]);
        }
    }
    let (catalogue, _) = peerfix::rules::Catalogue::embedded();
    assert_eq!(catalogue.get("iommu/faults").unwrap().rule.about, About::Correctness);
    assert_eq!(catalogue.get("boot/cmdline-drift").unwrap().rule.about, About::Reporting);
}
