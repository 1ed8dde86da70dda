//! NVIDIA Xid lines (`NVRM: Xid (PCI:DDDD:BB:DD[ GPU-I:nn[ GPU-CI:nn]]): N, …`).

use super::XidCount;
use super::read::pattern;
use crate::host::log::LogLine;
use regex::Regex;
use std::collections::BTreeMap;
use std::sync::LazyLock;

static XID: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"(?i)NVRM: Xid \((?:PCI:)?(?<domain>[0-9a-f]{4,8}):(?<bus>[0-9a-f]{2}):(?<slot>[0-9a-f]{2})[^)]*\): (?<code>[0-9]{1,6})(?-u:\b)",
    )
});

/// Xids so far.
#[derive(Default)]
pub(super) struct Xids<'a> {
    counts: BTreeMap<(String, i64), (i64, Option<&'a LogLine>)>,
}

impl<'a> Xids<'a> {
    pub(super) fn line(&mut self, line: &'a LogLine) {
        if let Some(key) = parse(&line.text) {
            let entry = self.counts.entry(key).or_insert((0, Some(line)));
            entry.0 += 1;
        }
    }

    /// By GPU and code, with the first line of each.
    pub(super) fn counts(self) -> (Vec<XidCount>, Vec<&'a LogLine>) {
        let lines = self.counts.values().filter_map(|(_, line)| *line).collect();
        let counts =
            self.counts.into_iter().map(|((bdf, code), (count, _))| XidCount { bdf, code, count }).collect();
        (counts, lines)
    }
}

fn parse(text: &str) -> Option<(String, i64)> {
    if !text.contains("Xid") {
        return None;
    }
    let found = XID.as_ref()?.captures(text)?;
    let address = format!(
        "{}:{}:{}.0",
        found.name("domain")?.as_str(),
        found.name("bus")?.as_str(),
        found.name("slot")?.as_str()
    );
    Some((super::requester::parse_bdf(&address)?, found.name("code")?.as_str().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_names_gpu_and_code() {
        for line in [
            "NVRM: Xid (PCI:0000:2b:00): 31, pid=777, name=python3, Ch 00000010",
            "NVRM: Xid (PCI:0000:2B:00 GPU-I:04): 31, pid='<unknown>', name=<unknown>, x",
            "NVRM: Xid (PCI:0000:2b:00 GPU-I:04 GPU-CI:01): 31, x",
            "NVRM: Xid (0000:2b:00): 31, x",
        ] {
            assert_eq!(parse(line), Some(("0000:2b:00.0".to_owned(), 31)), "{line}");
        }
        assert_eq!(parse("NVRM: Xid (PCI:0000:2b:00): many"), None);
        assert_eq!(parse("NVRM: GPU at PCI:0000:2b:00: GPU-00000000"), None);
    }
}
