//! Documents that carry their own hash: SHA-256 of the text with the value of `hash` empty, without the line
//! end behind it. Anyone can check that from the file alone:
//!
//! ```text
//! sed 's/^  "hash": "[0-9a-f]*"/  "hash": ""/' RECORD | head -c -1 | sha256sum
//! ```

use super::hex::hex;
use sha2::{Digest, Sha256};

/// Whether a document is what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    /// It is.
    Matches,
    /// It was edited or damaged since.
    Differs,
    /// It carries none.
    Absent,
}

/// The hash of a document whose `hash` is empty.
pub fn digest(text: &[u8]) -> String {
    hex(Sha256::digest(text.trim_ascii_end()).as_slice())
}

/// Checks a document against the value of its `hash`. That value is cut out of the text rather than the
/// document written again: numbers might differ in their last digit.
pub fn check(document: &[u8], hash: &str) -> Hash {
    if hash.is_empty() {
        return Hash::Absent;
    }
    let document = document.trim_ascii_end();
    let quoted = format!("\"{hash}\"");
    // The last field, so the last place.
    let Some(at) = document.windows(quoted.len()).rposition(|bytes| bytes == quoted.as_bytes()) else {
        return Hash::Differs;
    };
    let (head, tail) = document.split_at(at.saturating_add(1));
    let mut digest = Sha256::new();
    digest.update(head);
    digest.update(tail.get(hash.len()..).unwrap_or_default());
    if hex(digest.finalize().as_slice()).eq_ignore_ascii_case(hash) { Hash::Matches } else { Hash::Differs }
}

#[cfg(test)]
mod tests {
    use super::{Hash, check, digest};

    #[test]
    fn the_hash_covers_every_other_byte() {
        let open = "{\n  \"a\": 1.10,\n  \"hash\": \"\"\n}";
        let hash = digest(open.as_bytes());
        let sealed = open.replace("\"\"", &format!("\"{hash}\"")) + "\n";
        assert_eq!(check(sealed.as_bytes(), &hash), Hash::Matches);
        assert_eq!(check(sealed.trim_end().as_bytes(), &hash), Hash::Matches, "the line end does not count");
        for (was, is) in [("1.10", "1.1"), ("\"a\"", "\"b\""), ("  ", " ")] {
            assert_eq!(check(sealed.replacen(was, is, 1).as_bytes(), &hash), Hash::Differs, "{was}");
        }
        assert_eq!(check(open.as_bytes(), ""), Hash::Absent);
        assert_eq!(check(b"", &hash), Hash::Differs);
        assert_eq!(check(b"{\"hash\":\"\\u0061\"}", "a"), Hash::Differs, "written with an escape");
    }
}
