//! What the boot unit does: reads where the pending trial stands, and in which boot it finds itself.

use super::arm::{arm, disarm, disarm_book};
use super::begin::{Begun, begin};
use super::book::Book;
use super::document::{Pending, pending};
use super::error::TrialError;
use super::history::{self, Told};
use super::journal::{Decision, State, Step};
use super::keep::{fallen, keep, verify, verify_back};
use super::machine::Machine;
use super::{Site, judge};
use crate::host::cmdline::Cmdline;
use crate::ledger::Ledger;
use std::path::Path;

/// What the gate did.
#[derive(Debug)]
pub enum Outcome {
    /// Nothing was pending.
    Idle,
    /// This trial was looked after; where it stands is in it.
    Trial {
        /// The trial.
        told: Box<Told>,
        /// The next change, when one was armed behind it.
        next: Option<Box<Told>>,
        /// A reboot was asked for.
        rebooting: bool,
    },
}

/// True when nothing is pending: the one look that every boot costs.
pub fn idle(target: &Path) -> bool {
    matches!(crate::ledger::pending(target), Ok(None))
}

/// Goes on with what is pending.
///
/// # Errors
///
/// The trial cannot be understood (it is disarmed all the same), or the state folder cannot be written.
pub fn gate(
    site: &Site<'_>,
    ledger: &mut Ledger,
    machine: &mut dyn Machine,
    tell: &mut dyn FnMut(&str),
) -> Result<Outcome, TrialError> {
    let target = site.config.base();
    let Some(mark) = crate::ledger::pending(target)? else { return Ok(Outcome::Idle) };
    let id = match pending(&mark) {
        Some(Pending::Trial(id)) => id,
        Some(Pending::After(id)) => return go_on(site, ledger, &id, machine, tell),
        None => {
            ledger.set_pending(None)?;
            let reason = "the mark of the pending trial says nothing".to_owned();
            return Err(TrialError::Damaged { id: "pending".to_owned(), reason });
        }
    };
    let mut book = match Book::open(ledger, target, &id, &site.boot_id()) {
        Ok(book) => book,
        Err(error @ TrialError::Damaged { .. }) => {
            disarm(site, ledger, &id, None)?;
            ledger.set_pending(None)?;
            // Killed before it was written down: nothing was done.
            let unwritten = crate::ledger::trial_file(target, &id, "trial.json")?.is_none();
            return if unwritten { Ok(Outcome::Idle) } else { Err(error) };
        }
        Err(error) => return Err(error),
    };
    step(site, &mut book, machine, tell)?;
    let told = Box::new(book.told);
    // A kept change runs already, in this boot; after a rejection or an armed step the machine is where it must not stay.
    let wants_reboot = match told.state() {
        State::Kept => told.last_boot() == site.boot_id(),
        State::Armed => true,
        State::Reverted | State::Inconclusive => in_trial(site, &id),
        _ => false,
    };
    let go_on_now = matches!(told.state(), State::Verified | State::DidNotBoot | State::Reverted)
        && !in_trial(site, &id)
        && !idle(target);
    if go_on_now {
        return go_on(site, ledger, &id, machine, tell);
    }
    let rebooting = wants_reboot && told.trial.policy.reboot && machine.reboot().is_ok();
    Ok(Outcome::Trial { told, next: None, rebooting })
}

fn step(
    site: &Site<'_>,
    book: &mut Book<'_>,
    machine: &mut dyn Machine,
    tell: &mut dyn FnMut(&str),
) -> Result<(), TrialError> {
    let id = book.told.trial.id.clone();
    let here = in_trial(site, &id);
    let same_boot = book.told.last_boot() == book.boot;
    if book.told.events.is_empty() {
        // Killed before the first line of the journal.
        book.step(Step::Proposed)?;
    }
    if matches!(book.told.state(), State::Kept | State::Verified | State::NotRunning)
        && let Some(entry) = fallen(site, &book.told)?
    {
        book.step(Step::TakenBack { entry })?;
        return verify_back(site, book);
    }
    match book.told.state() {
        State::Proposed | State::Baselined | State::Arming => {
            disarm_book(site, book)?;
            let reason = interrupted(&book.told, same_boot);
            book.end(Step::Inconclusive { reason })
        }
        State::Stepped => {
            let next = book.told.member() + 1;
            arm_step(site, book, next)
        }
        State::Armed if here => {
            let member = book.told.member();
            book.step(Step::Trialing { member })?;
            decide(site, book, machine, tell)
        }
        State::Armed if same_boot => Ok(()),
        State::Armed => {
            if disarm_book(site, book)? {
                let reason = "the boot loader's block still held the choice: the entry was never started";
                book.end(Step::NotTaken { reason: reason.to_owned() })
            } else {
                let reason = "the entry was started, and this boot is another: it did not load, panicked, hung or \
                              was reset before it could be judged (journalctl -b -1)";
                book.end_and_go_on(Step::DidNotBoot { reason: reason.to_owned() })
            }
        }
        State::Trialing if same_boot => {
            disarm_book(site, book)?;
            machine.judged();
            let reason = match book.told.measuring() {
                Some(what) => format!("the gate was ended while it measured {what}"),
                None => "the gate was ended before it measured".to_owned(),
            };
            book.end(Step::Inconclusive { reason })
        }
        State::Trialing => {
            disarm_book(site, book)?;
            if let Some(what) = book.told.measuring().map(str::to_owned) {
                let reason = format!("the machine was reset while the trial measured {what}");
                return book.end_and_go_on(Step::Reverted { reason, rejected: true });
            }
            let reason = "the machine was reset in the trial boot before it was judged".to_owned();
            book.end_and_go_on(Step::DidNotBoot { reason })
        }
        State::Judged | State::Keeping => carry_out(site, book),
        State::Kept if !same_boot => verify(site, book),
        State::TakenBack if !same_boot => verify_back(site, book),
        State::Kept | State::TakenBack => Ok(()),
        _ => {
            book.ledger.set_pending(None)?;
            Ok(())
        }
    }
}

/// In the trial boot: measures, judges, and does what the verdict says.
fn decide(
    site: &Site<'_>,
    book: &mut Book<'_>,
    machine: &mut dyn Machine,
    tell: &mut dyn FnMut(&str),
) -> Result<(), TrialError> {
    let member = book.told.member();
    let (decision, reason) = match judge::judge(site, book, machine, tell) {
        Ok(judged) => judged,
        // What cannot be judged is not kept; the way back must not depend on it.
        Err(error) => (Decision::Inconclusive, error.to_string()),
    };
    book.step(Step::Judged { member, decision, reason })?;
    machine.judged();
    carry_out(site, book)
}

fn carry_out(site: &Site<'_>, book: &mut Book<'_>) -> Result<(), TrialError> {
    let reason = book.told.reason().to_owned();
    let decision = book.told.events.iter().rev().find_map(|event| match &event.step {
        Step::Judged { decision, .. } => Some(*decision),
        _ => None,
    });
    match decision.unwrap_or(Decision::Inconclusive) {
        Decision::Keep => keep(site, book, &reason),
        Decision::Step => {
            let member = book.told.member();
            disarm_book(site, book)?;
            book.step(Step::Stepped { member })?;
            arm_step(site, book, member + 1)
        }
        Decision::Reject => {
            disarm_book(site, book)?;
            book.end_and_go_on(Step::Reverted { reason, rejected: true })
        }
        Decision::Inconclusive => {
            disarm_book(site, book)?;
            book.end(Step::Inconclusive { reason })
        }
    }
}

/// Arms the next member of a set; what cannot be armed ends the set.
fn arm_step(site: &Site<'_>, book: &mut Book<'_>, member: usize) -> Result<(), TrialError> {
    disarm_book(site, book)?;
    match arm(site, book, member) {
        Err(error @ (TrialError::NoTrial(_) | TrialError::Changes(_))) => {
            disarm_book(site, book)?;
            book.end(Step::Inconclusive { reason: format!("the next step cannot be armed: {error}") })
        }
        other => other,
    }
}

/// The old configuration, or a kept one, runs: the next change has its turn.
fn go_on(
    site: &Site<'_>,
    ledger: &mut Ledger,
    id: &str,
    machine: &mut dyn Machine,
    tell: &mut dyn FnMut(&str),
) -> Result<Outcome, TrialError> {
    let told = history::read(site.config.base(), id)?
        .map_err(|lost| TrialError::Damaged { id: lost.id, reason: lost.reason })?;
    if in_trial(site, id) {
        return Ok(Outcome::Trial { told: Box::new(told), next: None, rebooting: false });
    }
    ledger.set_pending(None)?;
    let mut tried = told.trial.tried.clone();
    if told.rejected() {
        tried.extend(told.trial.members.iter().map(|member| member.name.clone()));
    }
    let policy = told.trial.policy.clone();
    let next = match begin(site, &policy, &tried, ledger, machine, tell)? {
        Begun::Armed { told, .. } => Some(told),
        Begun::Nothing { .. } => None,
    };
    let rebooting = next.is_some() && policy.reboot && machine.reboot().is_ok();
    Ok(Outcome::Trial { told: Box::new(told), next, rebooting })
}

/// This boot is the trial `id`.
fn in_trial(site: &Site<'_>, id: &str) -> bool {
    let line = site.hardware.text("proc/cmdline");
    line.value().is_some_and(|line| Cmdline::parse(line).has(&format!("peerfix.trial={id}")))
}

fn interrupted(told: &Told, same_boot: bool) -> String {
    match (told.measuring(), same_boot) {
        (Some(what), false) => format!(
            "the machine was reset while the baseline measured {what}: the configuration that runs now did that"
        ),
        (Some(what), true) => format!("ended while the baseline measured {what}"),
        (None, _) => "interrupted before the trial was armed".to_owned(),
    }
}
