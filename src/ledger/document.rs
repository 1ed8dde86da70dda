//! `change.json`: what an entry changes, written once before the first file is touched.

use super::error::LedgerError;
use super::metadata::Metadata;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// Name of the format.
pub const SCHEMA: &str = "peerfix/ledger";
/// Version written by this program: major changes meaning, minor only adds.
pub const VERSION: Version = Version { major: 1, minor: 0 };

/// Version of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Version {
    /// Differs: cannot be read.
    pub major: u32,
    /// Newer: may hold fields that are not known here.
    pub minor: u32,
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// One change of the plan, as it is remembered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeRecord {
    /// Id in the plan (`c1`).
    pub id: String,
    /// Stable name.
    pub name: String,
    /// Kind (`kernel-cmdline`).
    pub kind: String,
    /// Rules it answers.
    pub rules: Vec<String>,
    /// Words added.
    pub add: Vec<String>,
    /// Words removed.
    pub remove: Vec<String>,
    /// Risks it carries.
    pub risks: Vec<String>,
    /// Risks that were accepted, by name.
    pub consents: Vec<String>,
    /// Whatever else the plan wants to remember (expectation, losses); null when nothing.
    pub details: Value,
}

/// Whether and where the commands of a change are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunPolicy {
    /// On the running system; only for the root `/`.
    Live,
    /// Inside the target, with the target as root directory.
    InTarget,
    /// Not at all: the caller prints them.
    PrintOnly,
}

/// One file of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileRecord {
    /// Path asked for.
    pub(super) path: String,
    /// Path with links resolved when the change was made.
    pub(super) real: String,
    /// The version before; none when the file was created. Its bytes are in `before/INDEX`.
    pub(super) before: Option<Metadata>,
    /// The version after. Its bytes are in `after/INDEX`.
    pub(super) after: Metadata,
}

/// The document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Document {
    pub(super) schema: String,
    pub(super) version: Version,
    pub(super) id: String,
    pub(super) title: String,
    /// When the change was prepared, UTC.
    pub(super) at: Timestamp,
    /// Version of the program that made it.
    pub(super) program: String,
    pub(super) run: RunPolicy,
    pub(super) changes: Vec<ChangeRecord>,
    pub(super) files: Vec<FileRecord>,
    /// Directories made for new files, parents first.
    pub(super) made: Vec<String>,
    pub(super) commands: Vec<Vec<String>>,
    pub(super) revert_commands: Vec<Vec<String>>,
}

#[derive(Deserialize)]
struct Head {
    schema: String,
    version: Version,
}

impl Document {
    /// Reads a document; `path` is for messages.
    pub(super) fn parse(bytes: &[u8], path: &Path) -> Result<Self, LedgerError> {
        let damaged = |reason: String| LedgerError::Damaged { path: path.to_path_buf(), reason };
        let head: Head = serde_json::from_slice(bytes).map_err(|e| damaged(e.to_string()))?;
        if head.schema != SCHEMA {
            return Err(damaged(format!("expected schema {SCHEMA:?}, found {:?}", head.schema)));
        }
        if head.version.major != VERSION.major {
            return Err(LedgerError::Newer {
                path: path.to_path_buf(),
                found: head.version.to_string(),
                known: VERSION.to_string(),
            });
        }
        strict(bytes, head.version <= VERSION).map_err(damaged)
    }

    /// True when every part of it is understood, so that it may be acted on.
    pub(super) fn known(&self) -> bool {
        self.version <= VERSION
    }
}

/// Parses JSON; with `refuse_unknown`, a field that the type does not have is an error.
pub(super) fn strict<T: DeserializeOwned + Serialize>(
    bytes: &[u8],
    refuse_unknown: bool,
) -> Result<T, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
    let parsed: T = serde_json::from_value(value.clone()).map_err(|e| e.to_string())?;
    if refuse_unknown {
        // serde cannot refuse unknown fields of flattened types: what is lost on the way back is unknown.
        let again = serde_json::to_value(&parsed).map_err(|e| e.to_string())?;
        if let Some(field) = lost(&value, &again, "") {
            return Err(format!("unknown field {field}"));
        }
    }
    Ok(parsed)
}

/// JSON pointer of the first field in `original` that `again` lacks.
fn lost(original: &Value, again: &Value, at: &str) -> Option<String> {
    match (original, again) {
        (Value::Object(original), Value::Object(again)) => {
            original.iter().find_map(|(key, value)| match again.get(key) {
                Some(other) => lost(value, other, &format!("{at}/{key}")),
                None => Some(format!("{at}/{key}")),
            })
        }
        (Value::Array(original), Value::Array(again)) => original
            .iter()
            .zip(again)
            .enumerate()
            .find_map(|(index, (value, other))| lost(value, other, &format!("{at}/{index}"))),
        _ => None,
    }
}

/// Now, in whole seconds.
pub(super) fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(version: Version) -> Document {
        Document {
            schema: SCHEMA.to_owned(),
            version,
            id: "0001".to_owned(),
            title: "t".to_owned(),
            at: now(),
            program: "0".to_owned(),
            run: RunPolicy::PrintOnly,
            changes: vec![ChangeRecord {
                details: serde_json::json!({"free": {"form": 1}}),
                ..Default::default()
            }],
            files: vec![FileRecord {
                path: "etc/a".to_owned(),
                real: "etc/a".to_owned(),
                before: None,
                after: Metadata::new_file(b"x"),
            }],
            made: vec![],
            commands: vec![],
            revert_commands: vec![],
        }
    }

    fn with_extra(version: Version) -> Vec<u8> {
        let mut value = serde_json::to_value(document(version)).unwrap();
        value["files"][0]["after"]["colour"] = "red".into();
        serde_json::to_vec(&value).unwrap()
    }

    #[test]
    fn round_trip() {
        let bytes = serde_json::to_vec(&document(VERSION)).unwrap();
        assert_eq!(Document::parse(&bytes, Path::new("c")).unwrap(), document(VERSION));
    }

    #[test]
    fn unknown_field_of_the_same_version_is_damage_and_of_a_newer_minor_is_not() {
        let error = Document::parse(&with_extra(VERSION), Path::new("c")).unwrap_err().to_string();
        assert!(error.contains("/files/0/after/colour"), "{error}");
        let newer = Document::parse(&with_extra(Version { major: 1, minor: 1 }), Path::new("c")).unwrap();
        assert!(!newer.known());
    }

    #[test]
    fn newer_major_says_so() {
        let bytes = br#"{"schema":"peerfix/ledger","version":{"major":2,"minor":0},"other":1}"#;
        let error = Document::parse(bytes, Path::new("c")).unwrap_err();
        assert!(matches!(error, LedgerError::Newer { .. }), "{error}");
    }
}
