//! The arrows of the house (`src/lib.rs`), kept by reading the source: who may use whom, who may read a host,
//! who may change one, how large a file may be.
//!
//! Comments and inline test modules are not looked at.

use regex::Regex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The rooms, ground floor first; a room may use only rooms that stand before it. Not all of them are built.
const ROOMS: [&str; 15] = [
    "root", "format", "gpu", "host", "boot", "pairs", "rules", "plan", "bench", "verdict", "ledger", "trial",
    "patch", "report", "cli",
];

/// Lines that a file in `src` may have.
const LONGEST_FILE: usize = 350;

/// Files that touch the system without being `root` or `ledger`: what they may name, and why.
const SYSTEM: &[(&str, &[&str], &str)] = &[
    (
        "host/pci/config.rs",
        &["std::fs"],
        "positioned reads from a file that root opened: a dword is a bus cycle",
    ),
    ("host/log/kmsg.rs", &["std::fs", "OpenOptions", "nix"], "live: one record per read, without waiting"),
    ("host/subprocess.rs", &["Command::new"], "live: journalctl and systemctl, with a deadline"),
    ("bench/child.rs", &["Command::new"], "starts this program again as a worker, and ends it"),
    ("bench/cpus.rs", &["nix"], "which CPU the host's part of a small copy is timed on"),
    (
        "bench/store.rs",
        &["OpenOptions", "std::fs", "tempfile"],
        "a record is an output, like what is printed",
    ),
    ("bench/worker/mod.rs", &["nix"], "a worker ends with its parent"),
    ("bench/worker/written.rs", &["nix"], "sync before the first transfer of a pair"),
    (
        "gpu/p2pmem.rs",
        &["std::fs", "OpenOptions", "nix"],
        "live: memory of a device is mapped, a drive is read past the page cache",
    ),
    ("bench/worker/drives/mod.rs", &["nix"], "the name of an error number: no memory in one piece"),
    ("bench/worker/drives/transfer.rs", &["nix"], "the name of an error number: no peer path"),
    ("host/names.rs", &["udev"], "live: names from the hardware database"),
    ("host/pci/enumerate.rs", &["udev"], "live: the device database"),
    ("host/environment/memory.rs", &["nix"], "live: statvfs has no file to read"),
    ("host/isolation/guests.rs", &["nix"], "live: whether this process sees the processes of others"),
    ("rules/catalogue/site.rs", &["std::fs", "nix"], "owner and mode of rule files that root resolved"),
    ("cli/rules.rs", &["std::fs"], "rule files named on the command line are no part of a host"),
    ("cli/place.rs", &["std::fs"], "whether a path that was typed is /"),
    ("cli/compare.rs", &["std::fs"], "records named on the command line are no part of a host"),
    ("trial/live.rs", &["Command::new"], "asks systemd for a reboot, and stops the deadline of a trial"),
    ("host/log/follow.rs", &["std::fs", "OpenOptions", "nix"], "live: the log as it grows during an arm"),
];

/// Files that write outputs: what a person named with `-o`, and records.
const OUTPUTS: [&str; 1] = ["bench/store.rs"];

/// Files that write to memory of a device, which is no file of the host and keeps nothing.
const DEVICES: [&str; 1] = ["gpu/p2pmem.rs"];

/// The only files that may name the ledger's writer.
const WRITERS: [&str; 2] = ["cli/provision.rs", "cli/revert.rs"];

/// Commands that only read, and what they stand on: the ledger is no name there.
const READERS: [&str; 6] =
    ["cli/audit.rs", "cli/plan.rs", "cli/summary.rs", "cli/rules.rs", "cli/completions.rs", "cli/place.rs"];

struct Source {
    /// Below `src`.
    name: String,
    lines: usize,
    /// Without comments and inline tests.
    code: String,
}

impl Source {
    fn room(&self) -> Option<&str> {
        self.name.split_once('/').map(|(room, _)| room)
    }

    /// Modules between this one and the crate's root: `super` that often leaves the room.
    fn depth(&self) -> usize {
        let path = self.name.trim_end_matches(".rs").trim_end_matches("/mod");
        path.split('/').count()
    }

    /// What `pattern` finds, with the line.
    fn find(&self, pattern: &str) -> Vec<String> {
        let regex = compiled(pattern);
        let lines = self.code.lines().enumerate().filter(|(_, line)| regex.is_match(line));
        lines.map(|(at, line)| format!("src/{}:{}: {}", self.name, at + 1, line.trim())).collect()
    }
}

/// Compiling takes longer than searching.
fn compiled(pattern: &str) -> Regex {
    static DONE: Mutex<BTreeMap<String, Regex>> = Mutex::new(BTreeMap::new());
    let mut done = DONE.lock().unwrap();
    done.entry(pattern.to_owned()).or_insert_with(|| Regex::new(pattern).unwrap()).clone()
}

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    let mut folders = vec![src()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("tests.rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let name = path.strip_prefix(src()).unwrap().to_str().unwrap().to_owned();
                found.push(Source { name, lines: text.lines().count(), code: code(&text) });
            }
        }
    }
    assert!(found.len() > 100, "the source is not where this test looks for it");
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// Lines stay where they are, so that a finding can name them.
fn code(text: &str) -> String {
    let comment = compiled(r"(^|\s)//.*$");
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line == "#[cfg(test)]"
            && lines.peek().is_some_and(|next| next.starts_with("mod ") && next.ends_with('{'))
        {
            break;
        }
        out.push_str(&comment.replace(line, ""));
        out.push('\n');
    }
    out
}

#[track_caller]
fn none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_room_uses_only_rooms_before_it() {
    let used = Regex::new(r"\bcrate::(\w+)").unwrap();
    let mut wrong = Vec::new();
    for source in sources() {
        let Some(room) = source.room() else { continue };
        let place = ROOMS.iter().position(|r| *r == room);
        let place = place.unwrap_or_else(|| panic!("{room} has no place in the order"));
        for (at, line) in source.code.lines().enumerate() {
            for found in used.captures_iter(line) {
                if ROOMS.iter().position(|r| *r == &found[1]).is_none_or(|other| other > place) {
                    wrong.push(format!("src/{}:{}: {room} may not use {}", source.name, at + 1, &found[1]));
                }
            }
        }
        // Both would hide a room from the search above.
        wrong.extend(source.find(r"\bcrate::\{|\buse crate;|\bcrate as\b"));
        let leaves = format!(r"\b(super::){{{},}}", source.depth());
        wrong.extend(source.find(&leaves));
    }
    none(&wrong);
}

#[test]
fn only_writing_commands_name_the_writer() {
    let seen = r"crate::ledger::(history\b|\{?((Applied|CommandOutput|FileOutcome|RevertOutcome|command_line|quote)(, |\}?;))+$)";
    let seen = Regex::new(seen).unwrap();
    let mut wrong = Vec::new();
    for source in sources() {
        let room = source.room().unwrap_or_default();
        if !["ledger", "trial"].contains(&room) && !WRITERS.contains(&source.name.as_str()) {
            wrong.extend(source.find(r"\bLedger\b|ledger::(apply|revert)\b"));
        }
        if READERS.contains(&source.name.as_str()) {
            wrong.extend(source.find(r"\bledger\b|\bprovision::|\brevert::"));
        }
        // Reports see what was done and what stands, never what does it.
        if room == "report" {
            wrong.extend(source.find(r"\bcrate::ledger\b").into_iter().filter(|l| !seen.is_match(l)));
        }
    }
    for name in READERS.iter().chain(&WRITERS) {
        assert!(src().join(name).exists(), "{name} is gone; correct this test");
    }
    none(&wrong);
}

#[test]
fn only_the_ledger_writes_and_outputs_are_few() {
    let writes = r"\bfs::write\b|File::create|create_dir|remove_(file|dir)|\brename\(|set_permissions|\bsymlink\(|hard_link|set_len|\.(write|append|create|create_new|truncate)\(true\)|O_(WRONLY|RDWR|CREAT|TRUNC)\b";
    let others = sources().into_iter().filter(|s| s.room() != Some("ledger"));
    let others = others.filter(|s| !OUTPUTS.contains(&s.name.as_str()));
    let (devices, others): (Vec<_>, Vec<_>) = others.partition(|s| DEVICES.contains(&s.name.as_str()));
    none(&others.iter().flat_map(|s| s.find(writes)).collect::<Vec<_>>());
    // There one call opens for writing, and no other changes a file.
    for source in devices {
        let found = source.find(writes);
        assert!(
            matches!(found.as_slice(), [one] if one.ends_with(".read(true).write(true).open(path)")),
            "{found:?}"
        );
    }
}

#[test]
fn only_root_reads_a_host() {
    let words = ["std::fs", "OpenOptions", "Command::new", "nix", "rustix", "procfs", "udev", "tempfile"];
    let mut wrong = Vec::new();
    let mut needed = Vec::new();
    for source in sources() {
        if matches!(source.room(), Some("root" | "ledger")) {
            continue;
        }
        let (_, allowed, _) = SYSTEM.iter().find(|(name, ..)| *name == source.name).unwrap_or(&("", &[], ""));
        for word in words {
            // A crate by its path, a type or module by its name.
            let pattern = if word.contains("::") {
                format!(r"\b{word}\b")
            } else {
                format!(r"\b{word}(::|\b\()|^use {word}\b|\b{word}::")
            };
            let found = source.find(&pattern);
            if allowed.contains(&word) {
                needed.extend((!found.is_empty()).then(|| (source.name.clone(), word)));
            } else {
                wrong.extend(found);
            }
        }
        wrong.extend(source.find(r"\buse std::\{.*\bfs\b"));
    }
    none(&wrong);
    for (name, words, _) in SYSTEM {
        for word in *words {
            let used = needed.iter().any(|(n, w)| n == name && w == word);
            assert!(used, "{name} no longer needs {word}: take the exception out");
        }
    }
}

#[test]
fn nothing_outside_gpu_is_unsafe() {
    let blocks = r"\bunsafe\s*(\{|fn\b|impl\b|trait\b|extern\b)|allow\(unsafe_code\)";
    let others = sources().into_iter().filter(|s| s.room() != Some("gpu"));
    none(&others.flat_map(|s| s.find(blocks)).collect::<Vec<_>>());
}

#[test]
fn files_are_small_and_named_for_what_they_hold() {
    let vague = ["utils", "util", "helpers", "helper", "manager", "common", "misc"];
    let mut wrong = Vec::new();
    for source in sources() {
        let longest = if source.name == "main.rs" { 40 } else { LONGEST_FILE };
        if source.lines > longest {
            wrong.push(format!("src/{}: {} lines, at most {longest}", source.name, source.lines));
        }
        if source.name.trim_end_matches(".rs").split('/').any(|part| vague.contains(&part)) {
            wrong.push(format!("src/{}: a name that says nothing", source.name));
        }
    }
    none(&wrong);
}

#[test]
fn the_map_names_every_room_in_order() {
    let map = std::fs::read_to_string(src().join("lib.rs")).unwrap();
    let named: Vec<&str> = map
        .lines()
        .filter_map(|line| line.strip_prefix("//! - [`")?.trim_start_matches("mod@").split_once('`'))
        .map(|(room, _)| room)
        .collect();
    let built: Vec<&str> = ROOMS.into_iter().filter(|room| src().join(room).exists()).collect();
    assert_eq!(named, built);
    for room in built {
        assert!(map.contains(&format!("\npub mod {room};")), "{room} is no module");
    }
}
