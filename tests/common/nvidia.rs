//! The NVIDIA driver's proc files and module parameters (`kernel-open/nvidia/nv-procfs.c`).

use super::Tree;
use std::fmt::Write as _;

/// A loaded driver.
#[derive(Clone, Debug)]
pub struct Driver {
    version: String,
    open: bool,
    builder: String,
    registry: String,
    changed: Vec<(String, String)>,
    hmm_disabled: bool,
}

/// One card as the driver names it.
#[derive(Clone, Copy, Debug)]
pub struct Card {
    /// BDF.
    pub bdf: &'static str,
    /// `Model`.
    pub model: &'static str,
    /// `DMA Size`.
    pub dma_bits: u32,
}

impl Driver {
    /// The open module of a release, default parameters, HMM left on.
    pub fn new(version: &str) -> Self {
        Self {
            version: version.to_owned(),
            open: true,
            builder: "buildd@builder".to_owned(),
            registry: String::new(),
            changed: Vec::new(),
            hmm_disabled: false,
        }
    }

    /// The closed module.
    pub fn closed(mut self) -> Self {
        self.open = false;
        self
    }

    /// Who built it, as the version line says.
    pub fn builder(mut self, name: &str) -> Self {
        name.clone_into(&mut self.builder);
        self
    }

    /// `RegistryDwords` in force.
    pub fn registry(mut self, text: &str) -> Self {
        text.clone_into(&mut self.registry);
        self
    }

    /// Another live parameter.
    pub fn parameter(mut self, name: &str, value: &str) -> Self {
        self.changed.push((name.to_owned(), value.to_owned()));
        self
    }

    /// `uvm_disable_hmm` is `Y`.
    pub fn without_hmm(mut self) -> Self {
        self.hmm_disabled = true;
        self
    }

    fn branch(&self) -> u32 {
        self.version.split('.').next().unwrap().parse().unwrap()
    }

    fn params(&self) -> String {
        let mut parameters = vec![
            ("ResmanDebugLevel", "4294967295"),
            ("RmLogonRC", "1"),
            ("ModifyDeviceFiles", "1"),
            ("DeviceFileUID", "0"),
            ("DeviceFileGID", "0"),
            ("DeviceFileMode", "438"),
            ("InitializeSystemMemoryAllocations", "1"),
            ("UsePageAttributeTable", "4294967295"),
            ("EnableMSI", "1"),
            ("EnablePCIeGen3", "0"),
            ("MemoryPoolSize", "0"),
            ("IgnoreMMIOCheck", "0"),
            ("EnableStreamMemOPs", "0"),
            ("EnableUserNUMAManagement", "1"),
            ("NvLinkDisable", "0"),
            ("RmProfilingAdminOnly", "1"),
            ("PreserveVideoMemoryAllocations", "1"),
            ("EnableS0ixPowerManagement", "0"),
            ("DynamicPowerManagement", "3"),
            ("DynamicPowerManagementVideoMemoryThreshold", "200"),
            ("RegisterPCIDriver", "1"),
            ("EnablePCIERelaxedOrderingMode", "0"),
            ("EnableResizableBar", "0"),
            ("EnableGpuFirmware", "18"),
            ("DmaRemapPeerMmio", "1"),
        ];
        if self.branch() >= 570 {
            parameters.push(("GrdmaPciTopoCheckOverride", "0"));
        }
        let mut text = String::new();
        for (name, value) in parameters {
            let value = self.changed.iter().find(|(n, _)| n == name).map_or(value, |(_, v)| v);
            writeln!(text, "{name}: {value}").unwrap();
        }
        writeln!(text, "RegistryDwords: \"{}\"", self.registry).unwrap();
        for name in ["RegistryDwordsPerDevice", "RmMsg", "GpuBlacklist", "TemporaryFilePath", "ExcludedGpus"]
        {
            writeln!(text, "{name}: \"\"").unwrap();
        }
        text
    }

    /// Writes `proc/driver/nvidia`, the modules and the userspace library.
    pub fn write(&self, tree: Tree, cards: &[Card]) -> Tree {
        let Self { version, builder, .. } = self;
        let kind = if self.open { "Open Kernel Module for x86_64" } else { "x86_64 Kernel Module" };
        let plain = version.split('-').next().unwrap();
        let firmware = if self.open { plain } else { "N/A" };
        let mut tree = tree
            .file(
                "proc/driver/nvidia/version",
                format!(
                    "NVRM version: NVIDIA UNIX {kind}  {version}  Release Build  ({builder})\n\
                     GCC version:  gcc version 15.2.0 (Ubuntu 15.2.0-4ubuntu4)\n"
                ),
            )
            .file("proc/driver/nvidia/params", self.params())
            .file("proc/driver/nvidia/registry", "Binary: \"\"\n")
            .module("nvidia", &[])
            .file("sys/module/nvidia/version", format!("{version}\n"))
            .module(
                "nvidia_uvm",
                &[
                    ("uvm_disable_hmm", if self.hmm_disabled { "Y" } else { "N" }),
                    ("uvm_peer_copy", "phys"),
                    ("uvm_debug_prints", "0"),
                ],
            )
            .file(&format!("usr/lib/x86_64-linux-gnu/libnvidia-ml.so.{plain}"), "\x7fELF")
            .link("usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", &format!("libnvidia-ml.so.{plain}"));
        for (minor, card) in cards.iter().enumerate() {
            let Card { bdf, model, dma_bits } = card;
            let mask = (1_u128 << dma_bits) - 1;
            tree = tree.file(
                &format!("proc/driver/nvidia/gpus/{bdf}/information"),
                format!(
                    "Model: \t\t {model}\nIRQ:   \t\t {}\nGPU UUID: \t {}\nVideo BIOS: \t 98.02.4e.00.0{minor}\n\
                     Bus Type: \t PCIe\nDMA Size: \t {dma_bits} bits\nDMA Mask: \t {mask:#x}\n\
                     Bus Location: \t {bdf}\nDevice Minor: \t {minor}\nGPU Firmware: \t {firmware}\n\
                     GPU Excluded:\t No\n",
                    190 + minor,
                    uuid(minor),
                ),
            );
        }
        tree
    }
}

/// A made-up UUID for the GPU with this index.
pub fn uuid(index: usize) -> String {
    format!("GPU-0c1d2e3f-1a2b-4c5d-8e9f-{:012x}", 0x2b7e_1516 + index)
}

/// Line of modprobe.d that switches HMM off.
pub const HMM_OFF: &str = "options nvidia_uvm uvm_disable_hmm=1\n";
