//! In the trial boot: measure, look, and judge against the baseline (`verdict/gate`).

use super::Site;
use super::begin::measure;
use super::book::Book;
use super::document::{Trial, TrialPolicy};
use super::error::TrialError;
use super::history::Told;
use super::journal::Decision;
use super::machine::Machine;
use crate::bench::choose::Refusal;
use crate::bench::record::Record;
use crate::boot::grub_trial;
use crate::host::health::{Announced, Health, Loss};
use crate::plan::Audit;
use crate::rules::{About, Catalogue};
use crate::verdict::gate::{
    self, Evidence, Found, Judgement, Measured, Observed, Policy, Role, Tried, TriedRule,
};

/// Health of the host at the baseline.
pub(super) const HEALTH_BEFORE: &str = "health-before.json";
/// Findings at the baseline.
pub(super) const FINDINGS_BEFORE: &str = "findings-before.json";
/// Record of the baseline.
pub(super) const BEFORE: &str = "before.json";
/// Why there is none.
pub(super) const NO_RECORD: &str = "no-record.json";

/// Findings as they are kept.
pub(super) fn findings(audit: &Audit) -> Vec<Found> {
    audit.findings.iter().map(Found::from).collect()
}

/// Measures and judges; what it saw and the judgement are kept in the trial's folder.
pub(super) fn judge(
    site: &Site<'_>,
    book: &mut Book<'_>,
    machine: &mut dyn Machine,
    tell: &mut dyn FnMut(&str),
) -> Result<(Decision, String), TrialError> {
    let (target, member) = (site.config.base(), book.told.member());
    if let Some(why) = other_kernel(site, &book.told.trial) {
        return Ok((Decision::Inconclusive, why));
    }
    let missing = |name: &str| TrialError::Damaged {
        id: book.told.trial.id.clone(),
        reason: format!("{name} of the baseline is not there"),
    };
    let health_before: Health = book.get(target, HEALTH_BEFORE)?.ok_or_else(|| missing(HEALTH_BEFORE))?;
    let findings_before: Vec<Found> =
        book.get(target, FINDINGS_BEFORE)?.ok_or_else(|| missing(FINDINGS_BEFORE))?;
    let before: Option<Record> = book.get(target, BEFORE)?;
    let no_record: Option<String> = book.get(target, NO_RECORD)?;
    let tried = tried(site.catalogue, &book.told, member);
    let health = settled(machine, &health_before, &tried.announced);
    book.put(&format!("health-after-{member}.json"), &health)?;
    let after = measure(book, machine, tell)?;
    if let Ok(record) = &after {
        book.put(&format!("after-{member}.json"), record)?;
    }
    let audit = Audit::of(site.hardware, site.config, site.catalogue);
    let findings = findings(&audit);
    book.put(&format!("findings-after-{member}.json"), &findings)?;
    let measured_before = match (&before, &no_record) {
        (Some(record), _) => Measured::Record(record),
        (None, Some(why)) => Measured::NoPair(why),
        (None, None) => Measured::NotTaken("the baseline holds no record"),
    };
    let measured_after = match &after {
        Ok(record) => Measured::Record(record),
        Err(Refusal::Unsupported(why)) => Measured::NoPair(why),
        Err(Refusal::Busy(why) | Refusal::Usage(why)) => Measured::NotTaken(why),
    };
    let boots = [Observed { health: &health_before, measured: measured_before, findings: &findings_before }];
    let policy = measure_of(&book.told.trial.policy);
    let mut evidence = Evidence {
        before: &boots,
        after: Observed { health: &health, measured: measured_after, findings: &findings },
        second: None,
        tried: &tried,
        policy: &policy,
    };
    let mut judgement = gate::judge(&evidence);
    let second;
    if judgement.needs_second_pass {
        second = measure(book, machine, tell)?;
        if let Ok(record) = &second {
            book.put(&format!("after-{member}-again.json"), record)?;
            evidence.second = Some(record);
            judgement = gate::judge(&evidence);
        }
    }
    book.put(&format!("judgement-{member}.json"), &judgement)?;
    Ok(decision(&judgement))
}

/// What the journal calls it. A second pass that could not be had leaves the question open.
fn decision(judgement: &Judgement) -> (Decision, String) {
    let reason = judgement.reason.clone();
    match judgement.decision {
        _ if judgement.needs_second_pass => {
            (Decision::Inconclusive, format!("{reason}; a second pass could not be measured"))
        }
        gate::Decision::Keep => (Decision::Keep, reason),
        gate::Decision::Step => (Decision::Step, reason),
        gate::Decision::Reject => (Decision::Reject, reason),
        gate::Decision::Inconclusive => (Decision::Inconclusive, reason),
        gate::Decision::AskPerson => {
            let switches = judgement.switches.join(", ");
            let keep = "to keep it all the same: peerfix provision --yes --accept-slower";
            (Decision::Inconclusive, format!("{reason} ({switches}); {keep}"))
        }
    }
}

/// Early in a boot links and addresses may still be coming: looks again until nothing is missing or patience ends.
fn settled(machine: &mut dyn Machine, before: &Health, announced: &[Announced]) -> Health {
    loop {
        let now = machine.health();
        let missing = Health::lost(before, &now, announced).iter().any(Loss::counts);
        if !missing || !machine.pause() {
            return now;
        }
    }
}

/// A kernel that is not the baseline's, running or chosen for later boots: the baseline says nothing about it.
fn other_kernel(site: &Site<'_>, trial: &Trial) -> Option<String> {
    let running = site.hardware.line("proc/sys/kernel/osrelease").value().cloned().unwrap_or_default();
    if running != trial.kernel {
        return Some(format!(
            "the baseline was taken with kernel {}, and {running} runs: reboot into the default and start again",
            trial.kernel
        ));
    }
    let image = trial.cmdline.split_whitespace().find_map(|word| word.strip_prefix("BOOT_IMAGE="))?;
    let image = image.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(image, |(_, path)| path);
    match grub_trial::default_kernel(site.config) {
        Ok(default) if default != image => Some(format!(
            "the default entry starts {default} since a kernel update, and the baseline was taken with {image}: \
             reboot into the default and start again"
        )),
        _ => None,
    }
}

/// What this boot changed.
fn tried(catalogue: &Catalogue, told: &Told, member: usize) -> Tried {
    let trial = &told.trial;
    let about = |id: &String| catalogue.get(id).map_or(About::default(), |rule| rule.rule.about);
    let (add, remove) = trial.words(member);
    let last = member == trial.last();
    let role = match (trial.members.len(), last) {
        (1, _) => Role::Alone,
        (_, true) => Role::Last,
        (_, false) => Role::Member,
    };
    // The last member of a set answers for all of them.
    let from = if role == Role::Last { 0 } else { member };
    let answering = trial.members.iter().take(member + 1).skip(from);
    Tried {
        name: if role == Role::Member {
            trial.members.get(member).map(|m| m.name.clone()).unwrap_or_default()
        } else {
            trial.title()
        },
        answers: answering.clone().map(|m| m.name.clone()).collect(),
        rules: answering
            .flat_map(|m| &m.rules)
            .map(|id| TriedRule { id: id.clone(), about: about(id) })
            .collect(),
        announced: Announced::of_words(add.iter().map(String::as_str)),
        trial_words: told.armed().map(|armed| armed.own_words.to_vec()).unwrap_or_default(),
        other_kernel: false,
        set_rules: if role == Role::Alone {
            Vec::new()
        } else {
            trial.members.iter().flat_map(|m| m.rules.clone()).collect()
        },
        add,
        remove,
        role,
    }
}

fn measure_of(policy: &TrialPolicy) -> Policy {
    Policy {
        accept_slower: policy.accept_slower,
        max_staged_loss: policy.max_staged_loss,
        ..Policy::default()
    }
}
