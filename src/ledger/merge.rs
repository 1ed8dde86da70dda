//! Taking a change out of a file that changed since: three-way merge by lines, and diffs for people.

use similar::{DiffOp, TextDiff, TextMerge};
use std::ops::Range;

/// The file `now` with the change from `before` to `after` taken out; none when that cannot be told apart
/// from what changed since.
pub(super) fn take_out(before: &[u8], after: &[u8], now: &[u8]) -> Option<Vec<u8>> {
    let (before, after, now) = (characters(before), characters(after), characters(now));
    let merge = TextMerge::from_lines(after.as_str(), now.as_str(), before.as_str());
    let merged = if merge.is_conflicted() { exchange(&before, &after, &now)? } else { merge.to_string() };
    merged.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect()
}

/// Puts the old lines in place of the lines that the change wrote, where all of those still stand together.
///
/// A merge takes two changes of neighbouring lines for one conflict; here the lines of the change are known, so
/// what happened to their neighbours does not matter.
fn exchange(before: &str, after: &str, now: &str) -> Option<String> {
    let lines = |text: &'_ str| text.split_inclusive('\n').map(str::to_owned).collect::<Vec<String>>();
    let (before, after, now) = (lines(before), lines(after), lines(now));
    let places = places(&after, &now);
    let mut exchanges: Vec<(Range<usize>, &[String])> = Vec::new();
    for op in operations(&before, &after).iter().filter(|op| !matches!(op, DiffOp::Equal { .. })) {
        let place = place(&places, op.new_range(), now.len())?;
        exchanges.push((place, before.get(op.old_range())?));
    }
    let mut text = String::new();
    let mut done = 0;
    for (place, old) in exchanges {
        text.extend(now.get(done..place.start)?.iter().map(String::as_str));
        text.extend(old.iter().map(String::as_str));
        done = place.end;
    }
    text.extend(now.get(done..)?.iter().map(String::as_str));
    Some(text)
}

fn operations(from: &[String], to: &[String]) -> Vec<DiffOp> {
    let from: Vec<&str> = from.iter().map(String::as_str).collect();
    let to: Vec<&str> = to.iter().map(String::as_str).collect();
    TextDiff::from_slices(&from, &to).ops().to_vec()
}

/// Where each line of `after` stands now; none for one that is gone or changed.
fn places(after: &[String], now: &[String]) -> Vec<Option<usize>> {
    let mut places = vec![None; after.len()];
    for op in operations(after, now) {
        if let DiffOp::Equal { old_index, new_index, len } = op {
            for (offset, place) in places.iter_mut().skip(old_index).take(len).enumerate() {
                *place = Some(new_index + offset);
            }
        }
    }
    places
}

/// Lines of the file now that are the `written` lines of the change; for lines that it took out, the gap
/// between their neighbours.
fn place(places: &[Option<usize>], written: Range<usize>, lines: usize) -> Option<Range<usize>> {
    if written.is_empty() {
        let start = match written.start.checked_sub(1) {
            Some(line) => places.get(line).copied()?? + 1,
            None => 0,
        };
        let end = if written.start < places.len() { places.get(written.start).copied()?? } else { lines };
        return (start == end).then_some(start..end);
    }
    let stand: Vec<usize> = places.get(written)?.iter().copied().collect::<Option<_>>()?;
    let (first, last) = (*stand.first()?, *stand.last()?);
    (last - first + 1 == stand.len()).then_some(first..last + 1)
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
    fn the_next_line_may_have_changed() {
        let now = take_out(b"a=1\nb=1\nc=1\n", b"a=1\nb=2\nc=1\n", b"a=9\nb=2\nc=9\n");
        assert_eq!(now.as_deref(), Some(&b"a=9\nb=1\nc=9\n"[..]));
        // A line that the change added at the end, and one that somebody added behind it.
        let now = take_out(b"a=1\n", b"a=1\nb=2\n", b"a=1\nb=2\nc=3");
        assert_eq!(now.as_deref(), Some(&b"a=1\nc=3"[..]));
        // A line that the change took out comes back only between the neighbours it had.
        assert_eq!(take_out(b"a\nb\nc\n", b"a\nc\n", b"a\nx\nc\n"), None);
        assert_eq!(take_out(b"a\nb\nc\n", b"a\nc\n", b"a\nX\n"), None);
    }

    #[test]
    fn a_change_that_stands_in_part_is_a_conflict() {
        assert_eq!(take_out(b"a\nb\nc\n", b"A\nB\nc\n", b"A\nx\nc\n"), None);
        assert_eq!(take_out(b"a\nb\nc\n", b"A\nB\nc\n", b"A\nx\nB\nc\n"), None);
    }

    #[test]
    fn bytes_that_are_not_text_and_missing_last_newlines_survive() {
        let now = take_out(b"\xff\xfe\nx\ny\nz", b"\xff\xfe!\nx\ny\nz", b"\xff\xfe!\nx\ny\nz\x80");
        assert_eq!(now.as_deref(), Some(&b"\xff\xfe\nx\ny\nz\x80"[..]));
    }
}
