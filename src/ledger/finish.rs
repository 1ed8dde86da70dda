//! After the commit mark: the commands, and what happens when one of them fails.

use super::Ledger;
use super::commands::{CommandOutput, LOG, run};
use super::crash::crashpoint;
use super::document::RunPolicy;
use super::error::{CommandFailure, LedgerError, state};
use super::journal::{Step, append};
use super::quote::command_line;
use super::settle::settle;
use super::store::Stored;

/// Commands run, and commands left to a person.
pub(super) struct Finished {
    pub(super) outstanding: Vec<String>,
    pub(super) outputs: Vec<CommandOutput>,
}

impl Ledger {
    /// Runs the commands of an entry whose files are written, and marks it applied.
    pub(super) fn finish(&self, stored: &Stored, policy: RunPolicy) -> Result<Finished, LedgerError> {
        let log = |step| append(&stored.dir, step).map_err(state(stored.dir.path(), "write the journal"));
        let commands = &stored.document.commands;
        if policy == RunPolicy::PrintOnly {
            log(Step::Applied { outstanding: commands.clone() })?;
            let outstanding = commands.iter().map(|argv| command_line(argv)).collect();
            return Ok(Finished { outstanding, outputs: Vec::new() });
        }
        let outputs = self.run_until_failure(stored, commands, policy);
        if let Some(failed) = outputs.last().filter(|output| !output.success) {
            return Err(self.take_back_failed(stored, policy, &outputs, failed));
        }
        settle(&self.store.target);
        if !outputs.is_empty() {
            log(Step::CommandsRun { commands: outputs.iter().map(CommandOutput::ran).collect() })?;
            crashpoint!("commands-ran");
        }
        log(Step::Applied { outstanding: Vec::new() })?;
        Ok(Finished { outstanding: Vec::new(), outputs })
    }

    fn run_until_failure(
        &self,
        stored: &Stored,
        commands: &[Vec<String>],
        policy: RunPolicy,
    ) -> Vec<CommandOutput> {
        let mut outputs = Vec::new();
        for argv in commands {
            let output = run(argv, policy, self.store.target.root.path(), &stored.dir);
            crashpoint!("command-ran");
            let go_on = output.success;
            outputs.push(output);
            if !go_on {
                break;
            }
        }
        outputs
    }

    fn take_back_failed(
        &self,
        stored: &Stored,
        policy: RunPolicy,
        outputs: &[CommandOutput],
        failed: &CommandOutput,
    ) -> LedgerError {
        let ran = outputs.iter().map(CommandOutput::ran).collect();
        // Recovery reads "files written" without this line and runs the commands again, which is safe.
        let noted = append(&stored.dir, Step::CommandsFailed { commands: ran });
        let then = match noted.map_err(state(stored.dir.path(), "write the journal")) {
            Ok(()) => self.undo_failed(stored, policy).unwrap_or_else(|error| {
                format!("putting the files back failed too ({error}); the next run tries again")
            }),
            Err(error) => format!("the files are written; the next run takes this up again ({error})"),
        };
        LedgerError::CommandFailed(Box::new(CommandFailure {
            id: stored.document.id.clone(),
            command: failed.command.clone(),
            status: failed.status.clone(),
            tail: failed.tail(),
            log: stored.dir.join(LOG),
            then,
        }))
    }

    /// Puts the files back after a failed command and regenerates as well as it goes. Says what was done.
    pub(super) fn undo_failed(&self, stored: &Stored, policy: RunPolicy) -> Result<String, LedgerError> {
        let kept = self.put_back(stored)?;
        let document = &stored.document;
        // A change that names none for the way back regenerates with the commands of the way there.
        let again =
            if document.revert_commands.is_empty() { &document.commands } else { &document.revert_commands };
        let outstanding = self.regenerate(stored, again, policy).0;
        let mut then = if kept.is_empty() {
            "every file is as it was before".to_owned()
        } else {
            format!(
                "changed by someone else meanwhile and left alone: {}; the rest is as before",
                kept.join(", ")
            )
        };
        if !outstanding.is_empty() {
            let commands: Vec<String> = outstanding.iter().map(|argv| command_line(argv)).collect();
            then.push_str("; what follows from the files could not be regenerated, run by hand: ");
            then.push_str(&commands.join("; "));
        }
        let step = Step::Undone { why: "a command failed".to_owned(), kept, outstanding };
        append(&stored.dir, step).map_err(state(stored.dir.path(), "write the journal"))?;
        Ok(then)
    }

    /// Runs every command, also after one that failed. Returns those not run well, and all outputs.
    pub(super) fn regenerate(
        &self,
        stored: &Stored,
        commands: &[Vec<String>],
        policy: RunPolicy,
    ) -> (Vec<Vec<String>>, Vec<CommandOutput>) {
        if policy == RunPolicy::PrintOnly {
            return (commands.to_vec(), Vec::new());
        }
        let mut outstanding = Vec::new();
        let mut outputs = Vec::new();
        for argv in commands {
            let output = run(argv, policy, self.store.target.root.path(), &stored.dir);
            crashpoint!("command-ran");
            if !output.success {
                outstanding.push(argv.clone());
            }
            outputs.push(output);
        }
        (outstanding, outputs)
    }
}
