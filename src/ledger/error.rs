//! Why the ledger did not do what it was asked. Every text names the file, the reason and what to do.

use std::fmt::Write;
use std::io;
use std::path::PathBuf;

/// Failure or refusal of the ledger.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// Another process holds the lock.
    #[error(
        "{path}: {holder} is changing this host; wait until it has ended, then run this again",
        path = path.display(),
        holder = pid.as_ref().map_or_else(
            || "another peerfix".to_owned(), |pid| format!("another peerfix (process {pid})"))
    )]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// Process named in it.
        pid: Option<String>,
    },
    /// The ledger's own files cannot be read or written.
    #[error("{path}: cannot {action}: {source}{hint}", path = path.display(), hint = hint(source))]
    State {
        /// File or directory of the ledger.
        path: PathBuf,
        /// What was attempted.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The ledger's directory could be changed by someone else.
    #[error(
        "{path}: {reason}; commands of this ledger run as root, so it must be owned by the user who runs \
         peerfix and writable by nobody else (chown, chmod go-w)",
        path = path.display()
    )]
    UnsafeState {
        /// The directory.
        path: PathBuf,
        /// Owner or mode found.
        reason: String,
    },
    /// Written by a newer peerfix.
    #[error(
        "{path}: format {found} is newer than this program knows ({known}); use the newer peerfix, or the \
         revert.sh beside it",
        path = path.display()
    )]
    Newer {
        /// The document.
        path: PathBuf,
        /// Its version.
        found: String,
        /// Newest version known here.
        known: String,
    },
    /// An entry of the ledger cannot be understood.
    #[error(
        "{path}: damaged: {reason}; nothing was touched (its revert.sh may still work; move the entry away \
         to go on without it)",
        path = path.display()
    )]
    Damaged {
        /// The document.
        path: PathBuf,
        /// What was expected and what was found.
        reason: String,
    },
    /// The request contradicts itself.
    #[error("{path}: {reason}; nothing was touched")]
    Request {
        /// Path in the request.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A file is not what the plan was made against.
    #[error("/{path}: changed since the plan was made ({reason}); nothing was touched, plan again")]
    ChangedSince {
        /// Path in the target.
        path: String,
        /// What was expected and what was found.
        reason: String,
    },
    /// A file that must not be, or cannot be, replaced.
    #[error("/{path}: {reason}; nothing was touched")]
    Refused {
        /// Path in the target.
        path: String,
        /// Why, and what to do.
        reason: String,
    },
    /// Writing a file failed.
    #[error("/{path}: cannot {action}: {source}{hint}; {left}", hint = hint(source))]
    Write {
        /// Path in the target.
        path: String,
        /// What was attempted.
        action: &'static str,
        /// What the system said.
        source: io::Error,
        /// What is left of the change.
        left: String,
    },
    /// A command of a change failed; its files were put back.
    #[error("{0}")]
    CommandFailed(Box<CommandFailure>),
    /// Files were put back, a command that regenerates what follows from them failed.
    #[error("{0}")]
    RegenerateFailed(Box<CommandFailure>),
    /// Files changed since, and the change cannot be taken out of them.
    #[error("{}", conflict_text(.0))]
    Conflict(Vec<Conflict>),
    /// No entry of that name.
    #[error("no change {which} in this ledger ({known}); `peerfix history` lists them")]
    NoSuchEntry {
        /// As asked.
        which: String,
        /// What there is.
        known: String,
    },
    /// Programs of the target cannot be run.
    #[error("{target}: programs in it cannot be run: {reason}", target = target.display())]
    NotRunnable {
        /// Root of the target.
        target: PathBuf,
        /// What is missing and how to make it so.
        reason: String,
    },
}

impl LedgerError {
    /// True for a refusal by policy, by the state of the files or by the system (exit 3): nothing was touched,
    /// or everything is as it was before.
    pub fn is_refusal(&self) -> bool {
        if let Self::State { source, .. } | Self::Write { source, .. } = self {
            return is_refused_by_system(source);
        }
        matches!(
            self,
            Self::Locked { .. }
                | Self::ChangedSince { .. }
                | Self::Refused { .. }
                | Self::Conflict(_)
                | Self::NotRunnable { .. }
                | Self::UnsafeState { .. }
                | Self::CommandFailed(_)
        )
    }

    /// True when everything is done but for the commands it names (exit 7).
    pub fn leaves_commands(&self) -> bool {
        matches!(self, Self::RegenerateFailed(_))
    }

    /// True for input this program cannot take (exit 2): a wrong name, a damaged or newer document.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::NoSuchEntry { .. } | Self::Newer { .. } | Self::Damaged { .. } | Self::Request { .. }
        )
    }
}

/// A command that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandFailure {
    /// Id of the entry.
    pub id: String,
    /// The command as one would type it.
    pub command: String,
    /// `exit status 3`, `killed by signal 9`, `not found`.
    pub status: String,
    /// Last lines of its output.
    pub tail: String,
    /// Where all of its output is kept.
    pub log: PathBuf,
    /// What was done about it, and what is left to do.
    pub then: String,
}

impl std::fmt::Display for CommandFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "change {}: `{}` failed: {}", self.id, self.command, self.status)?;
        for line in self.tail.lines() {
            write!(f, "\n  | {line}")?;
        }
        write!(f, "\n{} (all output: {})", self.then, self.log.display())
    }
}

/// A file that changed since, so that a change cannot be taken out of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Entry that was to be taken back.
    pub id: String,
    /// Path in the target.
    pub path: String,
    /// Why it cannot be merged.
    pub reason: String,
    /// Later change that builds on this one, when that is the cause.
    pub later: Option<String>,
    /// Kept copy of the file before the change; none when the change created it.
    pub kept_before: Option<PathBuf>,
    /// Kept copy of the file after the change.
    pub kept_after: PathBuf,
    /// Unified diff from the kept copy after the change to the file now.
    pub diff: String,
}

fn conflict_text(conflicts: &[Conflict]) -> String {
    let mut text = String::new();
    for conflict in conflicts {
        let _ = writeln!(
            text,
            "/{}: change {} cannot be taken out: {}",
            conflict.path, conflict.id, conflict.reason
        );
        if let Some(later) = &conflict.later {
            let _ = writeln!(text, "  change {later} builds on it; take {later} back first (or revert all)");
        }
        match &conflict.kept_before {
            Some(path) => _ = writeln!(text, "  before the change: {}", path.display()),
            None => _ = writeln!(text, "  before the change: no such file"),
        }
        let _ = writeln!(text, "  after the change:  {}", conflict.kept_after.display());
        for line in conflict.diff.lines() {
            let _ = writeln!(text, "  {line}");
        }
    }
    text.push_str("nothing was touched; edit the file by hand, or put one of the kept copies in its place");
    text
}

/// No right to write, a file system mounted read-only, no space: not a fault of this program.
fn is_refused_by_system(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied
            | io::ErrorKind::ReadOnlyFilesystem
            | io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
    )
}

/// What to do about an error of the system.
fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => " (run as root)",
        io::ErrorKind::ReadOnlyFilesystem => " (remount it writable)",
        io::ErrorKind::StorageFull => " (free some space)",
        _ => "",
    }
}

/// Turns a failure of the ledger's own files into an error.
pub(super) fn state(path: impl Into<PathBuf>, action: &'static str) -> impl FnOnce(io::Error) -> LedgerError {
    let path = path.into();
    move |source| LedgerError::State { path, action, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_does_not_allow_is_a_refusal_and_other_failures_are_not() {
        let failed = |kind: io::ErrorKind| LedgerError::State {
            path: "lock".into(),
            action: "open the lock",
            source: kind.into(),
        };
        for kind in
            [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem, io::ErrorKind::StorageFull]
        {
            assert!(failed(kind).is_refusal());
        }
        assert!(!failed(io::ErrorKind::Other).is_refusal());
    }
}
