//! Plain assignments: `etc/environment` (pam_env), `etc/profile.d/*.sh`, `etc/nccl.conf`.

use super::Reading;
use crate::root::{Fact, Root};

/// Reads the three; other shell code than `export NAME=value` with a fixed value is passed over.
pub(super) fn read(root: &Root, reading: &mut Reading) {
    for path in ["etc/environment", "etc/nccl.conf"] {
        if let Some(text) = reading.text(root, path) {
            for (number, line) in lines(&text) {
                let line = line.strip_prefix("export ").unwrap_or(line);
                if let Some((name, value)) = line.split_once('=') {
                    reading.keep(name.trim(), unquoted(value.trim()), path, path, number);
                }
            }
        }
    }
    let scripts = match root.list("etc/profile.d") {
        Fact::Known { value, .. } => value,
        Fact::Absent { .. } => return,
        Fact::Unknown(reason) => {
            reading.unread.push(reason);
            return;
        }
    };
    for script in scripts.into_iter().filter(|name| name.strip_suffix(".sh").is_some()) {
        let path = format!("etc/profile.d/{script}");
        let Some(text) = reading.text(root, &path) else { continue };
        for (number, line) in lines(&text) {
            if let Some((name, value)) = line.strip_prefix("export ").and_then(exported) {
                reading.keep(name, value, &path, &path, number);
            }
        }
    }
}

/// `NAME=value`, when the shell would take the value as it stands.
fn exported(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.trim().split_once('=')?;
    let quoted = unquoted(value);
    if quoted.len() != value.len() {
        let dynamic = value.starts_with('"') && value.contains(['$', '`', '\\']);
        return (!dynamic).then_some((name, quoted));
    }
    let word = value.split([' ', '\t', ';']).next().unwrap_or_default();
    (!word.contains(['$', '`', '\\', '"', '\'', '*', '?', '&', '|'])).then_some((name, word))
}

/// The value inside one pair of equal quotes.
fn unquoted(value: &str) -> &str {
    ['"', '\'']
        .into_iter()
        .find_map(|q| value.strip_prefix(q)?.strip_suffix(q).filter(|inside| !inside.contains(q)))
        .unwrap_or(value)
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}
