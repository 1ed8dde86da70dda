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

/// Words to add and to remove, as a change lists them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// To add.
    pub add: Vec<String>,
    /// To remove.
    pub remove: Vec<String>,
}

impl Words {
    /// Takes in more words, each once.
    pub fn join(&mut self, add: &[String], remove: &[String]) {
        for (list, more) in [(&mut self.add, add), (&mut self.remove, remove)] {
            for word in more {
                if !list.contains(word) {
                    list.push(word.clone());
                }
            }
        }
    }

    fn any(&self) -> bool {
        !self.add.is_empty() || !self.remove.is_empty()
    }
}

/// Combines the changes; words are joined, every file is edited once, every command runs once.
pub fn combine(site: Site<'_>, changes: &[&Change]) -> Result<Combined, Refusal> {
    let (mut line, mut options) = (Words::default(), Words::default());
    for change in changes {
        match change.kind {
            Kind::KernelCmdline => line.join(&change.add, &change.remove),
            Kind::Modprobe => options.join(&change.add, &change.remove),
            _ => {}
        }
    }
    combine_words(site, &line, &options)
}

/// The same for words of the kernel's command line and options of modules (`module.parameter=value`).
pub fn combine_words(site: Site<'_>, line: &Words, options: &Words) -> Result<Combined, Refusal> {
    let mut combined = Combined::default();
    let mut edits: Vec<Edit> = Vec::new();
    if line.any() {
        let edit = boot::edit(site.root, site.boot, &line.add, &line.remove)?;
        let (running, configured) = (site.host.kernel.cmdline.value(), site.boot.configured.value());
        combined.effective_cmdline = Some(cmdline::next_line(running, configured, &edit.effective));
        edits.push(edit);
    }
    if options.any() {
        edits.push(boot::modprobe_edit(site.root, &modprobe::wanted(&options.add), &options.remove)?);
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
