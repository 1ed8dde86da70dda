//! Bytes in hexadecimal, as hashes and UUIDs are written.

use std::fmt::Write;

/// Two lower-case digits for each byte.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
