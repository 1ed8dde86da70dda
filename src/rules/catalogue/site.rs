//! A site's own rule files.

use crate::root::{Fact, Root};
use crate::rules::source::{RuleError, Source};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Folder of a site's rules, relative to the root.
const FOLDER: &str = "etc/peerfix/rules.d";

/// The site's files that may be used. What they say ends up in a command line run as root, so as root only
/// files count that nobody else could have written.
pub(super) fn sources(root: &Root) -> (Vec<Source>, Vec<RuleError>) {
    let mut sources = Vec::new();
    let mut errors = Vec::new();
    let names = match root.list(FOLDER) {
        Fact::Known { value, .. } => value,
        Fact::Absent { .. } => return (sources, errors),
        Fact::Unknown(reason) => {
            return (sources, vec![whole(FOLDER, format!("cannot be read: {reason}"), "")]);
        }
    };
    let privileged = nix::unistd::geteuid().is_root();
    for name in names.iter().filter(|n| Path::new(n).extension().is_some_and(|e| e == "toml")) {
        let path = format!("{FOLDER}/{name}");
        if privileged && let Err(error) = only_root_writes(root, &path) {
            errors.push(*error);
            continue;
        }
        match root.text(&path) {
            Fact::Known { value, .. } => sources.push(Source { name: path, text: value.into() }),
            Fact::Absent { .. } => errors.push(whole(&path, "the link leads nowhere", "remove it")),
            Fact::Unknown(reason) => errors.push(whole(&path, format!("cannot be read: {reason}"), "")),
        }
    }
    (sources, errors)
}

/// The file, where links lead, and every folder above it below the root: who can write one can replace it.
fn only_root_writes(root: &Root, path: &str) -> Result<(), Box<RuleError>> {
    let failed = |e: std::io::Error| Box::new(whole(path, format!("cannot be examined: {e}"), ""));
    let real = root.resolve(path).map_err(failed)?;
    for part in real.ancestors().take_while(|part| part.starts_with(root.base())) {
        let meta = std::fs::metadata(part).map_err(failed)?;
        let group = meta.mode() & 0o020 != 0 && meta.gid() != 0;
        if meta.uid() != 0 || group || meta.mode() & 0o002 != 0 {
            let part = part.display();
            let (owner, group, mode) = (meta.uid(), meta.gid(), meta.mode() & 0o7777);
            let message = format!(
                "refused: others than root can write {part} (owner {owner}, group {group}, mode {mode:o})"
            );
            let help = format!("chown root:root {part} && chmod go-w {part}");
            return Err(Box::new(whole(path, message, &help)));
        }
    }
    Ok(())
}

/// An error about a file as a whole.
fn whole(path: &str, message: impl Into<String>, help: &str) -> RuleError {
    Source { name: path.to_owned(), text: "".into() }.error(0..0, message, help)
}
