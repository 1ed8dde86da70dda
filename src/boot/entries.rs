//! Loader entries on disk and which of them is the default.

use super::Place;
use super::recognise::ENTRY_DIRECTORIES;
use crate::format::loader_entry::{self, LoaderEntry, compare_names};
use crate::root::{Evidence, Fact, Root, TEXT_LIMIT, Unknown, Why};
use std::collections::BTreeMap;

/// One entry.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// File relative to the root.
    pub(super) path: String,
    /// File name without `.conf` and boot counters.
    pub(super) id: String,
    /// What it says.
    pub(super) content: LoaderEntry,
}

/// The entries of the first directory that holds any.
pub(super) fn load(root: &Root) -> Fact<Vec<Entry>> {
    let mut hidden: Option<Unknown> = None;
    for dir in ENTRY_DIRECTORIES {
        let names = match root.list(dir) {
            Fact::Known { value, .. } => value,
            Fact::Absent { .. } => continue,
            Fact::Unknown(unknown) => {
                hidden.get_or_insert(unknown);
                continue;
            }
        };
        let mut entries = Vec::new();
        for name in names.iter().filter_map(|n| n.strip_suffix(".conf")) {
            let path = format!("{dir}/{name}.conf");
            let text = match root.text_limited(&path, TEXT_LIMIT) {
                Fact::Known { value, .. } => value,
                Fact::Absent { .. } => continue,
                Fact::Unknown(unknown) => return Fact::Unknown(unknown),
            };
            // `+3-1` before `.conf` counts tries (UAPI.1, boot counting).
            let id = name.split_once('+').map_or(name, |(id, _)| id).to_owned();
            entries.push(Entry { path, id, content: loader_entry::parse(&text) });
        }
        if !entries.is_empty() {
            return Fact::known(entries, Evidence::new(dir, "loader entries"));
        }
    }
    match hidden {
        Some(unknown) => Fact::Unknown(unknown),
        None => Fact::absent("boot/loader/entries"),
    }
}

/// The default entry: the newest that `wanted` names (a pattern with `*`), else the newest that starts a kernel
/// and is no rescue entry.
pub(super) fn default<'a>(entries: &'a [Entry], wanted: Option<&str>) -> Option<&'a Entry> {
    let newest = |list: Vec<&'a Entry>| list.into_iter().max_by(|a, b| order(a, b));
    if let Some(wanted) = wanted {
        let pattern = wanted.strip_suffix(".conf").unwrap_or(wanted);
        let named: Vec<&Entry> = entries.iter().filter(|e| glob(pattern, &e.id)).collect();
        if !named.is_empty() {
            return newest(named);
        }
    }
    let ordinary = |e: &&Entry| {
        e.content.linux && !["rescue", "fallback", "memtest", "oldkern"].iter().any(|w| e.id.contains(w))
    };
    newest(entries.iter().filter(ordinary).collect())
}

fn order(a: &Entry, b: &Entry) -> std::cmp::Ordering {
    compare_names(&a.content.version, &b.content.version).then_with(|| compare_names(&a.id, &b.id))
}

/// Matches `*` alone; other pattern characters are compared as they stand.
fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut last = None;
    for part in parts {
        last = Some(part);
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    match last {
        None => rest.is_empty(),
        Some(part) => part.is_empty() || text.ends_with(part),
    }
}

/// Every `options` line as a place.
pub(super) fn places(
    entries: &[Entry],
    default: Option<&Entry>,
    split: impl Fn(&str) -> Vec<String>,
) -> Vec<Place> {
    let mut places = Vec::new();
    for entry in entries {
        for (line, text) in &entry.content.options {
            let words = split(text);
            places.push(Place {
                file: entry.path.clone(),
                line: i64::try_from(*line).unwrap_or(i64::MAX),
                variable: "options".to_owned(),
                dynamic: text.contains('$'),
                words,
                effective: default.is_some_and(|d| d.path == entry.path),
            });
        }
    }
    places
}

/// Evidence of an entry's options.
pub(super) fn evidence(entry: &Entry) -> Vec<Evidence> {
    entry
        .content
        .options
        .iter()
        .map(|(line, text)| Evidence::at(entry.path.clone(), *line, text.clone()))
        .collect()
}

/// `default` of `loader.conf` beside the entries, or what the loader's own EFI variable says.
pub(super) fn configured_default(root: &Root) -> Option<String> {
    for dir in ["efi/loader", "boot/efi/loader", "boot/loader"] {
        let text = root.text(&format!("{dir}/loader.conf"));
        for line in text.value().map(String::as_str).unwrap_or_default().lines() {
            if let Some(("default", value)) = line.trim().split_once([' ', '\t']) {
                return Some(value.trim().to_owned()).filter(|v| !v.starts_with('@'));
            }
        }
    }
    None
}

/// GRUB's environment block: `key=value` lines of a 1 KiB file (grub-core/lib/envblk.c).
pub(super) fn environment_block(root: &Root) -> BTreeMap<String, String> {
    let bytes =
        root.bytes("boot/grub2/grubenv", TEXT_LIMIT).or(|| root.bytes("boot/grub/grubenv", TEXT_LIMIT));
    let text = String::from_utf8_lossy(bytes.value().map(Vec::as_slice).unwrap_or_default()).into_owned();
    let mut block = BTreeMap::new();
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        if let Some((key, value)) = line.split_once('=') {
            block.insert(key.to_owned(), value.replace("\\\\", "\\"));
        }
    }
    block
}

/// No default entry: why.
pub(super) fn no_default(entries: &Fact<Vec<Entry>>) -> Fact<Vec<String>> {
    match entries {
        Fact::Unknown(unknown) => Fact::Unknown(unknown.clone()),
        Fact::Known { evidence, .. } => {
            let path = evidence.first().map_or("boot/loader/entries", |e| e.source.as_str());
            Fact::unknown(path, Why::Malformed, "no entry starts a kernel (expected a `linux` line)")
        }
        Fact::Absent { .. } => Fact::unknown("boot/loader/entries", Why::NotCaptured, "no loader entries"),
    }
}

#[cfg(test)]
mod tests {
    use super::glob;

    #[test]
    fn default_patterns() {
        assert!(glob("nixos-*", "nixos-generation-3") && glob("*", "x") && glob("a", "a"));
        assert!(!glob("arch", "arch-lts") && !glob("b*", "ab") && glob("a*c", "abc") && !glob("a*c", "abd"));
    }
}
