//! One pass over the log with one alternation; only lines that it hits are parsed.

use super::census::Census;
use super::{Faults, amd_vi, bars, dmar, link, notes, smmu, xid};
use crate::host::log::{KernelLog, LogLine};
use crate::host::pci::PciDevice;
use crate::root::{Evidence, Fact, Unknown, Why};
use regex::Regex;
use std::sync::LazyLock;

/// Literals of every line that any reader here knows. A line without one of them is never parsed.
static HIT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"Request device|callbacks suppressed|Event logged \[|arm-smmu|NVRM: |: BAR [0-9]|_OSC|",
        r"unknown parameter|P2P access from peer|Surprise|SDES|Rollover|Timeout|aer_(?:cor_|uncor_)?status|device_id: "
    ))
});

/// Lines kept as evidence for one fact.
const EVIDENCE: usize = 8;

/// Compiles one of this room's fixed patterns. They spell ASCII classes out: `\d`, `\w` and `\b` of all scripts
/// make a pattern ten times as dear to compile.
pub(super) fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

/// One rejected request.
#[derive(Clone, Debug, Default)]
pub(super) struct Event {
    /// `DDDD:BB:DD.F`; empty when the line names no PCI function.
    pub(super) bdf: String,
    /// The line carries the segment.
    pub(super) segment_known: bool,
    /// Stream id or another name, when there is no BDF.
    pub(super) other_name: String,
    pub(super) unit: &'static str,
    /// True for a write, false for a read.
    pub(super) write: Option<bool>,
    pub(super) address: Option<u64>,
    pub(super) code: String,
    pub(super) meaning: String,
}

/// Everything that one pass collects.
struct Pass<'a> {
    census: Census<'a>,
    smmu: smmu::Dump<'a>,
    suppressed: Vec<(i64, &'a LogLine)>,
    xids: xid::Xids<'a>,
    bars: bars::Bars<'a>,
    links: link::Links<'a>,
    notes: notes::Notes<'a>,
}

impl Faults {
    /// Counts and classes what the log of this boot holds. `gpus` are BDFs.
    ///
    /// Without a log everything is unknown. A log that does not begin with the boot's first line gives what
    /// it has; a flag that nothing in it sets is then unknown, since silence proves nothing.
    pub fn read(log: &KernelLog, pci: &[PciDevice], gpus: &[String]) -> Self {
        if let Some(reason) = log.available.reason() {
            return Self::unknown(reason);
        }
        let mut pass = Pass {
            census: Census::new(pci, gpus),
            smmu: smmu::Dump::default(),
            suppressed: Vec::new(),
            xids: xid::Xids::default(),
            bars: bars::Bars::default(),
            links: link::Links::default(),
            notes: notes::Notes::default(),
        };
        for line in &log.lines {
            if HIT.as_ref().is_none_or(|hit| hit.is_match(&line.text)) {
                pass.line(line);
            }
        }
        pass.smmu.flush(&mut pass.census);
        let found = Found { log, complete: log.complete.value() == Some(&true) };
        let suppressed: i64 = pass.suppressed.iter().fold(0, |sum, (n, _)| sum.saturating_add(*n));
        let largest = pass.suppressed.iter().map(|(n, _)| *n).max().unwrap_or(0);
        let suppressed_lines: Vec<&LogLine> = pass.suppressed.iter().map(|(_, line)| *line).collect();
        let (xids, xid_lines) = pass.xids.counts();
        let (unassigned, bar_lines) = pass.bars.unassigned(pci, gpus);
        let (links, link_lines) = pass.links.by_device();
        Self {
            devices: found.census(&pass.census.first_lines(), |log| pass.census.devices(log)),
            suppressed: found.census(&suppressed_lines, |_| suppressed),
            largest_burst: found.census(&suppressed_lines, |_| largest),
            xids: found.census(&xid_lines, |_| xids),
            api_mismatch: found.flag(pass.notes.api_mismatch()),
            bars_unassigned: found.list(unassigned, &bar_lines),
            aer_not_owned: found.flag(pass.notes.aer_not_owned()),
            unknown_parameters: found.pairs(pass.notes.unknown_parameters()),
            kfd_refusals: found.pairs(pass.notes.kfd_refusals()),
            link_trouble: found.list(links, &link_lines),
        }
    }

    fn unknown(reason: &Unknown) -> Self {
        fn derived<T>(reason: &Unknown) -> Fact<T> {
            Fact::unknown(reason.path.as_str(), Why::Derived, format!("no kernel log: {reason}"))
        }
        Self {
            devices: derived(reason),
            suppressed: derived(reason),
            largest_burst: derived(reason),
            xids: derived(reason),
            api_mismatch: derived(reason),
            bars_unassigned: derived(reason),
            aer_not_owned: derived(reason),
            unknown_parameters: derived(reason),
            kfd_refusals: derived(reason),
            link_trouble: derived(reason),
        }
    }
}

impl<'a> Pass<'a> {
    fn line(&mut self, line: &'a LogLine) {
        let text = line.text.as_str();
        if let Some(count) = suppressed(text) {
            self.suppressed.push((count, line));
            return;
        }
        if self.smmu.line(line, &mut self.census) {
            return;
        }
        if let Some(event) = dmar::parse(text).or_else(|| amd_vi::parse(text)) {
            self.census.add(line, event);
            return;
        }
        self.xids.line(line);
        self.bars.line(line);
        self.links.line(line);
        self.notes.line(line);
    }
}

/// `FUNCTION: N callbacks suppressed`, where the function prints IOMMU faults (`dmar_fault` of VT-d,
/// `amd_iommu_*` and `iommu_print_event` of AMD-Vi, `arm_smmu_*`).
fn suppressed(text: &str) -> Option<i64> {
    let (function, rest) = text.strip_suffix("callbacks suppressed")?.trim_end().rsplit_once(": ")?;
    let function = function.rsplit(' ').next().unwrap_or(function);
    let ours = ["dmar_fault", "amd_iommu_", "iommu_print_event", "arm_smmu_"];
    if !ours.iter().any(|name| function.starts_with(name)) {
        return None;
    }
    rest.trim().parse().ok()
}

/// Turns what was seen into facts, minding whether the log is complete.
struct Found<'a> {
    log: &'a KernelLog,
    complete: bool,
}

impl Found<'_> {
    /// A count or census: known also from a log that starts late, which the evidence then says.
    fn census<T>(&self, lines: &[&LogLine], value: impl FnOnce(&KernelLog) -> T) -> Fact<T> {
        let mut evidence = self.cite(lines);
        if evidence.is_empty() {
            evidence.push(Evidence::new(
                self.log.source(),
                format!("no such line among {} lines of this boot", self.log.lines.len()),
            ));
        }
        if !self.complete {
            evidence.push(Evidence::new(
                self.log.source(),
                "the log starts late (no `Linux version` line): earlier lines are not counted",
            ));
        }
        Fact::from_lines(value(self.log), evidence)
    }

    /// A list whose emptiness needs a complete log.
    fn list<T>(&self, values: Vec<T>, lines: &[&LogLine]) -> Fact<Vec<T>> {
        if values.is_empty() && !self.complete {
            return self.silent();
        }
        Fact::from_lines(values, self.cite(lines))
    }

    fn pairs(&self, pairs: Vec<(String, &LogLine)>) -> Fact<Vec<String>> {
        let lines: Vec<&LogLine> = pairs.iter().map(|(_, line)| *line).collect();
        self.list(pairs.into_iter().map(|(value, _)| value).collect(), &lines)
    }

    /// A flag with the line that decides it; without a line it is false in a complete log.
    fn flag(&self, seen: Option<(bool, &LogLine)>) -> Fact<bool> {
        match seen {
            Some((value, line)) => Fact::known(value, self.log.cite(line)),
            None if self.complete => Fact::known(
                false,
                Evidence::new(self.log.source(), format!("no such line among {}", self.log.lines.len())),
            ),
            None => self.silent(),
        }
    }

    fn silent<T>(&self) -> Fact<T> {
        Fact::unknown(
            self.log.source(),
            Why::Derived,
            "the log starts late, so that silence proves nothing; capture the whole boot: \
             `journalctl -k -b > captured/journal.txt`",
        )
    }

    fn cite(&self, lines: &[&LogLine]) -> Vec<Evidence> {
        lines.iter().take(EVIDENCE).map(|line| self.log.cite(line)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert!(HIT.is_some());
    }

    #[test]
    fn suppressed_lines_of_the_iommu_drivers_count_and_others_do_not() {
        assert_eq!(suppressed("dmar_fault: 8124 callbacks suppressed"), Some(8124));
        assert_eq!(suppressed("amd_iommu_report_page_fault: 15 callbacks suppressed"), Some(15));
        assert_eq!(
            suppressed("nvidia 0000:05:00.0: amd_iommu_report_page_fault: 3 callbacks suppressed"),
            Some(3)
        );
        assert_eq!(suppressed("arm_smmu_context_fault: 7 callbacks suppressed"), Some(7));
        assert_eq!(suppressed("net_ratelimit: 15 callbacks suppressed"), None);
        assert_eq!(suppressed("dmar_fault: many callbacks suppressed"), None);
    }
}
