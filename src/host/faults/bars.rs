//! BARs whose last state in the log is unassigned (drivers/pci/setup-res.c, setup-bus.c; nv-pci.c).

use super::read::pattern;
use crate::host::log::LogLine;
use crate::host::pci::PciDevice;
use regex::Regex;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// BARs 0 to 5 of a function: `BAR 1 [mem …]: …` (since 6.9) and `BAR 1: … [mem …]`. VF BARs, ROMs (BAR 6 of
/// older kernels) and bridge windows (BAR 7 to 15) do not count.
static BAR: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(r"(?i)(?<bdf>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]): BAR (?<bar>[0-5])(?<rest>[ :].*)")
});

/// The NVIDIA driver found no aperture: `NVRM: BAR1 is 0M @ 0x0 (PCI:DDDD:BB:DD.F)`.
static NVRM: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"(?i)NVRM: BAR(?<bar>[0-5]) is 0M @ 0x0 \(PCI:(?<bdf>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\)",
    )
});

/// The last state of each BAR.
#[derive(Default)]
pub(super) struct Bars<'a> {
    last: BTreeMap<(String, char), State<'a>>,
}

#[derive(Clone, Copy)]
struct State<'a> {
    assigned: bool,
    by_driver: bool,
    line: Option<&'a LogLine>,
}

impl<'a> Bars<'a> {
    pub(super) fn line(&mut self, line: &'a LogLine) {
        if let Some((bdf, bar, assigned, by_driver)) = parse(&line.text) {
            self.last.insert((bdf, bar), State { assigned, by_driver, line: Some(line) });
        }
    }

    /// Functions with a BAR that stayed unassigned. Where the PCI tree is known only GPUs are named, and
    /// what the NVIDIA driver itself complains about.
    pub(super) fn unassigned(self, pci: &[PciDevice], gpus: &[String]) -> (Vec<String>, Vec<&'a LogLine>) {
        let mut names: Vec<String> = Vec::new();
        let mut lines = Vec::new();
        for ((bdf, _), state) in self.last {
            if state.assigned || !(pci.is_empty() || state.by_driver || gpus.contains(&bdf)) {
                continue;
            }
            lines.extend(state.line);
            if names.last() != Some(&bdf) {
                names.push(bdf);
            }
        }
        (names, lines)
    }
}

/// BDF, BAR, assigned, said by the NVIDIA driver.
fn parse(text: &str) -> Option<(String, char, bool, bool)> {
    if let Some(found) = NVRM.as_ref().and_then(|r| r.captures(text)) {
        let bdf = super::requester::parse_bdf(found.name("bdf")?.as_str())?;
        return Some((bdf, found.name("bar")?.as_str().chars().next()?, false, true));
    }
    if !text.contains(": BAR ") {
        return None;
    }
    let found = BAR.as_ref()?.captures(text)?;
    let rest = found.name("rest")?.as_str();
    if rest.contains("[io ") {
        return None;
    }
    let failed = ["can't assign", "can't claim", "failed to assign", "no space for"];
    let assigned = if rest.contains(": assigned") {
        true
    } else if failed.iter().any(|words| rest.contains(words)) {
        false
    } else {
        return None;
    };
    let bdf = super::requester::parse_bdf(found.name("bdf")?.as_str())?;
    Some((bdf, found.name("bar")?.as_str().chars().next()?, assigned, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_and_new_lines_give_the_state() {
        let state = |text: &str| parse(text).map(|(_, bar, assigned, _)| (bar, assigned));
        for (text, expected) in [
            (
                "pci 0000:2b:00.0: BAR 1 [mem 0x1000-0x2000 64bit pref]: can't claim; no compatible bridge window",
                Some(('1', false)),
            ),
            (
                "pci 0000:2b:00.0: BAR 1 [mem size 0x10000000 64bit pref]: can't assign; no space",
                Some(('1', false)),
            ),
            (
                "pci 0000:2b:00.0: BAR 1: failed to assign [mem size 0x10000000 64bit pref]",
                Some(('1', false)),
            ),
            ("pci 0000:2b:00.0: BAR 1: no space for [mem size 0x10000000 64bit pref]", Some(('1', false))),
            ("pci 0000:2b:00.0: BAR 1 [mem 0x1000-0x2000 64bit pref]: assigned", Some(('1', true))),
            ("pci 0000:2b:00.0: BAR 1: assigned [mem 0x1000-0x2000 64bit pref]", Some(('1', true))),
            ("pci 0000:2b:00.0: BAR 1 [mem 0x1000-0x2000 64bit pref]", None),
            ("pci 0000:2b:00.0: BAR 5 [io  size 0x0080]: can't assign; no space", None),
            ("pci 0000:2b:00.0: BAR 6: failed to assign [mem size 0x80000 pref]", None),
            (
                "pci 0000:2b:00.0: ROM [mem 0x1000-0x2000 pref]: can't claim; no compatible bridge window",
                None,
            ),
            (
                "pci 0000:2b:00.0: VF BAR 0 [mem 0x1000-0x2000]: can't claim; no compatible bridge window",
                None,
            ),
            ("pcieport 0000:00:01.0: bridge window [io  size 0x1000]: can't assign; no space", None),
            ("pcieport 0000:00:01.0: BAR 13: failed to assign [io  size 0x1000]", None),
            ("NVRM: BAR1 is 0M @ 0x0 (PCI:0000:2b:00.0)", Some(('1', false))),
        ] {
            assert_eq!(state(text), expected, "{text}");
        }
    }
}
