//! AER counters (Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats).

use super::super::presence::not_captured;
use super::Aer;
use super::device::shown;
use crate::root::{Dir, Evidence, Fact, Root};

const FILES: [&str; 3] = ["aer_dev_correctable", "aer_dev_nonfatal", "aer_dev_fatal"];

/// Counters of one function; absent where none of the three files is there, as on functions without the
/// capability and on hosts whose firmware keeps AER.
pub(super) fn read(root: &Root, dir: &Dir) -> Fact<Aer> {
    if FILES.iter().all(|name| dir.kind(name).is_none()) {
        return Fact::absent(format!("{}/{}", dir.path(), FILES[0]));
    }
    let mut aer = Aer::default();
    let mut evidence = Vec::new();
    let mut missing = None;
    for name in FILES {
        match dir.text(name) {
            Fact::Known { value, .. } => {
                let path = format!("{}/{name}", dir.path());
                match count(&mut aer, &value, name) {
                    Ok(lines) => {
                        let cite = |(at, text): (usize, &str)| Evidence::at(path.clone(), at, text);
                        evidence.extend(lines.into_iter().map(cite));
                    }
                    Err((line, detail)) => return Fact::malformed(path, line, detail),
                }
            }
            // What was counted stands; zeros beside a file that is not there prove nothing.
            Fact::Absent { evidence } => {
                let path = evidence.first().map_or("", |e| e.source.as_str());
                missing.get_or_insert_with(|| {
                    not_captured(root, path, "the kernel makes the three AER files together")
                });
            }
            Fact::Unknown(reason) => return Fact::Unknown(reason),
        }
    }
    match missing {
        Some(missing) if aer == Aer::default() => missing,
        _ => Fact::from_lines(aer, evidence),
    }
}

/// Adds the counters of one file; gives back the lines that count anything. The total ends it.
fn count<'a>(aer: &mut Aer, text: &'a str, file: &str) -> Result<Vec<(usize, &'a str)>, (usize, String)> {
    let correctable = file == "aer_dev_correctable";
    let mut lines = Vec::new();
    for (line, at) in text.lines().zip(1..) {
        let bad = || (at, format!("expected \"NAME COUNT\", found {}", shown(line)));
        // Names hold blanks on the first kernels with these files, so that only the last word is the count.
        let (name, number) = line.trim_end().rsplit_once(' ').ok_or_else(bad)?;
        let number: i64 = number.parse().ok().filter(|n| *n >= 0).ok_or_else(bad)?;
        let name = name.trim();
        if number > 0 {
            lines.push((at, line));
        }
        match name {
            "RxErr" | "Receiver Error" if correctable => aer.rx_err = number,
            "BadTLP" | "Bad TLP" if correctable => aer.bad_tlp = number,
            "BadDLLP" | "Bad DLLP" if correctable => aer.bad_dllp = number,
            "Rollover" | "RELAY_NUM Rollover" if correctable => aer.rollover = number,
            "Timeout" | "Replay Timer Timeout" if correctable => aer.timeout = number,
            "SDES" | "Surprise Down Error" => aer.surprise_down = aer.surprise_down.saturating_add(number),
            "TOTAL_ERR_COR" => aer.correctable = number,
            "TOTAL_ERR_NONFATAL" => aer.nonfatal = number,
            "TOTAL_ERR_FATAL" => aer.fatal = number,
            _ => {}
        }
        if name.starts_with("TOTAL_ERR_") {
            return Ok(lines);
        }
    }
    Err((text.lines().count(), "expected a last line TOTAL_ERR_…: the file is cut".to_owned()))
}
