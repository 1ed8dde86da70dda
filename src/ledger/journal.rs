//! The journal of an entry: one JSON line for each durable step. What is to be done after a kill is decided
//! from its last line.

use super::crash::crashpoint;
use super::dir::Dir;
use super::document::{RunPolicy, now, strict};
use super::metadata::Metadata;
use jiff::Timestamp;
use nix::fcntl::OFlag;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// Name of the file.
pub(super) const JOURNAL: &str = "journal";

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Event {
    /// UTC.
    pub(super) at: Timestamp,
    #[serde(flatten)]
    pub(super) step: Step,
}

/// A command that was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ran {
    pub(super) argv: Vec<String>,
    pub(super) status: String,
    pub(super) success: bool,
}

/// What has been done durably.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub(super) enum Step {
    /// The entry was begun; nothing else of it need be there.
    Begun { process: u32 },
    /// Both versions of every file are kept; files may be touched from here on.
    Prepared,
    /// Commit: every file has its new content.
    FilesWritten,
    /// Every command ran well.
    CommandsRun { commands: Vec<Ran> },
    /// Done. `outstanding` are commands that were left to a person.
    Applied { outstanding: Vec<Vec<String>> },
    /// A command failed; the files are to be put back.
    CommandsFailed { commands: Vec<Ran> },
    /// Files were put back because the change did not come to its end. `kept` changed meanwhile.
    Undone { why: String, kept: Vec<String>, outstanding: Vec<Vec<String>> },
    /// The change is being taken back in this way.
    Reverting { files: Vec<FileRevert>, run: RunPolicy },
    /// Taking back was given up before a file was touched: the change stands.
    RevertGivenUp { why: String },
    /// Every file has the content it is to have; the commands that follow are not run yet.
    FilesRestored { kept: Vec<String> },
    /// Taken back. `commands` were run; `outstanding` were left to a person or failed.
    Reverted { by: String, commands: Vec<Ran>, outstanding: Vec<Vec<String>> },
}

/// How one file of an entry is taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileRevert {
    /// Index in the document.
    pub(super) index: usize,
    pub(super) action: Action,
    /// SHA-256 of the file when this was decided; none when there was none.
    pub(super) expect: Option<String>,
    /// What the file becomes; none when it is removed or not touched.
    pub(super) result: Option<Metadata>,
}

/// What taking back does to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Action {
    /// The version before comes back.
    Restore,
    /// The file changed since: the change is taken out of it. The result is kept in `revert/INDEX`.
    Merge,
    /// The file was created and goes away.
    Remove,
    /// Nothing of the change is in the file.
    Nothing,
}

/// Appends a step and makes it durable.
pub(super) fn append(entry: &Dir, step: Step) -> io::Result<()> {
    let mut line = serde_json::to_vec(&Event { at: now(), step })?;
    line.push(b'\n');
    let known = entry.stat(JOURNAL)?.is_some();
    let mut file = entry.open(JOURNAL, OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_APPEND, 0o600)?;
    if known {
        // A line cut short by a kill ends here, so that ours starts on its own line.
        let text = super::dir::read_all(&file)?;
        if text.last().is_some_and(|last| *last != b'\n') {
            line.insert(0, b'\n');
        }
    }
    file.write_all(&line)?;
    file.sync_all()?;
    if !known {
        entry.sync()?;
    }
    crashpoint!("journal-appended");
    Ok(())
}

/// The events of a journal. A line cut short by a kill never became durable and is left out; any other line
/// that cannot be read is an error with its number.
pub(super) fn parse(bytes: &[u8], refuse_unknown: bool) -> Result<Vec<Event>, String> {
    let mut events = Vec::new();
    for (index, line) in bytes.split(|b| *b == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        if serde_json::from_slice::<serde_json::Value>(line).is_err_and(|e| e.is_eof()) {
            continue;
        }
        let event = strict(line, refuse_unknown).map_err(|e| format!("line {}: {e}", index + 1))?;
        events.push(event);
    }
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_cut_short_is_left_out_and_the_next_starts_on_its_own() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::root(temp.path()).unwrap();
        append(&dir, Step::Prepared).unwrap();
        let path = temp.path().join(JOURNAL);
        let mut text = std::fs::read(&path).unwrap();
        text.extend_from_slice(br#"{"at":"2026-01-01T00:00:00Z","sta"#);
        std::fs::write(&path, &text).unwrap();
        assert_eq!(parse(&text, true).unwrap().len(), 1);
        append(&dir, Step::FilesWritten).unwrap();
        let events = parse(&std::fs::read(&path).unwrap(), true).unwrap();
        assert_eq!(events.last().unwrap().step, Step::FilesWritten);
        assert_eq!(events.len(), 2);
    }

    #[test]
    fn other_damage_names_the_line() {
        let good = br#"{"at":"2026-01-01T00:00:00Z","state":"prepared"}"#;
        let text = [good.as_slice(), b"\n{\"at\":7}\n"].concat();
        assert!(parse(&text, true).unwrap_err().starts_with("line 2: "));
        let unknown = br#"{"at":"2026-01-01T00:00:00Z","state":"prepared","x":1}"#;
        assert!(parse(unknown, true).unwrap_err().contains("/x"));
        assert_eq!(parse(unknown, false).unwrap().len(), 1);
    }
}
