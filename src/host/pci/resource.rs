//! Base address registers and bridge windows: the `resource` file (drivers/pci/pci-sysfs.c `resource_show`).

use super::Bar;
use super::device::shown;
use crate::root::{Dir, Evidence, Fact, Why};

const MEM: u64 = 0x200;
const PREFETCH: u64 = 0x2000;
const MEM_64: u64 = 0x10_0000;
const UNSET: u64 = 0x2000_0000;

/// BARs are lines 0 to 5, the ROM is line 6.
const BARS: usize = 6;
/// Lines of a bridge with SR-IOV BARs (7 to 12) compiled in; its windows are the last four.
const LINES_WITH_SRIOV: usize = 17;

/// The parsed file.
pub(super) struct Resources {
    path: String,
    text: String,
    lines: Vec<Line>,
}

impl Resources {
    /// The line itself, as evidence.
    fn cite(&self, index: usize) -> Evidence {
        let text = self.text.lines().nth(index).unwrap_or_default();
        Evidence::at(self.path.clone(), index + 1, text)
    }
}

struct Line {
    start: u64,
    end: u64,
    flags: u64,
}

/// Reads every line.
pub(super) fn lines(dir: &Dir) -> Fact<Resources> {
    let path = format!("{}/resource", dir.path());
    match dir.text("resource") {
        Fact::Known { value, evidence } => {
            let mut lines = Vec::with_capacity(LINES_WITH_SRIOV);
            for (at, text) in value.split_inclusive('\n').enumerate() {
                let Some(line) = parse(text) else {
                    let detail = format!(
                        "expected three hexadecimal numbers (start, end, flags), found {}",
                        shown(text.trim_end())
                    );
                    return Fact::malformed(path, at + 1, detail);
                };
                lines.push(line);
            }
            if lines.len() < BARS {
                let detail =
                    format!("expected at least {BARS} lines, found {}: the file is cut", lines.len());
                return Fact::malformed(path, lines.len() + 1, detail);
            }
            Fact::Known { value: Resources { path, text: value, lines }, evidence }
        }
        Fact::Absent { evidence } => Fact::Absent { evidence },
        Fact::Unknown(reason) => Fact::Unknown(reason),
    }
}

fn parse(text: &str) -> Option<Line> {
    let mut fields = text.split_ascii_whitespace();
    let (start, end, flags) = (fields.next()?, fields.next()?, fields.next()?);
    // The three numbers have one width; a shorter last one without a newline was cut.
    let cut = !text.ends_with('\n') && flags.len() < start.len();
    if cut || fields.next().is_some() {
        return None;
    }
    Some(Line { start: hex(start)?, end: hex(end)?, flags: hex(flags)? })
}

fn hex(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x")?;
    if digits.starts_with('+') { None } else { u64::from_str_radix(digits, 16).ok() }
}

/// Lines 0 to 5 that are set or asked for.
pub(super) fn bars(resources: &Fact<Resources>) -> Fact<Vec<Bar>> {
    let resources = match resources {
        Fact::Known { value, .. } => value,
        Fact::Absent { evidence } => return Fact::Absent { evidence: evidence.clone() },
        Fact::Unknown(reason) => return Fact::Unknown(reason.clone()),
    };
    let (mut bars, mut evidence) = (Vec::new(), Vec::new());
    for (index, line) in resources.lines.iter().take(BARS).enumerate() {
        // Flags are checked first: the second half of a 64-bit BAR is three zeroes.
        if line.flags == 0 && line.end == 0 {
            continue;
        }
        match bar(index, line) {
            Some(bar) => bars.push(bar),
            None => return beyond(resources, index),
        }
        evidence.push(resources.cite(index));
    }
    if evidence.is_empty() {
        evidence.push(Evidence::new(resources.path.clone(), "lines 0 to 5 are not set"));
    }
    Fact::from_lines(bars, evidence)
}

/// The prefetchable window of a bridge; absent for other functions and for bridges without one.
pub(super) fn window(resources: &Fact<Resources>, bridge: bool, class: &Fact<i64>) -> Fact<Bar> {
    if let Fact::Unknown(reason) = class {
        return Fact::unknown(reason.path.clone(), Why::Derived, "whether this is a bridge is not known");
    }
    let resources = match resources {
        _ if !bridge => return Fact::Absent { evidence: class.evidence().to_vec() },
        Fact::Known { value, .. } => value,
        Fact::Absent { evidence } => return Fact::Absent { evidence: evidence.clone() },
        Fact::Unknown(reason) => return Fact::Unknown(reason.clone()),
    };
    let first = if resources.lines.len() >= LINES_WITH_SRIOV { 13 } else { 7 };
    if resources.lines.len() <= first {
        let detail = "expected the windows of the bridge after the ROM line: the file is cut";
        return Fact::malformed(resources.path.clone(), resources.lines.len() + 1, detail);
    }
    let is_window = |line: &Line| line.flags & (MEM | PREFETCH) == MEM | PREFETCH;
    let found = resources.lines.iter().enumerate().skip(first).find(|(_, line)| is_window(line));
    let Some((index, line)) = found else {
        let text = "no prefetchable memory window";
        return Fact::Absent { evidence: vec![Evidence::new(resources.path.clone(), text)] };
    };
    match bar(index, line) {
        Some(bar) => Fact::known(bar, resources.cite(index)),
        None => beyond(resources, index),
    }
}

/// `None` for addresses of 2^63 and more, which no machine has and no fact can hold.
fn bar(index: usize, line: &Line) -> Option<Bar> {
    let unassigned = line.flags & UNSET != 0 || line.start == 0 || line.end < line.start;
    let (start, end) = (i64::try_from(line.start).ok()?, i64::try_from(line.end).ok()?);
    Some(Bar {
        index: i64::try_from(index).ok()?,
        start,
        end,
        size: if unassigned { 0 } else { (end - start).checked_add(1)? },
        prefetch: line.flags & PREFETCH != 0,
        mem64: line.flags & MEM_64 != 0,
        unassigned,
    })
}

fn beyond<T>(resources: &Resources, index: usize) -> Fact<T> {
    let detail = "an address of 2^63 or more: no machine decodes that";
    Fact::malformed(resources.path.clone(), index + 1, detail)
}
