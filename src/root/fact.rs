//! Three-valued facts: known, absent, or unknown with the reason. Unknown is never a default value.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::{SerializeSeq, SerializeStruct};
use serde::{Deserialize, Serialize, Serializer};

/// One line that supports a statement, as the reader of a report can find it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Evidence {
    /// Path below the root that was read (`proc/cmdline`), without the root itself.
    pub source: String,
    /// Line number from 1; none for links, directories and whole files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The line itself, or what was found there.
    pub text: String,
}

impl Evidence {
    /// Evidence without a line number.
    pub fn new(source: impl Into<String>, text: impl Into<String>) -> Self {
        Self { source: source.into(), line: None, text: text.into() }
    }

    /// Evidence that names a line (from 1).
    pub fn at(source: impl Into<String>, line: usize, text: impl Into<String>) -> Self {
        Self { source: source.into(), line: u32::try_from(line).ok(), text: text.into() }
    }
}

/// Why a fact could not be established.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// The file exists; this user may not read it.
    Permission,
    /// A captured tree does not hold this file, and its absence proves nothing.
    NotCaptured,
    /// Reading failed (I/O error, not a file, link loop, link that leaves the tree).
    Unreadable,
    /// The content is not what the kernel, driver or program writes there.
    Malformed,
    /// Longer than the documented limit of its reader.
    TooLarge,
    /// Another fact that this one is derived from is unknown.
    Derived,
}

impl Why {
    /// The reason in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Permission => "permission denied",
            Self::NotCaptured => "not captured",
            Self::Unreadable => "unreadable",
            Self::Malformed => "malformed",
            Self::TooLarge => "too large",
            Self::Derived => "depends on another unknown fact",
        }
    }
}

/// An unknown fact: where it should have come from, and why it did not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Unknown {
    /// Path below the root.
    pub path: String,
    /// Line of the malformed text, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The class of the reason.
    pub why: Why,
    /// What was expected, what was found, what to do.
    pub detail: String,
}

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.path)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.why.words())?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, " ({})", self.detail) }
    }
}

/// A fact about the host.
///
/// Serialises in parts ([`FactPart`]) that `host::project` sorts into the plain value for rules, the evidence
/// and the reasons, keyed by JSON pointer. Its JSON Schema is that of `T`, nullable: `null` stands for absent;
/// an unknown fact is left out, so that touching it makes an expression undetermined.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact<T> {
    /// Established, with the lines that say so.
    Known {
        /// The value.
        value: T,
        /// Where it was read.
        evidence: Vec<Evidence>,
    },
    /// Established that it is not there (a file the kernel would have made, a key not set).
    Absent {
        /// Where it would have been.
        evidence: Vec<Evidence>,
    },
    /// Not established.
    Unknown(Unknown),
}

impl<T> Fact<T> {
    /// A known value with one line of evidence.
    pub fn known(value: T, evidence: Evidence) -> Self {
        Self::Known { value, evidence: vec![evidence] }
    }

    /// A known value that follows from several lines.
    pub fn from_lines(value: T, evidence: Vec<Evidence>) -> Self {
        Self::Known { value, evidence }
    }

    /// Established absence of `path`.
    pub fn absent(path: impl Into<String>) -> Self {
        Self::Absent { evidence: vec![Evidence::new(path, "not there")] }
    }

    /// Unknown, with the reason.
    pub fn unknown(path: impl Into<String>, why: Why, detail: impl Into<String>) -> Self {
        Self::Unknown(Unknown { path: path.into(), line: None, why, detail: detail.into() })
    }

    /// Malformed content at a line (from 1).
    pub fn malformed(path: impl Into<String>, line: usize, detail: impl Into<String>) -> Self {
        Self::Unknown(Unknown {
            path: path.into(),
            line: u32::try_from(line).ok(),
            why: Why::Malformed,
            detail: detail.into(),
        })
    }

    /// The value when known.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Known { value, .. } => Some(value),
            _ => None,
        }
    }

    /// The reason when unknown.
    pub fn reason(&self) -> Option<&Unknown> {
        match self {
            Self::Unknown(u) => Some(u),
            _ => None,
        }
    }

    /// True when established as not there.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent { .. })
    }

    /// True when not established.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown(_))
    }

    /// The lines that support a known or absent fact.
    pub fn evidence(&self) -> &[Evidence] {
        match self {
            Self::Known { evidence, .. } | Self::Absent { evidence } => evidence,
            Self::Unknown(_) => &[],
        }
    }

    /// Applies `f` to a known value and keeps the evidence; absence and ignorance pass through.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Fact<U> {
        match self {
            Self::Known { value, evidence } => Fact::Known { value: f(value), evidence },
            Self::Absent { evidence } => Fact::Absent { evidence },
            Self::Unknown(u) => Fact::Unknown(u),
        }
    }

    /// Applies `f` to a known value; `f` may find it malformed and says what was expected.
    pub fn parse<U>(self, f: impl FnOnce(&T) -> Result<U, String>) -> Fact<U> {
        match self {
            Self::Known { value, evidence } => match f(&value) {
                Ok(value) => Fact::Known { value, evidence },
                Err(detail) => {
                    let (path, line) =
                        evidence.first().map_or_else(Default::default, |e| (e.source.clone(), e.line));
                    Fact::Unknown(Unknown { path, line, why: Why::Malformed, detail })
                }
            },
            Self::Absent { evidence } => Fact::Absent { evidence },
            Self::Unknown(u) => Fact::Unknown(u),
        }
    }

    /// The fact by reference.
    pub fn as_ref(&self) -> Fact<&T> {
        match self {
            Self::Known { value, evidence } => Fact::Known { value, evidence: evidence.clone() },
            Self::Absent { evidence } => Fact::Absent { evidence: evidence.clone() },
            Self::Unknown(u) => Fact::Unknown(u.clone()),
        }
    }

    /// This fact if known, else `other` if that is known, else this one: for facts with two sources.
    #[must_use]
    pub fn or(self, other: impl FnOnce() -> Self) -> Self {
        if matches!(self, Self::Known { .. }) {
            return self;
        }
        match other() {
            known @ Self::Known { .. } => known,
            Self::Absent { evidence } if self.is_unknown() => Self::Absent { evidence },
            _ => self,
        }
    }
}

impl<T> Default for Fact<T> {
    fn default() -> Self {
        Self::Unknown(Unknown {
            path: String::new(),
            line: None,
            why: Why::NotCaptured,
            detail: String::new(),
        })
    }
}

/// How a fact serialises: a struct of this name with a value and evidence, or with a reason.
#[derive(Debug)]
pub struct FactPart;

impl FactPart {
    /// Name of the struct; no other has it.
    pub const STRUCT: &'static str = "$fact";
    /// The value of a known fact, `null` for an absent one.
    pub const VALUE: &'static str = "value";
    /// Source, line and text of each line of evidence, all in one list.
    pub const EVIDENCE: &'static str = "evidence";
    /// Path, line, class and detail of an unknown fact.
    pub const REASON: &'static str = "reason";
}

/// Evidence as one flat list.
struct Flat<'a>(&'a [Evidence]);

impl Serialize for Flat<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut cells = serializer.serialize_seq(Some(self.0.len() * 3))?;
        for line in self.0 {
            cells.serialize_element(&line.source)?;
            cells.serialize_element(&line.line)?;
            cells.serialize_element(&line.text)?;
        }
        cells.end()
    }
}

impl<T: Serialize> Serialize for Fact<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut parts = serializer.serialize_struct(FactPart::STRUCT, 2)?;
        match self {
            Self::Known { value, evidence } => {
                parts.serialize_field(FactPart::VALUE, value)?;
                parts.serialize_field(FactPart::EVIDENCE, &Flat(evidence))?;
            }
            Self::Absent { evidence } => {
                parts.serialize_field(FactPart::VALUE, &())?;
                parts.serialize_field(FactPart::EVIDENCE, &Flat(evidence))?;
            }
            Self::Unknown(Unknown { path, line, why, detail }) => {
                parts.serialize_field(FactPart::REASON, &(path, line, why, detail))?;
            }
        }
        parts.end()
    }
}

impl<T: JsonSchema> JsonSchema for Fact<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }
    fn schema_id() -> std::borrow::Cow<'static, str> {
        T::schema_id()
    }
    fn inline_schema() -> bool {
        T::inline_schema()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
