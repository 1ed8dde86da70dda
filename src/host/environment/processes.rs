//! Environment of processes that hold a GPU open.

use super::{Reading, VARIABLES};
use crate::root::{Evidence, Fact, Root, TEXT_LIMIT, Unknown, Why};

/// Device nodes of GPUs.
const NODES: [&str; 3] = ["/dev/nvidia", "/dev/kfd", "/dev/dri/render"];

/// What reading processes gave besides settings.
#[derive(Default)]
pub(super) struct Processes {
    /// At least one process was seen.
    pub(super) any: bool,
    /// GPU processes exist that could not be read.
    pub(super) missed: Option<Unknown>,
}

/// Reads `proc/N/environ` and keeps listed variables of processes with an open GPU. In a tree without
/// `proc/N/fd` every process whose environment sets a listed variable counts.
pub(super) fn read(root: &Root, reading: &mut Reading) -> Processes {
    let names = root.list("proc").value().cloned().unwrap_or_default();
    let mut out = Processes::default();
    let mut denied: Vec<String> = Vec::new();
    for pid in names.iter().filter(|n| n.bytes().all(|b| b.is_ascii_digit())) {
        out.any = true;
        let path = format!("proc/{pid}/environ");
        match root.bytes(&path, TEXT_LIMIT) {
            Fact::Known { value, .. } => {
                let found = listed(&value);
                // Looking through the open files of every process takes long; few set such a variable.
                if !found.is_empty() && holds_gpu(root, pid, &mut denied) {
                    let holder = format!("process {pid} ({})", comm(root, pid));
                    for (name, value) in found {
                        reading.keep(&name, &value, &holder, &path, 0);
                    }
                }
            }
            Fact::Unknown(reason) if reason.why == Why::Permission => denied.push(pid.clone()),
            // Kernel threads and processes that have ended refuse; they hold no GPU.
            Fact::Unknown(reason) if has_arguments(root, pid) => {
                reading.notes.push(Evidence::new(path, format!("not read: {reason}")));
            }
            Fact::Absent { .. } | Fact::Unknown(_) => {}
        }
    }
    if !denied.is_empty() {
        let detail = format!("environment of {} processes; run as root to read it", denied.len());
        if let Some(sign) = gpu_in_use(root, &denied) {
            let detail = format!("{detail} ({sign})");
            out.missed = Some(Unknown { path: "proc".to_owned(), line: None, why: Why::Permission, detail });
        } else {
            reading.notes.push(Evidence::new("proc", format!("not read: {detail}")));
        }
    }
    out
}

fn has_arguments(root: &Root, pid: &str) -> bool {
    let arguments = root.bytes(&format!("proc/{pid}/cmdline"), TEXT_LIMIT);
    !root.is_live() || arguments.value().is_some_and(|bytes| !bytes.is_empty())
}

/// Listed variables in a NUL-separated environment.
fn listed(environ: &[u8]) -> Vec<(String, String)> {
    environ
        .split(|b| *b == 0)
        .filter_map(|entry| {
            let at = entry.iter().position(|b| *b == b'=')?;
            let name = std::str::from_utf8(entry.get(..at)?).ok()?;
            let value = String::from_utf8_lossy(entry.get(at + 1..)?);
            VARIABLES.contains(&name).then(|| (name.to_owned(), value.into_owned()))
        })
        .collect()
}

fn holds_gpu(root: &Root, pid: &str, denied: &mut Vec<String>) -> bool {
    let directory = format!("proc/{pid}/fd");
    match root.list(&directory) {
        Fact::Known { value, .. } => value.iter().any(|fd| {
            root.link(&format!("{directory}/{fd}"))
                .value()
                .is_some_and(|target| NODES.iter().any(|node| target.starts_with(node)))
        }),
        Fact::Absent { .. } => !root.is_live(),
        Fact::Unknown(reason) => {
            if reason.why == Why::Permission {
                denied.push(pid.to_owned());
            }
            false
        }
    }
}

fn comm(root: &Root, pid: &str) -> String {
    let bytes = root.bytes(&format!("proc/{pid}/comm"), TEXT_LIMIT);
    bytes.value().map_or_else(|| "?".to_owned(), |b| String::from_utf8_lossy(b).trim().to_owned())
}

/// A sign, readable by everyone, that one of the unread processes uses a GPU: KFD lists its processes, and
/// the NVIDIA memory module counts its users.
fn gpu_in_use(root: &Root, denied: &[String]) -> Option<String> {
    let kfd = root.list("sys/class/kfd/kfd/proc");
    if let Some(pid) = kfd.value().and_then(|pids| pids.iter().find(|p| denied.contains(p))) {
        return Some(format!("process {pid} uses KFD"));
    }
    let users = *root.number("sys/module/nvidia_uvm/refcnt").value()?;
    (users > 0).then(|| format!("nvidia_uvm has {users} users"))
}
