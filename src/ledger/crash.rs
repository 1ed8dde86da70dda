//! Crash points: places where a test kills the process to see that the next run finishes or undoes.

/// Every crash point, in the order of the source. One lies between every two durable steps of applying,
/// reverting and recovering.
pub const CRASH_POINTS: &[&str] = &[
    "journal-appended",
    "entry-begun",
    "backup-copied",
    "change-written",
    "script-written",
    "entry-prepared",
    "entry-named",
    "directory-made",
    "temp-created",
    "temp-written",
    "temp-owned",
    "temp-synced",
    "files-staged",
    "file-renamed",
    "file-removed",
    "directory-synced",
    "directory-removed",
    "before-commit",
    "after-commit",
    "command-ran",
    "commands-ran",
    "merged-kept",
    "revert-planned",
    "files-restored",
];

/// The same between the durable steps of a trial boot.
pub const TRIAL_POINTS: &[&str] =
    &["trial-made", "trial-file-written", "trial-line-appended", "pending-set", "environment-written"];

/// Environment variable that names the crash point to die at: `NAME`, or `NAME:3` for its third passage.
#[cfg(feature = "crashpoints")]
pub const CRASH_VARIABLE: &str = "PEERFIX_CRASH";

/// Ends the process at once with status 137 when the environment asks for it; else nothing.
#[cfg(feature = "crashpoints")]
pub(super) fn at(name: &str) {
    use std::sync::atomic::{AtomicU32, Ordering};
    static PASSAGES: AtomicU32 = AtomicU32::new(0);
    let Ok(wanted) = std::env::var(CRASH_VARIABLE) else { return };
    let (point, passage) = wanted.split_once(':').unwrap_or((&wanted, "1"));
    if point == name && PASSAGES.fetch_add(1, Ordering::SeqCst) + 1 == passage.parse().unwrap_or(1) {
        // Runs no destructors, so locks, temporary files and buffers stay as a kill leaves them.
        std::process::exit(137);
    }
}

/// Nothing: crash points are compiled in with the feature `crashpoints` only.
#[cfg(not(feature = "crashpoints"))]
pub(super) const fn at(_name: &str) {}

/// Marks a crash point.
macro_rules! crashpoint {
    ($name:literal) => {
        $crate::ledger::crash::at($name)
    };
}
pub(super) use crashpoint;

#[cfg(test)]
mod tests {
    use super::{CRASH_POINTS, TRIAL_POINTS};
    use std::collections::BTreeSet;

    #[test]
    fn every_point_in_the_source_is_listed_and_the_other_way_round() {
        let mut found = BTreeSet::new();
        for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/ledger")).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with("crash.rs") {
                continue;
            }
            let text = std::fs::read_to_string(path).unwrap();
            let names = text.split("crashpoint!(\"").skip(1);
            found.extend(names.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
        }
        let listed = CRASH_POINTS.iter().chain(TRIAL_POINTS);
        assert_eq!(found, listed.map(|name| (*name).to_owned()).collect());
    }
}
