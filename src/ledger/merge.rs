//! Taking a change out of a file that changed since: three-way merge by lines, and diffs for people.

use similar::{TextDiff, TextMerge};

/// The file `now` with the change from `before` to `after` taken out; none when that cannot be told apart
/// from what changed since.
pub(super) fn take_out(before: &[u8], after: &[u8], now: &[u8]) -> Option<Vec<u8>> {
    let (before, after, now) = (characters(before), characters(after), characters(now));
    let merge = TextMerge::from_lines(after.as_str(), now.as_str(), before.as_str());
    if merge.is_conflicted() {
        return None;
    }
    merge.to_string().chars().map(|c| u8::try_from(u32::from(c)).ok()).collect()
}

/// One character per byte, so that any bytes go through the merge unchanged.
fn characters(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// Unified diff of two versions of `path`; none stands for no such file.
pub(super) fn diff(path: &str, from: Option<&[u8]>, to: Option<&[u8]>) -> String {
    let name = |side: &str, version: Option<&[u8]>| match version {
        Some(_) => format!("{side}/{path}"),
        None => "/dev/null".to_owned(),
    };
    let (old, new) = (name("a", from), name("b", to));
    let text = |version: Option<&[u8]>| String::from_utf8_lossy(version.unwrap_or_default()).into_owned();
    let (from, to) = (text(from), text(to));
    TextDiff::from_lines(from.as_str(), to.as_str()).unified_diff().header(&old, &new).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_changed_elsewhere_survives() {
        let now = take_out(b"a=1\nb=1\nc=1\nd=1\n", b"a=2\nb=1\nc=1\nd=1\n", b"a=2\nb=1\nc=1\nd=9\n");
        assert_eq!(now.as_deref(), Some(&b"a=1\nb=1\nc=1\nd=9\n"[..]));
    }

    #[test]
    fn the_same_line_is_a_conflict() {
        assert_eq!(take_out(b"a=1\n", b"a=2\n", b"a=3\n"), None);
    }

    #[test]
    fn bytes_that_are_not_text_and_missing_last_newlines_survive() {
        let now = take_out(b"\xff\xfe\nx\ny\nz", b"\xff\xfe!\nx\ny\nz", b"\xff\xfe!\nx\ny\nz\x80");
        assert_eq!(now.as_deref(), Some(&b"\xff\xfe\nx\ny\nz\x80"[..]));
    }
}
