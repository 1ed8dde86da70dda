//! Several chosen changes as one set of operations: each file is edited once.

use super::{Change, FileDiff, Operation, Site, cmdline, diffs, modprobe};
use crate::boot::{self, Edit, Refusal};
use crate::rules::Kind;

/// What will be done.
#[derive(Clone, Debug, Default)]
pub struct Combined {
    /// Steps for the ledger.
    pub operations: Vec<Operation>,
    /// Diffs for the person.
    pub edits: Vec<FileDiff>,
    /// Command line of the next boot.
    pub effective_cmdline: Option<String>,
}

/// Combines the changes; words are joined, every file is edited once, every command runs once.
pub fn combine(site: Site<'_>, changes: &[&Change]) -> Result<Combined, Refusal> {
    let gather = |kind: Kind, pick: fn(&Change) -> &Vec<String>| {
        let mut words: Vec<String> = Vec::new();
        for word in changes.iter().filter(|c| c.kind == kind).flat_map(|c| pick(c)) {
            if !words.contains(word) {
                words.push(word.clone());
            }
        }
        words
    };
    let mut combined = Combined::default();
    let mut edits: Vec<Edit> = Vec::new();
    let (add, remove) = (gather(Kind::KernelCmdline, |c| &c.add), gather(Kind::KernelCmdline, |c| &c.remove));
    if !add.is_empty() || !remove.is_empty() {
        let edit = boot::edit(site.root, site.boot, &add, &remove)?;
        let (running, configured) = (site.host.kernel.cmdline.value(), site.boot.configured.value());
        combined.effective_cmdline = Some(cmdline::next_line(running, configured, &edit.effective));
        edits.push(edit);
    }
    let (add, remove) = (gather(Kind::Modprobe, |c| &c.add), gather(Kind::Modprobe, |c| &c.remove));
    if !add.is_empty() || !remove.is_empty() {
        edits.push(boot::modprobe_edit(site.root, &modprobe::wanted(&add), &remove)?);
    }
    // The initramfs is rebuilt before the loader's menu is written, which names it.
    for edit in &edits {
        combined.edits.extend(diffs(edit));
        combined.operations.extend(edit.files.iter().map(|file| Operation::Write {
            path: file.path.clone(),
            before: file.before.clone(),
            after: file.after.clone(),
        }));
    }
    for edit in edits.iter().rev() {
        for command in &edit.commands {
            let run = Operation::Run { argv: command.argv.clone(), why: command.why.clone() };
            if !combined.operations.contains(&run) {
                combined.operations.push(run);
            }
        }
    }
    Ok(combined)
}
