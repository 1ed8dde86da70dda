//! Findings, boot configuration and policy become changes made of operations. Pure: nothing here writes.

mod audit;
mod cmdline;
mod combine;
mod conflict;
mod modprobe;
pub mod operation;
mod policy_risk;
mod select;

pub use audit::Audit;
pub use combine::{Combined, Words, combine, combine_words};
pub use operation::Operation;
pub use select::{Policy, Refused, Selection, select};

use crate::boot::{self, Boot, Refusal};
use crate::host::Host;
use crate::root::Root;
use crate::rules::{Finding, Kind, Offer};
use schemars::JsonSchema;
use serde::Serialize;

/// One change, applied or refused as a whole.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Change {
    /// `c1`, `c2`, ... in order.
    pub id: String,
    /// Kind.
    pub kind: Kind,
    /// Rules it answers.
    pub rules: Vec<String>,
    /// Rung on the ladder, from 1.
    pub ladder: i64,
    /// Words added.
    pub add: Vec<String>,
    /// Words removed.
    pub remove: Vec<String>,
    /// Files edited, as unified diffs.
    pub edits: Vec<FileDiff>,
    /// Programs to run afterwards.
    pub commands: Vec<String>,
    /// Stable name.
    pub name: String,
    /// What it does and why.
    pub explain: String,
    /// Risk names.
    pub risks: Vec<String>,
    /// What is lost.
    pub loses: Vec<String>,
    /// `none` or `required`.
    pub consent: Consent,
    /// Configured already, not yet running.
    pub pending: bool,
    /// What blocks it; a blocked change is never applied.
    pub blocked_by: Vec<String>,
    /// A person must do it.
    pub manual: bool,
    /// What must be established first; a conditional change is never applied without being named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditional: Option<String>,
    /// Steps for a person.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// What must be true afterwards.
    pub expect: Vec<String>,
    /// Command line of the next boot with this change alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effective_cmdline: Option<String>,
    /// Needs a reboot to take effect.
    pub reboot: bool,
    /// How to take it back.
    pub revert: Vec<String>,
    /// Those of the risks that must be accepted by name.
    #[serde(skip)]
    #[schemars(skip)]
    pub consents: Vec<String>,
    /// `option:direction` that it pulls.
    #[serde(skip)]
    #[schemars(skip)]
    pub pulls: Option<String>,
    /// Set of changes that open a way only together; their trials are judged as one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
    /// Why its edit cannot be made; a refused edit ends `provision`, it is never skipped.
    #[serde(skip)]
    #[schemars(skip)]
    pub refusal: Option<Refusal>,
}

impl Change {
    /// Adds a risk that must be accepted by name.
    fn require(&mut self, risk: &str) {
        for list in [&mut self.risks, &mut self.consents] {
            if !list.iter().any(|known| known == risk) {
                list.push(risk.to_owned());
            }
        }
        self.consent = Consent::Required;
    }
}

/// Diff of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileDiff {
    /// Absolute path in the target.
    pub path: String,
    /// Unified diff.
    pub diff: String,
}

/// Whether recorded consent is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Consent {
    /// No.
    None,
    /// Yes: one `--accept-risk` per risk.
    Required,
}

/// What the plan is made from.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// Where configuration is read.
    pub root: &'a Root,
    /// The host's facts.
    pub host: &'a Host,
    /// Its boot configuration.
    pub boot: &'a Boot,
}

/// Turns the remedies of all findings into changes, in the order of harm, and writes their ids into the
/// findings. Remedies that several rules share become one change.
pub fn changes(site: Site<'_>, findings: &mut [Finding]) -> Vec<Change> {
    let mut order: Vec<usize> = (0..findings.len()).collect();
    order.sort_by_key(|&i| {
        findings.get(i).map(|f| (std::cmp::Reverse(f.status), std::cmp::Reverse(f.severity)))
    });
    let mut changes: Vec<Change> = Vec::new();
    for index in order {
        let Some(finding) = findings.get_mut(index) else { continue };
        for offer in &finding.remedies {
            let Some(change) = draft(site, &finding.rule, offer) else { continue };
            let id = adopt(&mut changes, change);
            if !finding.changes.contains(&id) {
                finding.changes.push(id);
            }
        }
    }
    conflict::mark(&mut changes);
    changes
}

/// Adds a change, or joins it with an equal one; gives its id.
fn adopt(changes: &mut Vec<Change>, mut change: Change) -> String {
    let same = changes.iter_mut().find(|c| {
        (c.kind, &c.name, &c.add, &c.remove, &c.steps)
            == (change.kind, &change.name, &change.add, &change.remove, &change.steps)
    });
    if let Some(known) = same {
        for rule in change.rules {
            if !known.rules.contains(&rule) {
                known.rules.push(rule);
            }
        }
        for risk in change.risks {
            if !known.risks.contains(&risk) {
                known.risks.push(risk);
            }
        }
        for risk in change.consents {
            known.require(&risk);
        }
        return known.id.clone();
    }
    change.id = format!("c{}", changes.len() + 1);
    let id = change.id.clone();
    changes.push(change);
    id
}

/// One change from one offer; none when the host already is as the remedy wants it.
fn draft(site: Site<'_>, rule: &str, offer: &Offer) -> Option<Change> {
    let mut change = Change {
        id: String::new(),
        kind: offer.kind,
        rules: vec![rule.to_owned()],
        ladder: offer.ladder,
        add: offer.add.clone(),
        remove: offer.remove.clone(),
        edits: Vec::new(),
        commands: Vec::new(),
        name: offer.name.clone(),
        explain: offer.explain.clone(),
        risks: offer.risks.clone(),
        loses: offer.loses.clone(),
        consent: Consent::None,
        consents: Vec::new(),
        pending: false,
        blocked_by: offer.blocked_by.clone(),
        manual: !offer.steps.is_empty(),
        conditional: offer.conditional.clone(),
        steps: offer.steps.clone(),
        expect: offer.expect.clone(),
        effective_cmdline: None,
        reboot: true,
        revert: Vec::new(),
        pulls: offer.pulls.clone(),
        set: offer.set.clone(),
        refusal: None,
    };
    for risk in &offer.consents {
        change.require(risk);
    }
    match offer.kind {
        Kind::KernelCmdline => cmdline::fill(site, &mut change)?,
        Kind::Modprobe => modprobe::fill(site, &mut change)?,
        Kind::KernelPatch => {
            change.manual = true;
            change.steps.push(
                "Build a kernel with this row beside the stock one, keep the stock kernel as the default entry, and boot the new one once.".to_owned(),
            );
            change.revert.push("Boot the stock kernel; remove the patched package.".to_owned());
        }
        Kind::Runtime | Kind::Firmware | Kind::Hardware => {
            change.revert.push("Undo the step by hand.".to_owned());
        }
    }
    policy_risk::add(site, &mut change);
    Some(change)
}

/// Diffs of an edit, with absolute paths.
fn diffs(edit: &boot::Edit) -> Vec<FileDiff> {
    edit.files
        .iter()
        .map(|file| FileDiff {
            path: format!("/{}", file.path),
            diff: crate::format::diff::unified(&file.path, file.before.as_deref(), &file.after),
        })
        .collect()
}

/// A command as a person would type it.
pub fn command_line(argv: &[String]) -> String {
    argv.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

/// A word as a shell takes it.
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Steps that take an edit back, with and without this program.
fn revert_steps(edit: &boot::Edit) -> Vec<String> {
    let mut steps = vec!["peerfix revert last".to_owned()];
    for file in &edit.files {
        steps.push(match file.before {
            Some(_) => {
                format!("without peerfix: sh /var/lib/peerfix/ledger/NNNN/revert.sh restores /{}", file.path)
            }
            None => format!("without peerfix: rm /{}", file.path),
        });
    }
    steps.extend(edit.commands.iter().map(|c| format!("then: {}", command_line(&c.argv))));
    steps
}

/// The fields of a change that come from an edit or its refusal.
fn apply_edit(change: &mut Change, edit: Result<boot::Edit, Refusal>) -> Option<boot::Edit> {
    match edit {
        Ok(edit) => {
            change.edits = diffs(&edit);
            change.commands = edit.commands.iter().map(|c| command_line(&c.argv)).collect();
            change.revert = revert_steps(&edit);
            Some(edit)
        }
        Err(refusal) => {
            change.blocked_by.push(format!("{}: {}", refusal.place, refusal.reason));
            change.steps.extend(refusal.manual.iter().cloned());
            change.refusal = Some(refusal);
            None
        }
    }
}
