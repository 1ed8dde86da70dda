//! `proc/driver/nvidia/version`: the module that is loaded, its flavour, and builds patched for peer access.

use crate::root::{Evidence, Fact, Root, Unknown, Why};

const DIRECTORY: &str = "proc/driver/nvidia";
const VERSION: &str = "proc/driver/nvidia/version";

/// The loaded module.
pub(super) struct Module {
    pub(super) version: Fact<String>,
    pub(super) open: Fact<bool>,
    pub(super) patched: Fact<String>,
}

impl Module {
    pub(super) fn read(root: &Root) -> Self {
        match text(root) {
            Fact::Known { value, .. } => Self::parse(&value),
            Fact::Absent { evidence } => Self {
                version: Fact::Absent { evidence: evidence.clone() },
                open: Fact::Absent { evidence: evidence.clone() },
                patched: Fact::Absent { evidence },
            },
            Fact::Unknown(reason) => Self {
                version: Fact::Unknown(reason.clone()),
                open: Fact::Unknown(reason.clone()),
                patched: Fact::Unknown(reason),
            },
        }
    }

    /// First number of the version.
    pub(super) fn branch(&self) -> Fact<i64> {
        self.version.as_ref().parse(|version| {
            let first = version.split('.').next().unwrap_or_default();
            first.parse().map_err(|_| format!("expected a version such as 580.95.05, found {version:?}"))
        })
    }

    fn parse(text: &str) -> Self {
        let line = |beginning: &str| text.lines().enumerate().find(|(_, l)| l.starts_with(beginning));
        let nvrm = line("NVRM version:");
        let words = nvrm.and_then(|(index, line)| Some((index, line, version_word(line)?)));
        let Some((index, nvrm, word)) = words else {
            let detail = "expected `NVRM version: ... Kernel Module ... NNN.NN`, found none".to_owned();
            let reason = Unknown { path: VERSION.to_owned(), line: Some(1), why: Why::Malformed, detail };
            return Self {
                version: Fact::Unknown(reason.clone()),
                open: Fact::Unknown(reason.clone()),
                patched: Fact::Unknown(reason),
            };
        };
        let nvrm_line = Evidence::at(VERSION, index + 1, cut(nvrm));
        let mut lines = vec![nvrm_line.clone()];
        let gcc = line("GCC version:");
        lines.extend(gcc.map(|(index, line)| Evidence::at(VERSION, index + 1, cut(line))));
        let (number, suffix) = split_suffix(word);
        let patched = match patch_name(suffix, nvrm, gcc.map_or("", |(_, line)| line)) {
            Some(name) => Fact::from_lines(name, lines),
            None => Fact::Absent { evidence: lines },
        };
        Self {
            version: Fact::known(number.to_owned(), nvrm_line.clone()),
            open: Fact::known(nvrm.contains("UNIX Open Kernel Module"), nvrm_line),
            patched,
        }
    }
}

/// The text of the file. Where it is missing, the module is not loaded, unless sysfs says that it is or the
/// capture has no `proc` at all.
fn text(root: &Root) -> Fact<String> {
    let text = root.text(VERSION);
    if !text.is_absent() || root.is_live() {
        return text;
    }
    let detail = if !root.exists("proc") {
        "the capture has no proc/"
    } else if root.exists("sys/module/nvidia/parameters") || root.exists("sys/module/nvidia/refcnt") {
        "sys/module/nvidia says that the module is loaded; copy proc/driver/nvidia into the capture"
    } else if root.exists(DIRECTORY) {
        "proc/driver/nvidia was copied without it"
    } else {
        return text;
    };
    Fact::unknown(VERSION, Why::NotCaptured, detail)
}

/// The first word that begins like a version: `580.95.05`, `570.86.15-p2p`.
fn version_word(line: &str) -> Option<&str> {
    line.split_whitespace().find(|word| {
        let (number, _) = split_suffix(word);
        let mut parts = number.split('.');
        let digits = |part: Option<&str>| part.is_some_and(|p| !p.is_empty() && p.len() <= 6);
        digits(parts.next()) && digits(parts.next())
    })
}

/// The numeric version and what follows it.
pub(super) fn split_suffix(word: &str) -> (&str, &str) {
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    let (number, suffix) = word.split_at(end);
    (number.trim_end_matches('.'), suffix)
}

/// Names that mark a build as patched for peer access. `p2p` counts in the version's suffix and in the build
/// text, but not in the `(user@host)` of whoever compiled it: a host may have any name.
fn patch_name(suffix: &str, nvrm: &str, gcc: &str) -> Option<String> {
    let lines = [nvrm, gcc].map(str::to_ascii_lowercase);
    for name in ["aikitoria", "tinygrad", "geohot"] {
        if lines.iter().any(|line| line.contains(name)) {
            return Some(name.to_owned());
        }
    }
    let has_p2p = |text: &str| text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == "p2p");
    if has_p2p(&suffix.to_ascii_lowercase()) {
        return Some(suffix.trim_start_matches(['-', '+', '.', '_', '~']).to_owned());
    }
    let bare = lines.map(|line| without_builder(&line));
    bare.iter().any(|line| has_p2p(line)).then(|| "p2p".to_owned())
}

/// The line without words that hold an `@`.
fn without_builder(line: &str) -> String {
    line.split_whitespace().filter(|word| !word.contains('@')).collect::<Vec<_>>().join(" ")
}

fn cut(line: &str) -> String {
    line.chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::{patch_name, split_suffix, version_word};

    #[test]
    fn the_version_is_the_first_number_with_a_dot() {
        let line = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.256.02  Thu May  2 14:37:44 UTC 2024";
        assert_eq!(version_word(line), Some("470.256.02"));
        assert_eq!(split_suffix("595.71.05-aorus.5"), ("595.71.05", "-aorus.5"));
        assert_eq!(version_word("NVRM version: none"), None);
    }

    #[test]
    fn a_host_name_is_no_patch() {
        let line = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.1.2  (root@p2p-node)";
        assert_eq!(patch_name("", line, ""), None);
        assert_eq!(patch_name("-p2p", line, ""), Some("p2p".to_owned()));
        assert_eq!(patch_name("-aorus.5", line, ""), None);
        assert_eq!(patch_name("", line, "GCC version: gcc 13 P2P build"), Some("p2p".to_owned()));
        assert_eq!(patch_name("", "x (geohot@box)", ""), Some("geohot".to_owned()));
    }
}
