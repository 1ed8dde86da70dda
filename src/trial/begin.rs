//! Choosing a change, taking the baseline in the running configuration, arming the trial.

use super::arm::{arm, check, disarm_book};
use super::book::Book;
use super::document::{SCHEMA, Trial, TrialPolicy, VERSION, now};
use super::error::TrialError;
use super::history::Told;
use super::journal::Step;
use super::machine::{Machine, Measurement};
use super::request::record;
use super::{Site, judge};
use crate::bench::choose::Refusal;
use crate::ledger::{ChangeRecord, Ledger};
use crate::plan::{Audit, Change, Policy, Selection, select};

/// What came of it.
#[derive(Debug)]
pub enum Begun {
    /// The next boot is the trial.
    Armed {
        /// The trial.
        told: Box<Told>,
        /// Menu entry that was copied, `file:line`.
        copied_from: String,
    },
    /// No change is free to be tried.
    Nothing {
        /// What was found.
        audit: Box<Audit>,
        /// What is left, and why.
        selection: Selection,
    },
}

/// Proposes the first free change (or the set that it belongs to), takes the baseline and arms the trial. `tried` are
/// names of changes that were rejected before: the next rung of their ladder is taken.
///
/// # Errors
///
/// The loader cannot try it once, an edit cannot be made, the GPUs are busy, the state folder cannot be written.
pub fn begin(
    site: &Site<'_>,
    policy: &TrialPolicy,
    tried: &[String],
    ledger: &mut Ledger,
    machine: &mut dyn Machine,
    tell: &mut dyn FnMut(&str),
) -> Result<Begun, TrialError> {
    let audit = Audit::of(site.hardware, site.config, site.catalogue);
    let allowed = Policy { accepted: policy.accepted.clone(), only: policy.only.clone() };
    let (selection, members) = choose(&audit, &allowed, tried)?;
    if members.is_empty() {
        return Ok(Begun::Nothing { audit: Box::new(audit), selection });
    }
    let boot_id = site.boot_id();
    let (Some(kernel), Some(line)) = (audit.host.kernel.release.value(), audit.host.kernel.cmdline.value())
    else {
        return Err(TrialError::Refused("the running kernel or its command line is not known".to_owned()));
    };
    if boot_id.is_empty() {
        let why = "proc/sys/kernel/random/boot_id cannot be read, so a trial could not tell its boots apart";
        return Err(TrialError::Refused(why.to_owned()));
    }
    let mut trial = Trial {
        schema: SCHEMA.to_owned(),
        version: VERSION,
        id: String::new(),
        at: now().to_string(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        members,
        policy: policy.clone(),
        tried: tried.to_vec(),
        kernel: kernel.clone(),
        cmdline: line.text.clone(),
        boot_id,
    };
    let (add, remove) = trial.words(trial.last());
    let copied_from = check(site, &add, &remove)?;
    trial.id = ledger.new_trial()?;
    let mut book = Book::create(ledger, trial)?;
    match baseline(&mut book, &audit, machine, tell).and_then(|()| arm(site, &mut book, 0)) {
        Ok(()) => Ok(Begun::Armed { told: Box::new(book.told), copied_from }),
        Err(error) => {
            disarm_book(site, &mut book)?;
            book.end(Step::Inconclusive { reason: error.to_string() })?;
            Err(error)
        }
    }
}

/// The first free change and those of its set.
fn choose(
    audit: &Audit,
    policy: &Policy,
    tried: &[String],
) -> Result<(Selection, Vec<ChangeRecord>), TrialError> {
    let mut changes: Vec<Change> = audit.changes.clone();
    for change in changes.iter_mut().filter(|change| tried.contains(&change.name)) {
        change.conditional = Some("a trial rejected it".to_owned());
    }
    let selection = select(&audit.findings, &changes, policy)
        .map_err(|refused| TrialError::Edit(Box::new(refused.refusal)))?;
    let chosen: Vec<&Change> = changes.iter().filter(|c| selection.chosen.contains(&c.id)).collect();
    let Some(first) = chosen.first() else { return Ok((selection, Vec::new())) };
    let together =
        |change: &&&Change| change.id == first.id || (first.set.is_some() && change.set == first.set);
    let members = chosen.iter().filter(together).map(|change| record(change, policy)).collect();
    Ok((selection, members))
}

/// Health, findings and a record of the running configuration.
fn baseline(
    book: &mut Book<'_>,
    audit: &Audit,
    machine: &mut dyn Machine,
    tell: &mut dyn FnMut(&str),
) -> Result<(), TrialError> {
    book.put(judge::HEALTH_BEFORE, &machine.health())?;
    book.put(judge::FINDINGS_BEFORE, &judge::findings(audit))?;
    match measure(book, machine, tell)? {
        Ok(record) => book.put(judge::BEFORE, &record)?,
        Err(Refusal::Unsupported(why)) => book.put(judge::NO_RECORD, &why)?,
        Err(Refusal::Busy(why) | Refusal::Usage(why)) => return Err(TrialError::Refused(why)),
    }
    book.step(Step::Baselined)
}

/// Measures, with a line in the journal before each arm.
pub(super) fn measure(
    book: &mut Book<'_>,
    machine: &mut dyn Machine,
    tell: &mut dyn FnMut(&str),
) -> Result<Result<crate::bench::record::Record, Refusal>, TrialError> {
    let policy = &book.told.trial.policy;
    let how = Measurement { quick: policy.quick, budget_s: policy.budget_s };
    let mut failed = None;
    let record = machine.measure(how, &mut |what| {
        tell(what);
        if let Err(error) = book.step(Step::Measuring { what: what.to_owned() }) {
            failed.get_or_insert(error);
        }
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(record),
    }
}
