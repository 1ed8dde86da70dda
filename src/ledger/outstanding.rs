//! Commands that an earlier run left to a person, run now that programs may be run.

use super::Ledger;
use super::commands::{CommandOutput, LOG};
use super::document::RunPolicy;
use super::error::{CommandFailure, LedgerError, state};
use super::history::left;
use super::journal::{Step, append};
use super::quote::command_line;
use super::run_in_target::check_policy;
use super::store::Stored;

impl Ledger {
    /// Runs every command that an entry left and no later one ran, each once, and notes it where it was left.
    /// With [`RunPolicy::PrintOnly`] nothing is run.
    ///
    /// # Errors
    ///
    /// Programs cannot be run in this target; a command failed (it stays outstanding).
    pub fn run_outstanding(&mut self, run: RunPolicy) -> Result<Vec<CommandOutput>, LedgerError> {
        if run == RunPolicy::PrintOnly {
            return Ok(Vec::new());
        }
        let waiting = super::history::waiting(&self.store)?;
        let mut entries: Vec<Stored> = Vec::new();
        for id in self.store.ids()? {
            let Ok(stored) = self.store.load(&id) else { continue };
            if stored.document.known() && left(&stored).iter().any(|argv| waiting.contains(argv)) {
                entries.push(stored);
            }
        }
        let Some(last) = entries.last() else { return Ok(Vec::new()) };
        check_policy(run, &self.store.target)?;
        let (failed, outputs) = self.regenerate(last, &waiting, run);
        for entry in &entries {
            let rest: Vec<Vec<String>> =
                left(entry).iter().filter(|argv| failed.contains(argv)).cloned().collect();
            let commands = outputs.iter().map(CommandOutput::ran).collect();
            // One line each, so that an entry never looks unfinished in between.
            let step = match entry.last().clone() {
                Step::Applied { .. } => Step::Applied { outstanding: rest },
                Step::Reverted { by, .. } => Step::Reverted { by, commands, outstanding: rest },
                Step::Undone { why, kept, .. } => Step::Undone { why, kept, outstanding: rest },
                _ => continue,
            };
            append(&entry.dir, step).map_err(state(entry.dir.path(), "write the journal"))?;
        }
        if let Some(output) = outputs.iter().find(|output| !output.success) {
            let rest: Vec<String> = failed.iter().map(|argv| command_line(argv)).collect();
            return Err(LedgerError::RegenerateFailed(Box::new(CommandFailure {
                id: last.document.id.clone(),
                command: output.command.clone(),
                status: output.status.clone(),
                tail: output.tail(),
                log: last.dir.join(LOG),
                then: format!("the files are as they were; run by hand: {}", rest.join("; ")),
            })));
        }
        Ok(outputs)
    }
}
