//! `peerfix provision`.

use super::args::{Global, ProvisionArgs};
use super::exit::{Exit, Failure};
use super::place::Place;
use super::trial::trial_failure;
use super::{catalogue, note, print};
use crate::ledger::{
    self, Applied, CommandOutput, Ledger, LedgerError, RunPolicy, check_run_in_target, history,
};
use crate::plan::{Audit, Change, Combined, Policy, Refused, Selection, combine, select};
use crate::report::document::{self, ArmedDocument, ProvisionDocument, TrialDocument};
use crate::report::{Format, markdown, text};
use crate::root::Root;
use crate::rules::{Catalogue, Kind};
use crate::trial::{self, Begun, Live, Machine, Pending, TrialPolicy};
use std::path::Path;

/// Chooses, combines and applies; idempotent, all or nothing.
pub(super) fn run(global: &Global, args: &ProvisionArgs) -> Result<Exit, Failure> {
    let place = Place::writing(global.host.as_deref(), args.root.as_deref())?;
    if args.yes && !args.no_trial && !place.config.is_live() {
        return Err(Failure::usage(
            "a trial boots the running system: say --no-trial to write the permanent configuration of a target",
        ));
    }
    if args.run_in_target {
        check_run_in_target(place.config.base()).map_err(failure)?;
    }
    let catalogue = catalogue(global, &place.config);
    let policy = super::plan::policy(&catalogue, &args.accept_risk, &args.only)?;
    // What an interrupted run left is finished or undone first: the plan is made from whole files.
    let mut writer =
        Writer { global, place: &place, run: run_policy(&place.config, args.run_in_target), ledger: None };
    if history::interrupted(place.config.base()).map_err(failure)? {
        if args.yes {
            writer.open()?;
        } else {
            note(
                global,
                "peerfix: an earlier run was interrupted; the next writing command finishes or undoes it first",
            );
        }
    }
    let audit = Audit::of(&place.hardware, &place.config, &catalogue);
    let selection = select(&audit.findings, &audit.changes, &policy).map_err(|r| refused(&audit, &r))?;
    if selection.chosen.is_empty() {
        return unchanged(&mut writer, args, &audit, &policy, &selection);
    }
    let chosen: Vec<&Change> = audit.changes.iter().filter(|c| selection.chosen.contains(&c.id)).collect();
    let combined = combine(audit.site(&place.config), &chosen)
        .map_err(|refusal| refused(&audit, &Refused { id: String::new(), refusal }))?;
    if !args.yes {
        print(&match global.form() {
            Format::Json => document::json(&document::PlanDocument::of(&audit, &policy)),
            Format::Text => text::plan::plan(&audit, &policy, &place.config, &place.option),
            Format::Markdown => markdown::plan(&audit, &policy),
        })?;
        note(global, "Nothing was written: say --yes to make these changes.");
        return Ok(Exit::Refused);
    }
    if !args.no_trial {
        return armed(writer, args, &catalogue, &policy);
    }
    apply(writer, &audit, &policy, &selection, &chosen, &combined, args.unchanged_exit_77)
}

/// The ledger of the target, opened when there is something to write.
struct Writer<'a> {
    global: &'a Global,
    place: &'a Place,
    run: RunPolicy,
    ledger: Option<Ledger>,
}

impl Writer<'_> {
    /// Takes the lock and says what was finished or undone of an earlier run.
    fn open(&mut self) -> Result<&mut Ledger, Failure> {
        let ledger = match self.ledger.take() {
            Some(ledger) => ledger,
            None => open(self.global, &self.place.config)?,
        };
        Ok(self.ledger.insert(ledger))
    }

    /// Commands that are still left to a person; run here where programs may be run.
    fn outstanding(&mut self) -> Result<(Vec<CommandOutput>, Vec<String>), Failure> {
        let base = self.place.config.base();
        let before = history::outstanding(base).map_err(failure)?;
        if before.is_empty() || self.run == RunPolicy::PrintOnly {
            return Ok((Vec::new(), before));
        }
        let run = self.run;
        let ran = self.open()?.run_outstanding(run).map_err(failure)?;
        Ok((ran, history::outstanding(base).map_err(failure)?))
    }

    fn print(&self, document: &ProvisionDocument<'_>) -> Result<(), Failure> {
        print(&match self.global.form() {
            Format::Json => document::json(document),
            _ => text::plan::provisioned(document, &self.place.root_option),
        })
    }
}

/// Opens the ledger; what it finished or undid of an earlier run is told.
pub(super) fn open(global: &Global, config: &Root) -> Result<Ledger, Failure> {
    let ledger = Ledger::open(config.base()).map_err(failure)?;
    for recovered in ledger.recovered() {
        note(global, &format!("peerfix: change {}: {}", recovered.id, recovered.did));
    }
    Ok(ledger)
}

/// Takes the baseline and arms the first change (or set) for the next boot.
fn armed(
    mut writer: Writer<'_>,
    args: &ProvisionArgs,
    catalogue: &Catalogue,
    policy: &Policy,
) -> Result<Exit, Failure> {
    let (global, place, run) = (writer.global, writer.place, writer.run);
    let base = place.config.base();
    let site = trial::Site { hardware: &place.hardware, config: &place.config, catalogue, run };
    let allowed = TrialPolicy {
        accepted: policy.accepted.clone(),
        only: policy.only.clone(),
        reboot: args.reboot,
        accept_slower: args.accept_slower,
        watchdog: !args.no_watchdog,
        quick: args.quick,
        budget_s: args.budget.unwrap_or(0.0),
        deadline_s: args.deadline,
        ..TrialPolicy::default()
    };
    let ledger = writer.open()?;
    if let Some(waiting) = waiting(base)? {
        return Err(Failure::refused(waiting));
    }
    let mut tell = |what: &str| note(global, &format!("baseline: {what}"));
    let begun =
        trial::begin(&site, &allowed, &[], ledger, &mut Live::default(), &mut tell).map_err(trial_failure)?;
    let Begun::Armed { told, copied_from } = begun else {
        note(global, "Nothing is free to be tried (see `peerfix plan`).");
        return Ok(Exit::Refused);
    };
    let document = TrialDocument::of(&Ok(*told));
    print(&match global.form() {
        Format::Json => document::json(&ArmedDocument::of(&document, &copied_from, args.reboot)),
        _ => text::trial::armed(&document, &copied_from),
    })?;
    if !place.config.exists("etc/systemd/system/multi-user.target.wants/peerfix-gate.service") {
        note(
            global,
            "The boot unit peerfix-gate.service is not enabled: judge the trial with `sudo peerfix gate` after the reboot.",
        );
    }
    if args.reboot {
        note(global, "peerfix: reboots now");
        Live::default().reboot().map_err(Failure::internal)?;
    }
    Ok(Exit::RebootNeeded)
}

/// A trial that must come to its end first.
fn waiting(base: &Path) -> Result<Option<String>, Failure> {
    let Some(mark) = ledger::pending(base).map_err(failure)? else { return Ok(None) };
    Ok(match trial::pending(&mark) {
        Some(Pending::Trial(id)) => Some(format!(
            "trial boot {id} is not at its end: reboot, or give it up with `peerfix revert {id}` (peerfix status)"
        )),
        // The run that waits for its next boot is taken over by this one.
        _ => None,
    })
}

fn apply(
    mut writer: Writer<'_>,
    audit: &Audit,
    policy: &Policy,
    selection: &Selection,
    chosen: &[&Change],
    combined: &Combined,
    unchanged_exit_77: bool,
) -> Result<Exit, Failure> {
    let changes = chosen.iter().map(|c| trial::record(c, policy)).collect();
    let request = trial::request(changes, combined, writer.run);
    let applied = writer.open()?.apply(&request).map_err(failure)?;
    let (ran, outstanding) = writer.outstanding()?;
    let applied = Applied { outputs: applied.outputs.into_iter().chain(ran).collect(), ..applied };
    let pending = pending(audit, selection);
    writer.print(&ProvisionDocument::of(selection, chosen, &pending, &applied, combined, outstanding))?;
    Ok(match (applied.changed, unchanged_exit_77) {
        (true, _) => Exit::RebootNeeded,
        (false, true) => Exit::Unchanged,
        (false, false) => Exit::Done,
    })
}

/// Live on `/`; inside a target only when asked; else the commands are printed.
pub(super) fn run_policy(config: &Root, run_in_target: bool) -> RunPolicy {
    if config.is_live() {
        RunPolicy::Live
    } else if run_in_target {
        RunPolicy::InTarget
    } else {
        RunPolicy::PrintOnly
    }
}

/// Nothing to write: already right, already configured, or only steps that need consent or hands.
fn unchanged(
    writer: &mut Writer<'_>,
    args: &ProvisionArgs,
    audit: &Audit,
    policy: &Policy,
    selection: &Selection,
) -> Result<Exit, Failure> {
    let pending = pending(audit, selection);
    let (ran, mut commands) = if args.yes {
        writer.outstanding()?
    } else {
        (Vec::new(), history::outstanding(writer.place.config.base()).map_err(failure)?)
    };
    let made = history::list(writer.place.config.base()).map_err(failure)?;
    for command in pending.iter().filter(|change| !made_here(&made, change)).flat_map(|c| &c.commands) {
        if !commands.contains(command) {
            commands.push(command.clone());
        }
    }
    let recovered =
        writer.ledger.iter().flat_map(Ledger::recovered).find(|r| r.applied).map(|r| r.id.clone());
    let document = ProvisionDocument::unchanged(selection, &pending, &ran, recovered.as_deref(), commands);
    writer.print(&document)?;
    let global = writer.global;
    if document.changed {
        return Ok(Exit::RebootNeeded);
    }
    if audit.host.pci_readable.value().is_none() && audit.host.gpus.is_empty() {
        note(
            global,
            "No hardware facts below this root: name the host with --host (`--host /` for this machine).",
        );
        return Ok(Exit::Refused);
    }
    // Refused: a rule that was named cannot be answered, or a fault waits for consent alone.
    let named = !policy.only.is_empty() && !selection.left.is_empty();
    if selection.pending.is_empty() && (named || selection.wants_consent(&audit.findings)) {
        note(global, "Nothing was written: what is left needs consent, firmware or hands (see above).");
        return Ok(Exit::Refused);
    }
    Ok(if args.unchanged_exit_77 { Exit::Unchanged } else { Exit::Done })
}

fn pending<'a>(audit: &'a Audit, selection: &Selection) -> Vec<&'a Change> {
    audit.changes.iter().filter(|c| selection.pending.contains(&c.id)).collect()
}

/// True when an entry that stands configured these words, so that the ledger knows which commands are left.
/// For words that a person wrote, nobody knows whether the commands were run.
fn made_here(entries: &[history::Entry], change: &Change) -> bool {
    let within = |ours: &[String], theirs: &[String]| ours.iter().all(|word| theirs.contains(word));
    entries.iter().filter(|entry| entry.state == history::State::Applied).any(|entry| {
        entry
            .changes
            .iter()
            .any(|made| within(&change.add, &made.add) && within(&change.remove, &made.remove))
    })
}

fn refused(audit: &Audit, refused: &Refused) -> Failure {
    let refusal = &refused.refusal;
    let name = audit.changes.iter().find(|c| c.id == refused.id).map_or("the change", |c| c.name.as_str());
    let mut message = format!(
        "{name} cannot be made safely, so nothing was written\n  {}: {}",
        refusal.place, refusal.reason
    );
    for step in &refusal.manual {
        message.push_str("\n  by hand: ");
        message.push_str(step);
    }
    let cmdline = audit.changes.iter().any(|c| c.id == refused.id && c.kind == Kind::KernelCmdline);
    // NixOS and ostree also make what follows from the files of module options.
    let owned = audit.boot.loader.value().is_some_and(|loader| *loader == refusal.place);
    let exit = if owned || (cmdline && !audit.boot.editable()) { Exit::Unsupported } else { Exit::Refused };
    Failure { exit, message }
}

/// The exit code of a ledger error.
pub(super) fn failure(error: LedgerError) -> Failure {
    if error.is_refusal() {
        Failure::refused(error)
    } else if error.is_usage() {
        Failure::usage(error)
    } else if error.leaves_commands() {
        Failure { exit: Exit::RebootNeeded, message: error.to_string() }
    } else {
        Failure::internal(error)
    }
}
