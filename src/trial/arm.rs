//! Arming and disarming: the trial's entry in custom.cfg is an entry of the ledger like any other change, and the choice
//! of the next boot is one variable of GRUB's environment block.

use super::Site;
use super::book::Book;
use super::error::TrialError;
use super::journal::Step;
use crate::boot::grub_trial::{self, Wanted};
use crate::format::grubenv::Grubenv;
use crate::ledger::{ChangeRecord, Ledger, Request, RevertOptions, RunPolicy};
use crate::plan::Operation;
use crate::root::TEXT_LIMIT;

/// The variable that chooses one boot (grub-core/normal, `/etc/grub.d/00_header`).
const NEXT: &str = "next_entry";

/// Says whether `words` could be tried here; nothing is written.
///
/// # Errors
///
/// Why not.
pub(super) fn check(site: &Site<'_>, add: &[String], remove: &[String]) -> Result<String, TrialError> {
    let wanted = Wanted {
        id: "check".to_owned(),
        add: add.to_vec(),
        remove: remove.to_vec(),
        line: None,
        watchdog: true,
    };
    let trial = grub_trial::describe(site.config, &wanted).map_err(|no| TrialError::NoTrial(Box::new(no)))?;
    Ok(trial.copied_from)
}

/// Arms the trial of one member: its words and those of the members before it.
pub(super) fn arm(site: &Site<'_>, book: &mut Book<'_>, member: usize) -> Result<(), TrialError> {
    let trial = book.told.trial.clone();
    let (add, remove) = trial.words(member);
    let wanted = Wanted {
        id: trial.id.clone(),
        add,
        remove,
        line: Some(trial.cmdline.clone()),
        watchdog: trial.policy.watchdog,
    };
    let described =
        grub_trial::describe(site.config, &wanted).map_err(|no| TrialError::NoTrial(Box::new(no)))?;
    book.step(Step::Arming { member })?;
    let applied = book.ledger.apply(&Request {
        title: format!("trial boot {} of {}", trial.id, trial.title()),
        changes: vec![ChangeRecord {
            id: trial.id.clone(),
            name: format!("trial-{}", trial.id),
            kind: "trial-boot".to_owned(),
            rules: trial.members.iter().flat_map(|m| m.rules.clone()).collect(),
            add: described.words.clone(),
            details: serde_json::json!({ "trial": trial.id, "member": member, "next_entry": described.entry }),
            ..ChangeRecord::default()
        }],
        operations: operations(site, &described),
        revert_commands: forget(site.run, &described.grubenv, &described.entry),
        run: site.run,
    })?;
    book.ledger.set_environment(&described.grubenv, NEXT, Some(&described.entry))?;
    book.step(Step::Armed {
        member,
        entry: applied.id.unwrap_or_default(),
        words: described.words,
        own_words: described.own_words,
        grubenv: described.grubenv,
        choice: described.entry,
    })
}

/// Takes the entry of trial `id` away, and the choice if it is still ours; says whether it was. Safe to repeat.
///
/// `armed` is the environment block and the choice as they were written down; none when arming was interrupted or
/// the trial cannot be read.
pub(super) fn disarm(
    site: &Site<'_>,
    ledger: &mut Ledger,
    id: &str,
    armed: Option<(String, String)>,
) -> Result<bool, TrialError> {
    let places = match armed {
        Some(place) => vec![place],
        None => match grub_trial::entry_id(id) {
            Ok(choice) => {
                ["boot/grub/grubenv", "boot/grub2/grubenv"].map(|p| (p.to_owned(), choice.clone())).into()
            }
            Err(_) => Vec::new(),
        },
    };
    let mut ours = false;
    for (grubenv, choice) in places {
        if chosen(site, &grubenv).is_some_and(|next| next == choice) {
            ledger.set_environment(&grubenv, NEXT, None)?;
            ours = true;
        }
    }
    for entry in standing(site, id)? {
        ledger.revert(&entry, RevertOptions { dry_run: false, run: site.run })?;
    }
    Ok(ours)
}

/// The same for the trial of an open book.
pub(super) fn disarm_book(site: &Site<'_>, book: &mut Book<'_>) -> Result<bool, TrialError> {
    let armed = book.told.armed().map(|armed| (armed.grubenv.to_owned(), armed.choice.to_owned()));
    let id = book.told.trial.id.clone();
    disarm(site, book.ledger, &id, armed)
}

/// Entries of the ledger that hold the trial's menu entry and stand.
fn standing(site: &Site<'_>, id: &str) -> Result<Vec<String>, TrialError> {
    let entries = crate::ledger::history::list(site.config.base())?;
    let ours = entries.into_iter().filter(|entry| {
        entry.state == crate::ledger::history::State::Applied
            && entry.changes.iter().any(|c| c.kind == "trial-boot" && c.id == id)
    });
    Ok(ours.map(|entry| entry.id).collect())
}

/// What the next boot is chosen to be.
fn chosen(site: &Site<'_>, grubenv: &str) -> Option<String> {
    let bytes = site.config.bytes(grubenv, TEXT_LIMIT);
    let block = Grubenv::parse(bytes.value()?).ok()?;
    let value = block.get(NEXT).filter(|value| !value.is_empty())?;
    Some(String::from_utf8_lossy(&value).into_owned())
}

/// The file, and GRUB's own check of it where that is installed: what it does not take is put back at once.
fn operations(site: &Site<'_>, trial: &grub_trial::Trial) -> Vec<Operation> {
    let custom = &trial.custom;
    let write = Operation::Write {
        path: custom.path.clone(),
        before: custom.before.clone(),
        after: custom.after.clone(),
    };
    let check = trial.check.as_ref().filter(|_| site.run == RunPolicy::Live);
    let check = check.map(|command| Operation::Run { argv: command.argv.clone(), why: command.why.clone() });
    std::iter::once(write).chain(check).collect()
}

/// For revert.sh and `revert`: clears the choice only while it is ours.
fn forget(run: RunPolicy, grubenv: &str, choice: &str) -> Vec<Vec<String>> {
    if run != RunPolicy::Live {
        return Vec::new();
    }
    let script = format!(
        "if grub-editenv /{grubenv} list | grep -qxF {NEXT}={choice}; then grub-editenv /{grubenv} unset {NEXT}; fi"
    );
    vec![vec!["sh".to_owned(), "-c".to_owned(), script]]
}
