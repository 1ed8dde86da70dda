//! The kernel log of one boot as `dmesg` prints it.

use super::Tree;
use std::fmt::Write as _;

/// Lines with time stamps.
#[derive(Clone, Debug)]
pub struct KernelLog {
    text: String,
    now: f64,
}

impl KernelLog {
    /// The first lines of a boot.
    pub fn new(release: &str, cmdline: &str, board: &str) -> Self {
        Self { text: String::new(), now: -1.0 }
            .at(0.0, &format!("Linux version {release} (build@builder) #1 SMP PREEMPT_DYNAMIC"))
            .at(0.0, &format!("Command line: {cmdline}"))
            .at(0.0, &format!("DMI: {board}, BIOS 2.10 04/02/2026"))
            .at(0.051, &format!("Kernel command line: {cmdline}"))
    }

    /// A line at `seconds`, or a millisecond after the last line when that is later.
    pub fn at(mut self, seconds: f64, line: &str) -> Self {
        self.now = if seconds > self.now { seconds } else { self.now + 0.001 };
        writeln!(self.text, "[{:12.6}] {line}", self.now).unwrap();
        self
    }

    /// A line a millisecond after the last.
    pub fn then(self, line: &str) -> Self {
        self.at(0.0, line)
    }

    /// What every VT-d machine prints while it reads its tables, translating or not.
    pub fn intel_tables(self) -> Self {
        self.at(0.402, "DMAR: Host address width 42")
            .then("DMAR: DRHD base: 0x000000fc800000 flags: 0x0")
            .then("DMAR: dmar0: reg_base_addr fc800000 ver 7:0 cap d2008c40660462 ecap 29a00f0505e")
            .then("DMAR: DRHD base: 0x000000fc810000 flags: 0x1")
            .then("DMAR: RMRR base: 0x0000006c800000 end: 0x0000006effffff")
            .then("DMAR-IR: IOAPIC id 2 under DRHD base  0xfc810000 IOMMU 1")
            .then("DMAR-IR: Queued invalidation will be enabled to support x2apic and Intr-remapping.")
            .then("DMAR-IR: Enabled IRQ remapping in x2apic mode")
    }

    /// The default domain type, which is printed with and without an active IOMMU.
    pub fn policy(self, words: &str) -> Self {
        self.at(0.611, &format!("iommu: Default domain type: {words}"))
            .then("iommu: DMA domain TLB invalidation policy: lazy mode")
    }

    /// Firmware hands AER over.
    pub fn native_aer(self) -> Self {
        self.at(
            0.655,
            "acpi PNP0A08:00: _OSC: OS supports [ExtendedConfig ASPM ClockPM Segments MSI EDR HPX-Type3]",
        )
        .then(
            "acpi PNP0A08:00: _OSC: OS now controls [PCIeHotplug SHPCHotplug PME AER PCIeCapability LTR DPC]",
        )
    }

    /// One line per function that joins a group.
    pub fn groups(self, members: &[(&str, u32)]) -> Self {
        members.iter().fold(self, |log, (bdf, group)| {
            log.at(0.70, &format!("pci {bdf}: Adding to iommu group {group}"))
        })
    }

    /// The NVIDIA module loads and binds.
    pub fn nvidia(self, version: &str, gpus: &[&str]) -> Self {
        let log = gpus
            .iter()
            .fold(self, |log, bdf| log.at(5.1, &format!("nvidia {bdf}: enabling device (0000 -> 0003)")));
        log.then(&format!(
            "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  {version}  Release Build  \
             (buildd@builder)"
        ))
    }

    /// VT-d faults as current kernels print them: ten lines in five seconds, then `suppressed` more.
    pub fn dmar_faults(self, requester: &str, first: u64, count: u64, suppressed: u64) -> Self {
        let mut log = self;
        for index in 0..count {
            if index > 0 && index % 5 == 0 {
                let later = log.now + 5.0;
                log = log.wait_until(later);
                if index == 5 && suppressed > 0 {
                    log = log.then(&format!("dmar_fault: {suppressed} callbacks suppressed"));
                }
            }
            log = log.then("DMAR: DRHD: handling fault status reg 3").then(&format!(
                "DMAR: [DMA Write NO_PASID] Request device [{requester}] fault addr {:#x} [fault reason 0x71] \
                 SM: Present bit in first-level paging entry is clear",
                first + index * 0x1000
            ));
        }
        log
    }

    /// Goes on at `seconds`.
    pub fn wait_until(mut self, seconds: f64) -> Self {
        self.now = seconds;
        self
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Tree {
    /// Captures the log.
    pub fn log(self, log: &KernelLog) -> Self {
        self.file("captured/dmesg.txt", log.text())
    }
}
