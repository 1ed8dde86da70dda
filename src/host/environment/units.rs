//! `Environment=` and `EnvironmentFile=` of service units and their drop-ins (systemd.exec(5)).

use super::quoting::{joined, words};
use super::{Reading, VARIABLES};
use crate::root::{Fact, Root};
use std::collections::BTreeMap;

/// Directories of one manager, strongest first: a file name in one hides the same name in those behind it.
const MANAGERS: [(&str, &[&str]); 2] = [
    (
        "unit",
        &[
            "etc/systemd/system",
            "run/systemd/system",
            "usr/local/lib/systemd/system",
            "usr/lib/systemd/system",
        ],
    ),
    ("user unit", &["etc/systemd/user"]),
];

/// Environment files that one unit may name.
const FILE_LIMIT: usize = 64;

/// Reads every service, enabled or not.
pub(super) fn read(root: &Root, reading: &mut Reading) {
    for (kind, directories) in MANAGERS {
        let mut units: BTreeMap<String, Unit> = BTreeMap::new();
        for directory in directories {
            for name in entries(root, directory, reading) {
                let path = format!("{directory}/{name}");
                if let Some(unit) = name.strip_suffix(".d").filter(|u| is_service(u)) {
                    let drop_ins = &mut units.entry(unit.to_owned()).or_default().drop_ins;
                    for file in entries(root, &path, reading)
                        .into_iter()
                        .filter(|f| f.strip_suffix(".conf").is_some())
                    {
                        let at = format!("{path}/{file}");
                        drop_ins.entry(file).or_insert(at);
                    }
                } else if is_service(&name) {
                    match link(root, &path, &name) {
                        Link::Alias => {}
                        Link::Mask => _ = units.entry(name).or_default().file.get_or_insert_default(),
                        Link::None => _ = units.entry(name).or_default().file.get_or_insert(path),
                    }
                }
            }
        }
        for (name, unit) in units {
            if unit.file.as_deref() != Some("") {
                let name = if name == "service" { "*.service" } else { name.as_str() };
                unit.read(root, &format!("{kind} {name}"), reading);
            }
        }
    }
}

/// The files of one unit.
#[derive(Default)]
struct Unit {
    /// The unit itself; empty when it is masked.
    file: Option<String>,
    drop_ins: BTreeMap<String, String>,
}

/// A value with the place that set it.
type Values = BTreeMap<String, (String, String, usize)>;

impl Unit {
    /// Applies the assignments in systemd's order; environment files go over `Environment=`.
    fn read(self, root: &Root, holder: &str, reading: &mut Reading) {
        let mut own = Values::new();
        let mut files: Vec<String> = Vec::new();
        let mut unset: Vec<String> = Vec::new();
        for path in self.file.into_iter().chain(self.drop_ins.into_values()) {
            let Some(text) = reading.text(root, &path) else { continue };
            // Most units set no environment at all.
            if !text.contains("Environment") {
                continue;
            }
            let mut service = false;
            for (number, line) in joined(&text) {
                if line.starts_with('[') {
                    service = line == "[Service]";
                    continue;
                }
                let Some((key, value)) = line.split_once('=').filter(|_| service) else { continue };
                let value = value.trim();
                match key.trim() {
                    "Environment" if value.is_empty() => own.clear(),
                    "Environment" => assign(&mut own, &words(value), &path, number),
                    "EnvironmentFile" if value.is_empty() => files.clear(),
                    "EnvironmentFile" if files.len() < FILE_LIMIT => files.push(value.to_owned()),
                    "UnsetEnvironment" => unset.extend(words(value)),
                    _ => {}
                }
            }
        }
        let paths: Vec<String> =
            files.iter().flat_map(|file| environment_files(root, file, reading)).collect();
        for path in paths {
            let Some(text) = reading.text(root, &path) else { continue };
            for (number, line) in joined(&text) {
                let value = line
                    .split_once('=')
                    .map(|(name, value)| format!("{}={}", name.trim(), words(value).join(" ")));
                assign(&mut own, value.as_slice(), &path, number);
            }
        }
        for (name, (value, path, number)) in own {
            if !unset.iter().any(|u| *u == name || *u == format!("{name}={value}")) {
                reading.keep(&name, &value, holder, &path, number);
            }
        }
    }
}

fn assign(values: &mut Values, words: &[String], path: &str, number: usize) {
    for (name, value) in words.iter().filter_map(|w| w.split_once('=')) {
        if VARIABLES.contains(&name) {
            values.insert(name.to_owned(), (value.to_owned(), path.to_owned(), number));
        }
    }
}

/// Paths of one `EnvironmentFile=`: `-` allows it to be missing; one `*` in the last part is followed;
/// specifiers cannot be resolved without the running manager.
fn environment_files(root: &Root, value: &str, reading: &mut Reading) -> Vec<String> {
    let path = value.trim_start_matches('-').trim_matches(['"', '\'']);
    let Some(path) = path.strip_prefix('/').filter(|p| !p.contains('%')) else { return Vec::new() };
    let Some((directory, pattern)) = path.rsplit_once('/').filter(|(_, name)| name.contains('*')) else {
        return vec![path.to_owned()];
    };
    let (before, after) = pattern.split_once('*').unwrap_or((pattern, ""));
    entries(root, directory, reading)
        .into_iter()
        .filter(|n| n.len() >= before.len() + after.len() && n.starts_with(before) && n.ends_with(after))
        .take(FILE_LIMIT)
        .map(|name| format!("{directory}/{name}"))
        .collect()
}

/// `NAME.service`, or `service` for the drop-ins of all services.
fn is_service(name: &str) -> bool {
    name == "service" || name.ends_with(".service")
}

/// What a unit file's link says.
enum Link {
    /// No link, or one to a file of the same name.
    None,
    /// Another name for another unit.
    Alias,
    /// `/dev/null`: the unit cannot run.
    Mask,
}

fn link(root: &Root, path: &str, name: &str) -> Link {
    match root.link_name(path).value().map(String::as_str) {
        Some("null") => Link::Mask,
        Some(target) if target != name => Link::Alias,
        _ => Link::None,
    }
}

fn entries(root: &Root, directory: &str, reading: &mut Reading) -> Vec<String> {
    match root.list(directory) {
        Fact::Known { value, .. } => value,
        Fact::Absent { .. } => Vec::new(),
        Fact::Unknown(reason) => {
            reading.unread.push(reason);
            Vec::new()
        }
    }
}
