//! Replacements of byte ranges, the only way any format here changes a file.

use std::ops::Range;

/// One range and what stands there afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splice {
    /// Bytes replaced; empty for an insertion.
    pub at: Range<usize>,
    /// New bytes.
    pub with: Vec<u8>,
}

impl Splice {
    /// Takes bytes out.
    pub fn delete(at: Range<usize>) -> Self {
        Self { at, with: Vec::new() }
    }

    /// Puts bytes in before `offset`.
    pub fn insert(offset: usize, with: impl Into<Vec<u8>>) -> Self {
        Self { at: offset..offset, with: with.into() }
    }
}

/// Applies splices to `bytes`; every byte outside them is kept. Insertions at one offset keep their order.
/// `None` when two overlap or one lies outside the file.
pub fn apply(bytes: &[u8], splices: &[Splice]) -> Option<Vec<u8>> {
    let mut ordered: Vec<&Splice> = splices.iter().collect();
    ordered.sort_by_key(|s| (s.at.start, s.at.end));
    let mut out = Vec::with_capacity(bytes.len() + 64);
    let mut done = 0;
    for splice in ordered {
        out.extend_from_slice(bytes.get(done..splice.at.start)?);
        bytes.get(splice.at.clone())?;
        out.extend_from_slice(&splice.with);
        done = splice.at.end;
    }
    out.extend_from_slice(bytes.get(done..)?);
    Some(out)
}
