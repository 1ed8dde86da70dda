//! Whether words that an edit adds reach the kernel: what stands behind `--` goes to init instead.

use super::{Edit, Refusal};
use crate::host::cmdline::Cmdline;

/// The edit, or a refusal where an added word would not be read.
///
/// `--` ends the kernel's own words (kernel/params.c `parse_args`); early parameters are no exception.
pub(super) fn checked(edit: Edit, add: &[String], remove: &[String]) -> Result<Edit, Refusal> {
    let line = Cmdline::parse(&edit.effective.join(" "));
    let lost: Vec<&str> = add.iter().filter(|word| !line.has(word)).map(String::as_str).collect();
    if lost.is_empty() {
        return Ok(edit);
    }
    let mut manual = vec![format!("put in front of `--`, in the same file: {}", lost.join(" "))];
    if !remove.is_empty() {
        manual.push(format!("take out: {}", remove.join(" ")));
    }
    manual.extend(edit.commands.iter().map(super::manual::as_step));
    let place = edit.files.first().map_or("kernel command line", |file| file.path.as_str()).to_owned();
    let reason = format!(
        "the configured line holds `--`, and what stands behind it goes to init, not to the kernel: {}",
        lost.join(" ")
    );
    Err(Refusal { place, reason, manual })
}
