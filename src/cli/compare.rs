//! `peerfix compare`.

use super::args::{CompareArgs, Global};
use super::exit::{Exit, Failure};
use super::{note, print};
use crate::bench::record::Record;
use crate::report::{Format, document, markdown_compare, text};
use crate::verdict::document::Overall;
use crate::verdict::read::{self, Hash, LIMIT, ReadError};
use crate::verdict::{Settings, compare};
use std::io::Read;
use std::path::Path;

/// Compares two records; the verdict decides the exit code.
pub(super) fn run(global: &Global, args: &CompareArgs) -> Result<Exit, Failure> {
    let before = record(global, &args.before)?;
    let after = record(global, &args.after)?;
    let settings = Settings { threshold_percent: args.threshold, ..Settings::default() };
    let verdict = compare(&before, &after, &settings);
    print(&match global.form() {
        Format::Text => text::compare::verdict(&verdict, global.verbose),
        Format::Json => document::json(&verdict),
        Format::Markdown => markdown_compare::verdict(&verdict),
    })?;
    Ok(match verdict.verdict {
        Overall::Better | Overall::Same => Exit::Done,
        Overall::Corrupt | Overall::Hang | Overall::Worse => Exit::Rejected,
        Overall::Inconclusive | Overall::Incomparable => Exit::Inconclusive,
    })
}

/// Reads a record, never more of the file than a record can be.
fn record(global: &Global, path: &Path) -> Result<Record, Failure> {
    let named = |error: &dyn std::fmt::Display| Failure::usage(format!("{}: {error}", path.display()));
    let mut document = Vec::new();
    let file = std::fs::File::open(path).map_err(|e| named(&e))?;
    file.take(LIMIT + 1).read_to_end(&mut document).map_err(|e| named(&e))?;
    let read = read::record(&document).map_err(|e: ReadError| named(&e))?;
    match read.hash {
        Hash::Matches => {}
        Hash::Differs => {
            return Err(named(
                &"hash mismatch: edited or damaged since it was written, so it is not compared; \
                  take the file that `peerfix bench` wrote, or measure again",
            ));
        }
        Hash::Absent => {
            note(global, &format!("peerfix: {}: carries no hash: unchecked", path.display()));
        }
    }
    Ok(read.record)
}

/// A threshold: more than 0 and less than 100 percent.
pub(super) fn threshold(text: &str) -> Result<f64, String> {
    let value = text.trim_end_matches('%').parse::<f64>().ok().filter(|v| *v > 0.0 && *v < 100.0);
    value.ok_or_else(|| "expected percent, more than 0 and less than 100, such as 3".to_owned())
}
