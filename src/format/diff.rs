//! Unified diff of two versions of a file, for people to read.

use similar::TextDiff;
use std::fmt::Write;

/// The unified diff of `path` (relative to the root); `before` none for a new file. Empty when nothing differs.
///
/// Bytes that are not UTF-8 are shown as `\xNN`, so that two different ones never look alike.
pub fn unified(path: &str, before: Option<&[u8]>, after: &[u8]) -> String {
    let old = readable(before.unwrap_or_default());
    let new = readable(after);
    let from = if before.is_some() { format!("a/{path}") } else { "/dev/null".to_owned() };
    TextDiff::from_lines(&old, &new)
        .unified_diff()
        .context_radius(3)
        .header(&from, &format!("b/{path}"))
        .to_string()
}

fn readable(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::unified;

    #[test]
    fn shows_the_changed_line_with_its_neighbours_and_a_missing_newline() {
        let diff = unified("etc/default/grub", Some(b"A=1\nB=2"), b"A=1\nB=3");
        assert_eq!(
            diff,
            "--- a/etc/default/grub\n+++ b/etc/default/grub\n@@ -1,2 +1,2 @@\n A=1\n-B=2\n\
             \\ No newline at end of file\n+B=3\n\\ No newline at end of file\n"
        );
    }

    #[test]
    fn different_bytes_outside_utf8_look_different() {
        let diff = unified("f", Some(b"\xff\n"), b"\xfe\n");
        assert!(diff.contains("-\\xff") && diff.contains("+\\xfe"), "{diff}");
    }

    #[test]
    fn a_new_file_comes_from_nowhere_and_no_change_is_empty() {
        assert!(unified("f", None, b"x\n").starts_with("--- /dev/null\n+++ b/f\n"));
        assert_eq!(unified("f", Some(b"x\n"), b"x\n"), "");
    }
}
