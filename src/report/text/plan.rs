//! A plan, and what `provision` did.

use crate::plan::{Audit, Change, Policy, combine};
use crate::report::document::ProvisionDocument;
use crate::report::next::Outlook;
use crate::report::style::{self, wrap};
use crate::report::text::change;
use crate::root::Root;
use std::fmt::Write;

/// The chosen changes as one diff, then every other rung.
pub fn plan(audit: &Audit, policy: &Policy, config: &Root, target: &str) -> String {
    let mut out = String::new();
    let bold = style::bold();
    let outlook = Outlook::of(audit, policy);
    let _ = writeln!(out, "{bold}{}{bold:#}", outlook.verdict());
    let _ = writeln!(out, "{}\n", wrap("", 0, &outlook.cost()));
    let pick =
        |ids: &[String]| audit.changes.iter().filter(|c| ids.contains(&c.id)).collect::<Vec<&Change>>();
    let (chosen, pending) = (pick(&outlook.chosen), pick(&outlook.pending));
    if !chosen.is_empty() {
        let _ = writeln!(out, "{bold}Without further consent{bold:#}");
        for change in &chosen {
            out.push_str(&change::short(change));
        }
        match combine(audit.site(config), &chosen) {
            Ok(combined) => out.push_str(&change::combined(&combined)),
            Err(refusal) => {
                _ = writeln!(out, "{}", wrap("", 3, &format!("{}: {}", refusal.place, refusal.reason)));
            }
        }
        let _ = writeln!(
            out,
            "   way back: peerfix revert last{}; from a rescue shell: sh /var/lib/peerfix/ledger/NNNN/revert.sh\n",
            target.find(" --root").and_then(|at| target.get(at..)).unwrap_or_default()
        );
    }
    section(&mut out, "Configured, waiting for a reboot", &pending);
    let rest: Vec<&Change> = audit
        .changes
        .iter()
        .filter(|c| !outlook.chosen.contains(&c.id) && !outlook.pending.contains(&c.id))
        .collect();
    section(&mut out, "Other rungs: with consent, under a condition, or by hand", &rest);
    let _ = writeln!(out, "{}", wrap("Next:", 6, &next(&outlook, target)));
    out
}

fn section(out: &mut String, title: &str, changes: &[&Change]) {
    if changes.is_empty() {
        return;
    }
    let bold = style::bold();
    let _ = writeln!(out, "{bold}{title}{bold:#}");
    for change in changes {
        out.push_str(&change::full(change));
        out.push('\n');
    }
}

fn next(outlook: &Outlook, target: &str) -> String {
    if outlook.chosen.is_empty() {
        outlook.next(target)
    } else if target.contains("--host") && !target.contains("--root") {
        "on that host: sudo peerfix provision --yes --no-trial".to_owned()
    } else {
        format!("sudo peerfix provision{target} --yes --no-trial")
    }
}

/// What was done. `target` is the option that names the target's state, or empty on the running system.
pub fn provisioned(document: &ProvisionDocument<'_>, target: &str) -> String {
    let mut out = String::new();
    if document.changed {
        for change in &document.applied {
            let _ = writeln!(out, "changed: {} ({})", change::words(change), change.rules.join(", "));
        }
        for edit in document.edits {
            let _ = writeln!(out, "{}", edit.diff.trim_end());
        }
        if document.applied.is_empty() {
            let _ = writeln!(out, "finished what an earlier run left");
        }
        if let Some(id) = document.ledger {
            let _ = writeln!(out, "ledger: {id}; way back: sudo peerfix revert {id}{target}");
            let _ = writeln!(out, "  from a rescue shell: sh /var/lib/peerfix/ledger/{id}/revert.sh");
        }
    } else {
        let _ = writeln!(out, "unchanged");
    }
    if let Some(line) = document.effective_cmdline {
        let _ = writeln!(out, "{}", wrap("next boot:", 11, line));
    }
    for command in &document.ran {
        let _ = writeln!(out, "ran: {command}");
    }
    let mut shown: Vec<String> = Vec::new();
    for words in document.pending.iter().map(|change| change::words(change)) {
        // Several rules may want the same words.
        if !shown.contains(&words) {
            let _ = writeln!(out, "configured, not yet running: {words}");
            shown.push(words);
        }
    }
    for command in &document.commands {
        let place = if target.is_empty() { "" } else { " in the target" };
        let _ = writeln!(out, "still to run{place}: {command}");
    }
    for left in &document.left {
        let _ = writeln!(out, "{}", wrap("left:", 6, &format!("{}: {}", left.rule, left.why)));
    }
    if document.reboot {
        let _ = writeln!(out, "takes effect at the next boot");
    }
    out
}
