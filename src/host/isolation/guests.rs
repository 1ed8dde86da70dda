//! Running and defined guests.

use super::gather::{Gather, not_captured};
use super::guest_files;
use crate::root::{Evidence, Fact, Root, TEXT_LIMIT, Unknown, Why};
use std::collections::BTreeMap;

/// Programs that are guests, as `argv[0]` names them (`kvm` on Debian and Proxmox, `qemu-kvm` on RHEL).
const PROGRAMS: [&str; 4] = ["qemu-system-", "qemu-kvm", "kvm", "cloud-hypervisor"];

/// A guest as one source sees it.
#[derive(Default)]
pub(super) struct Guest {
    pub(super) name: String,
    /// Process number.
    pub(super) process: Option<String>,
    /// Host devices it is given.
    pub(super) devices: Vec<String>,
    pub(super) running: bool,
    pub(super) evidence: Option<Evidence>,
}

/// Reads processes, libvirt's state and definitions, and Proxmox's definitions.
///
/// A captured tree seldom holds processes. Then a running guest with a device shows as a function bound to
/// VFIO, so that "no such function" and readable definitions still answer the question.
pub(super) fn read(root: &Root, vfio: &Fact<Vec<String>>) -> Fact<Vec<String>> {
    let mut gather = Gather::default();
    let mut guests: Vec<Guest> = Vec::new();
    match processes(root) {
        Ok(running) => guests.extend(running),
        Err(reason) => {
            if vfio.value().is_none_or(|bound| !bound.is_empty()) {
                gather.unread(reason);
            }
        }
    }
    guest_files::read(root, &mut gather, &mut guests);
    if !root.exists("etc") {
        gather.unread(not_captured("etc", "definitions of guests are read from etc/libvirt and etc/pve"));
    }
    let mut merged: BTreeMap<String, Guest> = BTreeMap::new();
    for guest in guests {
        let entry = merged.entry(guest.name.clone()).or_default();
        entry.running |= guest.running;
        entry.process = entry.process.take().or(guest.process);
        entry.evidence = entry.evidence.take().or(guest.evidence);
        for device in guest.devices {
            if !entry.devices.contains(&device) {
                entry.devices.push(device);
            }
        }
    }
    for (name, guest) in merged {
        let evidence = guest.evidence.unwrap_or_else(|| Evidence::new("proc", name.as_str()));
        let state = if guest.running { "running" } else { "defined" };
        let process = guest.process.map(|p| format!(" (process {p})")).unwrap_or_default();
        let devices = if guest.devices.is_empty() {
            String::new()
        } else {
            format!(" with {}", guest.devices.join(", "))
        };
        gather.add(format!("{state} guest {name}{process}{devices}"), evidence);
    }
    gather.finish("proc", "no guest runs, and none is defined that is given a device")
}

fn processes(root: &Root) -> Result<Vec<Guest>, Unknown> {
    let names = match root.list("proc") {
        Fact::Known { value, .. } => value,
        Fact::Absent { .. } => return Err(not_captured("proc", "")),
        Fact::Unknown(reason) => return Err(reason),
    };
    let pids: Vec<&String> = names.iter().filter(|n| n.bytes().all(|b| b.is_ascii_digit())).collect();
    if pids.is_empty() {
        return Err(not_captured("proc", "no process was captured"));
    }
    if root.is_live() && !nix::unistd::geteuid().is_root() && hides_processes(root) {
        return Err(Unknown {
            path: "proc".to_owned(),
            line: None,
            why: Why::Permission,
            detail: "mounted with hidepid; run as root to see all processes".to_owned(),
        });
    }
    Ok(pids.into_iter().filter_map(|pid| process(root, pid)).collect())
}

/// A guest, if the process is one. Kernel threads (`kvm-pit`, `kvm`) have no arguments.
fn process(root: &Root, pid: &str) -> Option<Guest> {
    let comm = root.bytes(&format!("proc/{pid}/comm"), TEXT_LIMIT);
    let comm = String::from_utf8_lossy(comm.value()?).trim().to_owned();
    if !is_guest(&comm) {
        return None;
    }
    let path = format!("proc/{pid}/cmdline");
    let bytes = root.bytes(&path, TEXT_LIMIT);
    let bytes = match bytes.value() {
        Some(bytes) if bytes.is_empty() => return None,
        Some(bytes) => bytes.as_slice(),
        None => b"",
    };
    let words: Vec<String> =
        bytes.split(|b| *b == 0).map(|w| String::from_utf8_lossy(w).into_owned()).collect();
    let program = words.first().map(String::as_str).unwrap_or_default();
    if !program.is_empty() && !is_guest(program.rsplit('/').next().unwrap_or_default()) {
        return None;
    }
    let name = words
        .iter()
        .position(|w| w == "-name")
        .and_then(|at| words.get(at + 1))
        .and_then(|value| value.split(',').next())
        .map(|value| value.trim_start_matches("guest=").to_owned())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| format!("{comm} {pid}"));
    let devices = words
        .iter()
        .filter(|w| w.contains("vfio"))
        .flat_map(|w| w.split(|c: char| !(c.is_ascii_hexdigit() || c == ':' || c == '.')))
        .filter_map(crate::host::faults::parse_bdf)
        .collect();
    Some(Guest {
        name,
        process: Some(pid.to_owned()),
        devices,
        running: true,
        evidence: Some(Evidence::new(path, format!("{comm} runs as process {pid}"))),
    })
}

/// `comm` is cut to 15 characters: `qemu-system-x86`.
fn is_guest(name: &str) -> bool {
    PROGRAMS.iter().any(|p| if p.ends_with('-') { name.starts_with(p) } else { name == *p })
        || name == "cloud-hyperviso"
}

fn hides_processes(root: &Root) -> bool {
    root.text("proc/mounts").value().is_some_and(|mounts| {
        mounts
            .lines()
            .filter(|l| l.split(' ').nth(1) == Some("/proc"))
            .any(|l| l.contains("hidepid=") && !l.contains("hidepid=0") && !l.contains("hidepid=off"))
    })
}
