//! The permanent configuration of a change that was judged good, its check at the next boot, and what happens to it when
//! a person takes it back.

use super::Site;
use super::arm::disarm_book;
use super::book::Book;
use super::document::Pending;
use super::error::TrialError;
use super::history;
use super::journal::{State, Step};
use super::request::request;
use crate::ledger::{ChangeRecord, Ledger, LedgerError};
use crate::plan::{self, Audit, Words, combine_words};
use crate::rules::Status;

/// Writes it. Safe to repeat: what stands there already is not written again.
pub(super) fn keep(site: &Site<'_>, book: &mut Book<'_>, reason: &str) -> Result<(), TrialError> {
    if book.told.state() != State::Keeping {
        book.step(Step::Keeping)?;
    }
    let trial = book.told.trial.clone();
    let audit = Audit::of(site.hardware, site.config, site.catalogue);
    let (line, options) = words(&trial.members);
    let place = plan::Site { root: site.config, host: &audit.host, boot: &audit.boot };
    let combined = match combine_words(place, &line, &options) {
        Ok(combined) => combined,
        Err(refusal) => {
            let reason = format!(
                "judged good, but it cannot be made permanent: {}: {}",
                refusal.place, refusal.reason
            );
            disarm_book(site, book)?;
            return book.end(Step::Inconclusive { reason });
        }
    };
    let changes = trial.members.iter().map(|member| with_trial(member, &trial.id)).collect();
    let applied = match book.ledger.apply(&request(changes, &combined, site.run)) {
        Ok(applied) => applied,
        Err(LedgerError::CommandFailed(failure)) => {
            disarm_book(site, book)?;
            let reason = format!("judged good, but its command failed: {failure}");
            return book.end(Step::Inconclusive { reason });
        }
        Err(error) => return Err(error.into()),
    };
    let entry = match applied.id {
        Some(id) => Some(id),
        None => standing(site, &trial.id)?,
    };
    disarm_book(site, book)?;
    book.step(Step::Kept { entry, reason: reason.to_owned() })
}

/// In a later boot: does the kept configuration run?
pub(super) fn verify(site: &Site<'_>, book: &mut Book<'_>) -> Result<(), TrialError> {
    let audit = Audit::of(site.hardware, site.config, site.catalogue);
    match not_running(&audit, &book.told.trial.members) {
        None => book.end_and_go_on(Step::Verified),
        Some(why) => book.end(Step::NotRunning { why }),
    }
}

/// In a boot after it was taken back: is it gone?
pub(super) fn verify_back(site: &Site<'_>, book: &mut Book<'_>) -> Result<(), TrialError> {
    let audit = Audit::of(site.hardware, site.config, site.catalogue);
    let (line, _) = words(&book.told.trial.members);
    let running = audit.host.kernel.cmdline.value();
    let left: Vec<&str> = line
        .add
        .iter()
        .filter(|word| running.is_none_or(|line| line.has(word)))
        .map(String::as_str)
        .collect();
    if left.is_empty() {
        book.end(Step::VerifiedBack)
    } else {
        // Somebody configured it elsewhere too, or the menu was not regenerated: `status` says so.
        book.ledger.set_pending(None)?;
        Ok(())
    }
}

/// The entry of a kept change, if it no longer stands: somebody took it back.
pub(super) fn fallen(site: &Site<'_>, told: &history::Told) -> Result<Option<String>, TrialError> {
    let Some(kept) = told.kept() else { return Ok(None) };
    let entries = crate::ledger::history::list(site.config.base())?;
    let stands = entries.iter().any(|e| e.id == kept && e.state == crate::ledger::history::State::Applied);
    Ok((!stands).then(|| kept.to_owned()))
}

/// Words and rules that are not as the kept change wants them; none when all are.
fn not_running(audit: &Audit, members: &[ChangeRecord]) -> Option<String> {
    let (line, _) = words(members);
    let Some(running) = audit.host.kernel.cmdline.value() else {
        return Some("the running command line is not known".to_owned());
    };
    let missing: Vec<&str> = line.add.iter().filter(|w| !running.has(w)).map(String::as_str).collect();
    let left: Vec<&str> = line.remove.iter().filter(|w| running.has(w)).map(String::as_str).collect();
    let mut why = Vec::new();
    if !missing.is_empty() {
        why.push(format!("not on the running command line: {}", missing.join(" ")));
    }
    if !left.is_empty() {
        why.push(format!("still on the running command line: {}", left.join(" ")));
    }
    let rules = members.iter().flat_map(|member| &member.rules);
    let fails = |rule: &&String| audit.findings.iter().any(|f| &f.rule == *rule && f.status == Status::Fail);
    let failing: Vec<&str> = rules.filter(fails).map(String::as_str).collect();
    if !failing.is_empty() {
        why.push(format!("still fails: {}", failing.join(", ")));
    }
    (!why.is_empty()).then(|| why.join("; "))
}

/// Tells the trials of entries that were just taken back: an armed one is disarmed, a kept one is checked next boot.
///
/// # Errors
///
/// The state folder cannot be written.
pub fn after_revert(site: &Site<'_>, ledger: &mut Ledger, entries: &[String]) -> Result<(), TrialError> {
    let target = site.config.base();
    for told in history::list(target)?.into_iter().filter_map(Result::ok) {
        let id = told.trial.id.clone();
        let state = told.state();
        let armed = told.armed().is_some_and(|armed| entries.iter().any(|e| e == armed.entry));
        let kept = told.kept().is_some_and(|kept| entries.iter().any(|e| e == kept));
        let mut book = Book { ledger, told, boot: site.boot_id() };
        if kept && matches!(state, State::Kept | State::Verified | State::NotRunning) {
            let entry = book.told.kept().unwrap_or_default().to_owned();
            // The mark first: a kill behind it is noticed at the next boot.
            if crate::ledger::pending(target)?.is_none() || state == State::Kept {
                book.pend(&Pending::Trial(id))?;
            }
            book.step(Step::TakenBack { entry })?;
        } else if armed && !state.ended() && state != State::Kept {
            disarm_book(site, &mut book)?;
            book.end(Step::Reverted { reason: "disarmed by hand".to_owned(), rejected: false })?;
        }
    }
    Ok(())
}

/// The words of all members, by where they are made permanent.
fn words(members: &[ChangeRecord]) -> (Words, Words) {
    let (mut line, mut options) = (Words::default(), Words::default());
    for member in members {
        let list = if member.kind == "modprobe" { &mut options } else { &mut line };
        list.join(&member.add, &member.remove);
    }
    (line, options)
}

/// Remembers which trial decided.
fn with_trial(member: &ChangeRecord, id: &str) -> ChangeRecord {
    let mut member = member.clone();
    if let Some(details) = member.details.as_object_mut() {
        details.insert("trial".to_owned(), id.into());
    }
    member
}

/// The permanent entry of a trial, written by a run that was interrupted before it was journaled.
fn standing(site: &Site<'_>, id: &str) -> Result<Option<String>, TrialError> {
    let entries = crate::ledger::history::list(site.config.base())?;
    let ours = entries.into_iter().rev().find(|entry| {
        entry.state == crate::ledger::history::State::Applied
            && entry
                .changes
                .iter()
                .any(|c| c.details.get("trial").is_some_and(|t| t == id) && c.kind != "trial-boot")
    });
    Ok(ours.map(|entry| entry.id))
}
