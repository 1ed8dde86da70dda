//! `peerfix provision`.

use super::args::{Global, ProvisionArgs};
use super::exit::{Exit, Failure};
use super::place::Place;
use super::{catalogue, note, print};
use crate::ledger::{ChangeRecord, Ledger, LedgerError, Request, RunPolicy, check_run_in_target};
use crate::plan::{Audit, Change, Combined, Operation, Policy, Refused, Selection, combine, select};
use crate::report::document::{self, ProvisionDocument};
use crate::report::{Format, text};
use crate::root::Root;
use crate::rules::Kind;

/// Chooses, combines and applies; idempotent, all or nothing.
pub(super) fn run(global: &Global, args: &ProvisionArgs) -> Result<Exit, Failure> {
    let place = Place::writing(global.host.as_deref(), args.root.as_deref())?;
    if args.yes && !args.no_trial {
        return Err(Failure::usage(
            "trial boots are not part of this version: say --no-trial to write the permanent configuration at once",
        ));
    }
    if args.run_in_target {
        check_run_in_target(place.config.base()).map_err(failure)?;
    }
    let catalogue = catalogue(global, &place.config);
    let policy = super::plan::policy(&catalogue, &args.accept_risk, &args.only)?;
    let audit = Audit::of(&place.hardware, &place.config, &catalogue);
    let selection = select(&audit.findings, &audit.changes, &policy).map_err(|r| refused(&audit, &r))?;
    if selection.chosen.is_empty() {
        return unchanged(global, args, &audit, &policy, &selection);
    }
    let chosen: Vec<&Change> = audit.changes.iter().filter(|c| selection.chosen.contains(&c.id)).collect();
    let combined = combine(audit.site(&place.config), &chosen)
        .map_err(|refusal| refused(&audit, &Refused { id: String::new(), refusal }))?;
    if !args.yes {
        print(&match global.form() {
            Format::Json => document::json(&document::PlanDocument::of(&audit, &policy)),
            _ => text::plan::plan(&audit, &policy, &place.config, &place.option),
        })?;
        note(global, "Nothing was written: say --yes to make these changes.");
        return Ok(Exit::Refused);
    }
    apply(global, args, &place.config, &policy, &selection, &chosen, &combined)
}

fn apply(
    global: &Global,
    args: &ProvisionArgs,
    config: &Root,
    policy: &Policy,
    selection: &Selection,
    chosen: &[&Change],
    combined: &Combined,
) -> Result<Exit, Failure> {
    let names: Vec<&str> = chosen.iter().map(|c| c.name.as_str()).collect();
    let request = Request {
        title: names.join(", "),
        changes: chosen.iter().map(|c| record(c, policy)).collect(),
        operations: combined.operations.clone(),
        revert_commands: combined
            .operations
            .iter()
            .filter_map(|o| match o {
                Operation::Run { argv, .. } => Some(argv.clone()),
                Operation::Write { .. } => None,
            })
            .collect(),
        run: run_policy(config, args.run_in_target),
    };
    let mut ledger = Ledger::open(config.base()).map_err(failure)?;
    for recovered in ledger.recovered() {
        note(global, &format!("peerfix: change {}: {}", recovered.id, recovered.did));
    }
    let applied = ledger.apply(&request).map_err(failure)?;
    let document = ProvisionDocument::of(selection, chosen, &applied, combined);
    print(&match global.form() {
        Format::Json => document::json(&document),
        _ => text::plan::provisioned(&document),
    })?;
    Ok(Exit::RebootNeeded)
}

/// What the ledger remembers of a change.
fn record(change: &Change, policy: &Policy) -> ChangeRecord {
    let kind = serde_json::to_value(change.kind).ok();
    ChangeRecord {
        id: change.id.clone(),
        name: change.name.clone(),
        kind: kind.as_ref().and_then(|k| k.as_str()).unwrap_or_default().to_owned(),
        rules: change.rules.clone(),
        add: change.add.clone(),
        remove: change.remove.clone(),
        risks: change.risks.clone(),
        consents: change.risks.iter().filter(|r| policy.accepted.contains(*r)).cloned().collect(),
        details: serde_json::json!({
            "explain": change.explain,
            "loses": change.loses,
            "expect": change.expect,
            "effective_cmdline": change.effective_cmdline,
        }),
    }
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
    global: &Global,
    args: &ProvisionArgs,
    audit: &Audit,
    policy: &Policy,
    selection: &Selection,
) -> Result<Exit, Failure> {
    let pending: Vec<&Change> = audit.changes.iter().filter(|c| selection.pending.contains(&c.id)).collect();
    let document = ProvisionDocument::unchanged(selection, &pending);
    print(&match global.form() {
        Format::Json => document::json(&document),
        _ => text::plan::provisioned(&document),
    })?;
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
    let exit = if cmdline && !audit.boot.editable() { Exit::Unsupported } else { Exit::Refused };
    Failure { exit, message }
}

/// The exit code of a ledger error.
pub(super) fn failure(error: LedgerError) -> Failure {
    if error.is_refusal() {
        Failure::refused(error)
    } else if error.is_usage() {
        Failure::usage(error)
    } else {
        Failure::internal(error)
    }
}
