//! Bytes become a record, or the reason why not.

use crate::bench::record::{MAJOR, Record, SCHEMA, Version};
use crate::format::sealed;
use serde::Deserialize;

pub use crate::format::sealed::Hash;

/// Largest document that is read: 64 MiB, ten times what sixteen GPUs write.
pub const LIMIT: u64 = 64 << 20;

/// Why a document is no record for this program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// Larger than [`LIMIT`].
    #[error("larger than {} MiB: not a record that `peerfix bench` wrote", LIMIT >> 20)]
    TooLarge,
    /// Not JSON, or fields missing or of another type.
    #[error("not a readable record: {0}; expected the JSON document that `peerfix bench -o FILE` writes")]
    Malformed(String),
    /// Another document.
    #[error("is a {0:?} document, expected {SCHEMA:?} as `peerfix bench -o FILE` writes it")]
    OtherSchema(String),
    /// A newer major version.
    #[error(
        "record version {found}, written by peerfix {program}; this program reads up to {MAJOR}: \
         compare with peerfix {program} or newer"
    )]
    Newer {
        /// Major version found.
        found: u32,
        /// Program that wrote it.
        program: String,
    },
}

/// A record and whether its hash holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// The record.
    pub record: Record,
    /// The hash.
    pub hash: Hash,
}

#[derive(Deserialize)]
struct Head {
    schema: String,
    version: Version,
    #[serde(default)]
    program: String,
}

/// Reads a record. Fields that this program does not know are left out; a newer major version is refused.
pub fn record(document: &[u8]) -> Result<Read, ReadError> {
    if u64::try_from(document.len()).map_or(true, |size| size > LIMIT) {
        return Err(ReadError::TooLarge);
    }
    let malformed = |error: serde_json::Error| ReadError::Malformed(error.to_string());
    let head: Head = serde_json::from_slice(document).map_err(malformed)?;
    if head.schema != SCHEMA {
        return Err(ReadError::OtherSchema(head.schema.chars().take(60).collect()));
    }
    if head.version.major > MAJOR {
        let program = head.program.chars().filter(|c| !c.is_control()).take(40).collect();
        return Err(ReadError::Newer { found: head.version.major, program });
    }
    let record: Record = serde_json::from_slice(document).map_err(malformed)?;
    let hash = sealed::check(document, &record.hash);
    Ok(Read { record, hash })
}
