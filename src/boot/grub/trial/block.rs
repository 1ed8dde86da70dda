//! The marked block in custom.cfg: added behind the bytes that are there, taken out exactly.

/// Prefix of a marker line, with the id behind it.
const BEGIN: &str = "# peerfix trial, begin: ";
const END: &str = "# peerfix trial, end: ";
/// Marks a block that had to end the line before it.
const JOINED: &str = " (the line before had no end)";

/// Id of the menu entry of a change; the reason when the id could not stand in GRUB's script as it is.
pub fn entry_id(id: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_digit() || c.is_ascii_lowercase() || c == '-';
    if id.is_empty() || id.len() > 64 || !id.chars().all(plain) {
        return Err(format!("expected an id of digits, small letters and `-`, found {id:?}"));
    }
    Ok(format!("peerfix-trial-{id}"))
}

/// The file with a block that holds `text`.
pub(super) fn with_block(before: Option<&[u8]>, id: &str, text: &[u8]) -> Vec<u8> {
    let mut bytes = before.unwrap_or_default().to_vec();
    let joined = bytes.last().is_some_and(|b| *b != b'\n');
    if joined {
        bytes.push(b'\n');
    }
    bytes.extend(format!("{BEGIN}{id}{}\n", if joined { JOINED } else { "" }).bytes());
    bytes.extend_from_slice(text);
    bytes.extend(format!("{END}{id}\n").bytes());
    bytes
}

/// The id of the first block in a file.
pub(super) fn armed(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let id = text.lines().find_map(|line| line.strip_prefix(BEGIN))?;
    Some(id.strip_suffix(JOINED).unwrap_or(id).to_owned())
}

/// The file without the block of `id`, every other byte kept; none when it holds no whole block.
pub fn without_block(bytes: &[u8], id: &str) -> Option<Vec<u8>> {
    let begin = format!("{BEGIN}{id}");
    let end = format!("{END}{id}");
    let (mut from, mut to, mut at) = (None, None, 0);
    for line in bytes.split_inclusive(|b| *b == b'\n') {
        let next = at + line.len();
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        if from.is_none() && text == begin.as_bytes() {
            from = Some(at);
        } else if from.is_none() && text == format!("{begin}{JOINED}").as_bytes() {
            from = Some(at.saturating_sub(1));
        } else if from.is_some() && text == end.as_bytes() {
            to = Some(next);
            break;
        }
        at = next;
    }
    let mut rest = bytes.get(..from?)?.to_vec();
    rest.extend_from_slice(bytes.get(to?..)?);
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::{armed, entry_id, with_block, without_block};

    #[test]
    fn a_block_goes_as_it_came() {
        for before in [&b""[..], b"set x=1\n", b"menuentry a { }", b"\n\n"] {
            let with = with_block(Some(before), "0007", b"menuentry b {\n}\n");
            assert!(with.starts_with(before));
            assert_eq!(armed(&with).as_deref(), Some("0007"));
            assert_eq!(without_block(&with, "0007").as_deref(), Some(before));
            assert_eq!(without_block(&with, "0008"), None);
            // Someone added a line behind it.
            let more = [with.as_slice(), b"set y=2\n"].concat();
            assert_eq!(without_block(&more, "0007").unwrap(), [before, b"set y=2\n"].concat());
        }
    }

    #[test]
    fn half_a_block_is_left_alone() {
        let with = with_block(None, "1", b"x\n");
        assert_eq!(without_block(&with[..with.len() - 5], "1"), None);
        assert!(entry_id("a b").is_err() && entry_id("").is_err() && entry_id("0001").is_ok());
    }
}
