//! A fact as a document keeps it from one boot to another.

use crate::root::{Fact, Root, Why};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Known, absent or unknown. Unknown is never equal to anything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Part<T> {
    /// Established.
    Known {
        /// The value.
        value: T,
    },
    /// Established that there is none.
    Absent,
    /// Not established.
    Unknown {
        /// Path and reason.
        why: String,
    },
}

impl<T> Part<T> {
    /// The value when known.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Known { value } => Some(value),
            _ => None,
        }
    }

    /// The reason when unknown.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Unknown { why } => Some(why),
            _ => None,
        }
    }
}

impl<T> Default for Part<T> {
    fn default() -> Self {
        Self::Unknown { why: "not read".to_owned() }
    }
}

impl<T> From<Fact<T>> for Part<T> {
    fn from(fact: Fact<T>) -> Self {
        match fact {
            Fact::Known { value, .. } => Self::Known { value },
            Fact::Absent { .. } => Self::Absent,
            Fact::Unknown(reason) => Self::Unknown { why: reason.to_string() },
        }
    }
}

/// For what every kernel with its file systems mounted has: absence says that it was not looked at.
pub(super) fn expected<T>(root: &Root, path: &str, fact: Fact<T>) -> Part<T> {
    if !fact.is_absent() {
        return fact.into();
    }
    let missing: Fact<T> = if root.is_live() {
        Fact::unknown(path, Why::Unreadable, "check that /proc and /sys are mounted")
    } else {
        Fact::unknown(path, Why::NotCaptured, "")
    };
    missing.into()
}
