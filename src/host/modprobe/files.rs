//! Which files of modprobe.d count: masked names, `*.conf`, one order over all directories
//! (libkmod-config.c, `conf_files_list`).

use super::{DIRECTORIES, ModuleLine};
use crate::root::{Evidence, Fact, Root, Unknown, Why};
use std::collections::BTreeMap;

/// Limit for one file of modprobe.d: 16 MiB.
pub(super) const LIMIT: u64 = 16 << 20;

/// The files to read, in lexical order of their names.
#[derive(Default)]
pub(super) struct Listing {
    pub(super) paths: Vec<String>,
    pub(super) evidence: Vec<Evidence>,
    /// The first reason why the list may be incomplete.
    pub(super) unknown: Option<Unknown>,
}

/// Lists the files of all directories. Directories that are not there are normal where `etc` is.
pub(super) fn list(root: &Root) -> Listing {
    let mut listing = Listing::default();
    if !root.exists("etc") {
        let detail = "the capture has no etc/; add etc/modprobe.d to it";
        listing.unknown = Some(not_captured(DIRECTORIES[0], detail));
    }
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for directory in DIRECTORIES {
        match root.list(directory) {
            Fact::Known { value, .. } => {
                listing.evidence.push(Evidence::new(directory, "listed"));
                for name in value.into_iter().filter(|name| is_conf(name)) {
                    // The directory of higher precedence came first and masks this one.
                    let path = format!("{directory}/{name}");
                    names.entry(name).or_insert(path);
                }
            }
            Fact::Absent { .. } => listing.evidence.push(Evidence::new(directory, "not there")),
            Fact::Unknown(reason) => {
                listing.unknown.get_or_insert(reason);
            }
        }
    }
    listing.paths = names.into_values().filter(|path| !is_masked(root, path)).collect();
    listing
}

fn is_conf(name: &str) -> bool {
    name.len() > ".conf".len() && name.as_bytes().ends_with(b".conf")
}

/// A link to `/dev/null` masks the name in all directories; a directory is no file to kmod.
fn is_masked(root: &Root, path: &str) -> bool {
    let null = root.link(path).value().is_some_and(|target| target == "/dev/null");
    null || root.list(path).value().is_some()
}

/// A listed file that gave no bytes. What kmod cannot open either is named and passed over; what only this
/// reader could not see leaves the lists unknown.
pub(super) fn unreadable(
    root: &Root,
    path: &str,
    read: Fact<Vec<u8>>,
    malformed: &mut Vec<ModuleLine>,
    unknown: &mut Option<Unknown>,
) {
    match read {
        Fact::Unknown(Unknown { why: Why::Unreadable, detail, .. }) => malformed.push(ModuleLine {
            module: String::new(),
            file: path.to_owned(),
            line: 0,
            text: format!("cannot be opened: {detail}"),
        }),
        Fact::Unknown(reason) => {
            unknown.get_or_insert(reason);
        }
        // Listed and yet not there: a link whose target is missing. On a live host kmod passes over it; in a
        // capture the target may only not have been copied.
        _ if root.is_live() => {}
        _ => {
            let target = root.link(path).value().cloned().unwrap_or_default();
            let detail = format!("link to {target}, which the capture does not hold");
            unknown.get_or_insert(not_captured(path, &detail));
        }
    }
}

fn not_captured(path: &str, detail: &str) -> Unknown {
    Unknown { path: path.to_owned(), line: None, why: Why::NotCaptured, detail: detail.to_owned() }
}
