//! Boot Loader Specification entries (`loader/entries/*.conf`): `KEY VALUE` lines, `options` lines joined with a
//! blank. Read only: an entry is generated, and edits belong to what generates it.

use std::cmp::Ordering;

/// What an entry says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoaderEntry {
    /// `title`.
    pub title: String,
    /// `version`.
    pub version: String,
    /// `sort-key`.
    pub sort_key: String,
    /// `options` lines with their line numbers (from 1).
    pub options: Vec<(usize, String)>,
    /// It starts a kernel (`linux`) and not another program (`efi`) or an image that holds its own command line.
    pub linux: bool,
}

/// Parses an entry; unknown keys and malformed lines are passed over, as the specification asks.
pub fn parse(text: &str) -> LoaderEntry {
    let mut entry = LoaderEntry::default();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with('#') {
            continue;
        }
        let Some((key, value)) = line.split_once([' ', '\t']) else { continue };
        let value = value.trim();
        match key {
            "title" => value.clone_into(&mut entry.title),
            "version" => value.clone_into(&mut entry.version),
            "sort-key" => value.clone_into(&mut entry.sort_key),
            "linux" => entry.linux = true,
            "options" => entry.options.push((index + 1, value.to_owned())),
            _ => {}
        }
    }
    entry
}

impl LoaderEntry {
    /// All options as one text.
    pub fn options_text(&self) -> String {
        let parts: Vec<&str> = self.options.iter().map(|(_, text)| text.as_str()).collect();
        parts.join(" ")
    }
}

/// Orders entry names newest last: runs of digits compare as numbers, `~` sorts before everything.
pub fn compare_names(one: &str, other: &str) -> Ordering {
    let (mut left, mut right) = (one.as_bytes(), other.as_bytes());
    loop {
        let (x, y) = match (left.first(), right.first()) {
            (None, None) => return Ordering::Equal,
            (None, Some(b'~')) => return Ordering::Greater,
            (None, Some(_)) | (Some(b'~'), None) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(x), Some(y)) => (*x, *y),
        };
        if x.is_ascii_digit() && y.is_ascii_digit() {
            let (m, n) = (number(&mut left), number(&mut right));
            match m.len().cmp(&n.len()).then_with(|| m.cmp(n)) {
                Ordering::Equal => {}
                different => return different,
            }
            continue;
        }
        if x != y {
            return match (x, y) {
                (b'~', _) => Ordering::Less,
                (_, b'~') => Ordering::Greater,
                _ => x.cmp(&y),
            };
        }
        left = left.get(1..).unwrap_or_default();
        right = right.get(1..).unwrap_or_default();
    }
}

/// Takes the digits at the front, without leading zeros.
fn number<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    let len = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(len);
    *text = rest;
    let zeros = digits.iter().take_while(|b| **b == b'0').count();
    digits.get(zeros..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{compare_names, parse};

    #[test]
    fn options_lines_are_joined() {
        let entry = parse("# c\ntitle X\nlinux /vmlinuz\noptions root=/dev/a ro\noptions\tiommu=pt\njunk\n");
        assert_eq!(entry.options_text(), "root=/dev/a ro iommu=pt");
        assert_eq!(entry.options[1].0, 5);
        assert!(entry.linux);
    }

    #[test]
    fn newer_kernels_sort_last() {
        let mut names = ["k-6.10.1.conf", "k-6.9.12.conf", "k-6.10.0~rc1.conf", "k-6.10.0.conf"];
        names.sort_by(|a, b| compare_names(a, b));
        assert_eq!(names, ["k-6.9.12.conf", "k-6.10.0~rc1.conf", "k-6.10.0.conf", "k-6.10.1.conf"]);
    }
}
