//! Environment of GPU processes and units, and the size of `/dev/shm`.

mod assignments;
pub(super) mod memory;
mod processes;
mod quoting;
mod units;

use crate::root::{Evidence, Fact, Root, Unknown, Why};
use schemars::JsonSchema;
use serde::Serialize;

/// The variables that are read; no other variable is ever kept.
pub const VARIABLES: [&str; 14] = [
    "NCCL_P2P_DISABLE",
    "NCCL_P2P_LEVEL",
    "NCCL_SHM_DISABLE",
    "NCCL_IB_DISABLE",
    "NCCL_PROTO",
    "CUDA_DISABLE_PEER_ACCESS",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "GGML_CUDA_P2P",
    "GGML_CUDA_NO_PEER_COPY",
    "HSA_ENABLE_PEER_SDMA",
    "HSA_FORCE_FINE_GRAIN_PCIE",
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
];

/// Environment facts.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Environment {
    /// Allow-listed variables of GPU processes (`proc/N/environ` of processes that hold a GPU open), units
    /// (`Environment=` of system and user units), `etc/environment`, `etc/profile.d` and `etc/nccl.conf`.
    pub settings: Fact<Vec<Setting>>,
    /// Holders: processes or units that set both ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES.
    pub rocr_and_hip: Fact<Vec<String>>,
    /// Size of `/dev/shm` in bytes (statvfs when live, else the `size=` option in `proc/mounts`).
    pub shm_bytes: Fact<i64>,
    /// Physical memory in bytes, `proc/meminfo`.
    pub memory_bytes: Fact<i64>,
}

/// One variable of one holder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Setting {
    /// Variable.
    pub name: String,
    /// Value.
    pub value: String,
    /// `process 1234 (python3)`, `unit vllm.service`, `etc/environment`.
    pub holder: String,
    /// File it stands in.
    pub file: String,
    /// Line from 1; 0 for a process.
    pub line: i64,
}

impl Environment {
    /// Reads processes and configuration.
    pub fn read(root: &Root) -> Self {
        let settings = settings(root);
        let memory_bytes = memory::total(root);
        Self {
            rocr_and_hip: settings.as_ref().map(|found| both(found)),
            settings,
            shm_bytes: memory::shm(root, &memory_bytes),
            memory_bytes,
        }
    }
}

/// What was read so far, and what could not be.
#[derive(Default)]
struct Reading {
    settings: Vec<Setting>,
    /// Notes on what the list does not cover.
    notes: Vec<Evidence>,
    /// Files that could not be read.
    unread: Vec<Unknown>,
}

impl Reading {
    /// Keeps a variable if it is one of [`VARIABLES`].
    fn keep(&mut self, name: &str, value: &str, holder: &str, file: &str, line: usize) {
        if VARIABLES.contains(&name) {
            self.settings.push(Setting {
                name: name.to_owned(),
                value: value.to_owned(),
                holder: holder.to_owned(),
                file: file.to_owned(),
                line: i64::try_from(line).unwrap_or(i64::MAX),
            });
        }
    }

    /// The text of a file that is there and readable.
    fn text(&mut self, root: &Root, path: &str) -> Option<String> {
        match root.bytes(path, crate::root::TEXT_LIMIT) {
            // Other variables may hold any bytes.
            Fact::Known { value, .. } => Some(String::from_utf8_lossy(&value).into_owned()),
            Fact::Absent { .. } => None,
            Fact::Unknown(reason) => {
                self.unread.push(reason);
                None
            }
        }
    }
}

/// Known for what was read, with notes on what was not; unknown when nothing was found and a place that may
/// hold something could not be read.
fn settings(root: &Root) -> Fact<Vec<Setting>> {
    let mut reading = Reading::default();
    let etc = root.exists("etc");
    let processes = processes::read(root, &mut reading);
    units::read(root, &mut reading);
    assignments::read(root, &mut reading);
    if reading.settings.is_empty() {
        if let Some(reason) = processes.missed {
            return Fact::Unknown(reason);
        }
        if let Some(reason) = reading.unread.first() {
            return Fact::Unknown(reason.clone());
        }
        if !etc && !processes.any {
            return Fact::unknown(
                "etc",
                Why::NotCaptured,
                "neither processes nor configuration were captured",
            );
        }
    }
    let line = |l: i64| usize::try_from(l).ok().filter(|l| *l > 0);
    let mut evidence: Vec<Evidence> = reading
        .settings
        .iter()
        .take(32)
        .map(|s| {
            let text = format!("{}={} ({})", s.name, s.value, s.holder);
            line(s.line).map_or_else(
                || Evidence::new(s.file.as_str(), text.as_str()),
                |at| Evidence::at(s.file.as_str(), at, text.as_str()),
            )
        })
        .collect();
    evidence.extend(
        processes
            .missed
            .iter()
            .chain(&reading.unread)
            .map(|u| Evidence::new(u.path.as_str(), format!("not read: {u}"))),
    );
    evidence.extend(reading.notes);
    if evidence.is_empty() {
        evidence.push(Evidence::new("etc", "no variable that matters is set in processes, units or etc"));
    }
    Fact::from_lines(reading.settings, evidence)
}

/// Holders that set both lists of visible devices: the second then counts within the first.
fn both(settings: &[Setting]) -> Vec<String> {
    let sets = |holder: &str, name: &str| settings.iter().any(|s| s.holder == holder && s.name == name);
    let mut holders: Vec<String> = settings
        .iter()
        .filter(|s| s.name == "ROCR_VISIBLE_DEVICES" && sets(&s.holder, "HIP_VISIBLE_DEVICES"))
        .map(|s| s.holder.clone())
        .collect();
    holders.dedup();
    holders
}
