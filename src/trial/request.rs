//! Changes of the plan as the ledger takes them.

use crate::ledger::{ChangeRecord, Request, RunPolicy};
use crate::plan::{Change, Combined, Operation, Policy};

/// What the ledger remembers of a change.
pub fn record(change: &Change, policy: &Policy) -> ChangeRecord {
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

/// A permanent change: its operations, and its own commands again on the way back.
pub fn request(changes: Vec<ChangeRecord>, combined: &Combined, run: RunPolicy) -> Request {
    let names: Vec<&str> = changes.iter().map(|c| c.name.as_str()).collect();
    let commands = combined.operations.iter().filter_map(|operation| match operation {
        Operation::Run { argv, .. } => Some(argv.clone()),
        Operation::Write { .. } => None,
    });
    Request {
        title: names.join(", "),
        revert_commands: commands.collect(),
        operations: combined.operations.clone(),
        changes,
        run,
    }
}
