//! Z890 workstation, Core Ultra, two RTX PRO 5000 Blackwell (72 and 48 GB) on separate Gen5 x8 root ports.
//!
//! The two cards share one device id and differ in memory: neither's BAR1 is small for its own card.

use super::{nvidia_card, sizes_up_to};
use crate::common::Tree;
use crate::common::distro::grub_cmdline;
use crate::common::kernel_log::KernelLog;
use crate::common::machine::Cpus;
use crate::common::nvidia::{Card, Driver, HMM_OFF};
use crate::common::nvidia_smi::SmiGpu;
use crate::common::pci::{Function, GIB, Iommu, Link, MIB, Pci};

const RELEASE: &str = "7.0.0-28-generic";
const BOARD: &str = "ASUS System Product Name/ProArt Z890-CREATOR WIFI";
/// Pass-through supported (bit 6), scalable mode.
const ECAP: u64 = 0x29a_00f0_505e;
/// BAR1 of 02:00.0 and of 03:00.0: address and size.
const BAR1: [(u64, u64); 2] = [(0x60_0000_0000, 128 * GIB), (0x90_0000_0000, 64 * GIB)];
/// First address in the BAR1 of 03:00.0 that 02:00.0 wrote to.
const IN_PEER: u64 = 0x90_0040_3000;

struct Z890 {
    words: &'static str,
    running: Option<&'static str>,
    iommu: Option<Iommu>,
    policy: &'static str,
    /// Requester, first address, lines, suppressed.
    faults: Vec<(&'static str, u64, u64, u64)>,
    gpu_domain: Option<&'static str>,
    nic: (&'static str, Option<&'static str>),
    firewire: bool,
}

impl Z890 {
    fn translated() -> Self {
        Self {
            words: "quiet splash",
            running: None,
            iommu: Some(Iommu::Intel { ecap: ECAP, domain: "DMA-FQ" }),
            policy: "Translated",
            faults: vec![("02:00.0", IN_PEER, 37, 3_175_441), ("03:00.0", BAR1[0].0 + 0x7000, 3, 0)],
            gpu_domain: None,
            nic: ("igc", None),
            firewire: false,
        }
    }

    fn pci(&self) -> Pci {
        let idle = Link::new((1, 8), (5, 16));
        let port = Link::new((1, 8), (5, 8));
        let gpu = |bdf, registers, bar1, subsystem, most| {
            let card = nvidia_card(bdf, 0x2bb3, registers, bar1, idle)
                .subsystem(0x10de, subsystem)
                .resizable(1, sizes_up_to(most));
            match self.gpu_domain {
                Some(domain) => card.domain(domain),
                None => card,
            }
        };
        let nic = Function::endpoint("0000:04:00.0", 0x8086, 0x125c, 0x02_0000, Link::new((2, 1), (2, 1)))
            .driver(self.nic.0)
            .bar32(0, 0x8480_0000, MIB);
        let nic = match self.nic.1 {
            Some(domain) => nic.domain(domain),
            None => nic,
        };
        let mut functions = vec![
            Function::host_bridge("0000:00:00.0", 0x8086, 0x7d1b),
            Function::root_port("0000:00:01.0", 0x8086, 0x7ecc, port).acs(0x1d).below(gpu(
                "0000:02:00.0",
                0x8000_0000,
                BAR1[0],
                0x2238,
                17,
            )),
            Function::root_port("0000:00:01.2", 0x8086, 0x7ecd, port).acs(0x1d).below(gpu(
                "0000:03:00.0",
                0x7800_0000,
                BAR1[1],
                0x204d,
                16,
            )),
            Function::new("0000:00:02.0", 0x8086, 0x7d67, 0x03_0000)
                .driver("i915")
                .dma_mask(46)
                .bar64(0, 0x40_0000_0000, 16 * MIB)
                .bar64(2, 0x50_0000_0000, 256 * MIB)
                .boot_vga(),
            Function::root_port("0000:00:06.0", 0x8086, 0xae4d, Link::new((5, 4), (5, 4))).acs(0x1d).below(
                Function::endpoint("0000:01:00.0", 0x144d, 0xa810, 0x01_0802, Link::new((5, 4), (5, 4)))
                    .driver("nvme")
                    .bar32(0, 0x8490_0000, 16 << 10),
            ),
            Function::new("0000:00:14.0", 0x8086, 0x7f6e, 0x0c_0330).driver("xhci_hcd").bar32(
                0,
                0x84a0_0000,
                64 << 10,
            ),
            Function::root_port("0000:00:1c.0", 0x8086, 0x7f38, Link::new((2, 1), (4, 1)))
                .acs(0x1d)
                .below(nic),
            Function::new("0000:00:1f.0", 0x8086, 0x7f04, 0x06_0100),
        ];
        if self.firewire {
            let link = Link::new((1, 1), (1, 1));
            functions.push(
                Function::root_port("0000:00:1d.0", 0x8086, 0x7f30, Link::new((1, 1), (4, 1))).below(
                    Function::endpoint("0000:05:00.0", 0x1106, 0x3403, 0x0c_0010, link)
                        .driver("firewire_ohci")
                        .dma_mask(32)
                        .bar32(0, 0x84b0_0000, 4 << 10),
                ),
            );
        }
        Pci::new().bus("0000:00", 0, functions).iommu(self.iommu)
    }

    fn log(&self, cmdline: &str) -> KernelLog {
        let mut log = KernelLog::new(RELEASE, cmdline, BOARD);
        if cmdline.contains("intel_iommu=off") {
            log = log.at(0.390, "DMAR: IOMMU disabled");
        }
        log = log.intel_tables().policy(self.policy).native_aer();
        if self.iommu.is_some() {
            log = log.groups(&[
                ("0000:00:01.0", 1),
                ("0000:02:00.0", 2),
                ("0000:00:01.2", 3),
                ("0000:03:00.0", 4),
            ]);
        }
        log = log.nvidia("595.71.05", &["0000:02:00.0", "0000:03:00.0"]).wait_until(1840.5);
        for (requester, first, count, suppressed) in &self.faults {
            log = log.dmar_faults(requester, *first, *count, *suppressed);
        }
        log
    }

    fn build(&self) -> Tree {
        let cmdline = grub_cmdline(RELEASE, self.running.unwrap_or(self.words));
        let tree = Tree::new()
            .kernel(RELEASE, &cmdline)
            .kernel_config(RELEASE, &[])
            .cpus(Cpus::ARROW_LAKE)
            .board("ASUS", "System Product Name", "ProArt Z890-CREATOR WIFI")
            .memory(192)
            .ubuntu(RELEASE, self.words)
            .file("etc/modprobe.d/uvm.conf", HMM_OFF)
            .log(&self.log(&cmdline));
        let tree = self.pci().write(tree);
        let tree = Driver::new("595.71.05").without_hmm().write(
            tree,
            &[
                Card { bdf: "0000:02:00.0", model: "NVIDIA RTX PRO 5000 72GB Blackwell", dma_bits: 52 },
                Card { bdf: "0000:03:00.0", model: "NVIDIA RTX PRO 5000 Blackwell", dma_bits: 52 },
            ],
        );
        let smi = |bdf, name, vram_mib, bar1_mib| SmiGpu {
            bdf,
            name,
            vram_mib,
            bar1_mib,
            generation: (5, 1),
            width: (16, 8),
            display: false,
        };
        tree.smi_matrices(2, "PHB", "OK").smi_query(
            "595.71.05",
            Some("None"),
            &[
                smi("0000:02:00.0", "NVIDIA RTX PRO 5000 72GB Blackwell", 73_415, 131_072),
                smi("0000:03:00.0", "NVIDIA RTX PRO 5000 Blackwell", 48_935, 65_536),
            ],
        )
    }
}

/// Translating; 02:00.0 was refused writes into the BAR1 of 03:00.0, most of them suppressed in the log.
pub fn z890() -> Tree {
    Z890::translated().build()
}

/// The same host with VT-d switched off.
pub fn z890_clean() -> Tree {
    let off = "quiet splash intel_iommu=off";
    Z890 { words: off, iommu: None, faults: Vec::new(), ..Z890::translated() }.build()
}

/// The VT-d units have no pass-through (ECAP bit 6 clear).
pub fn z890_pt_without_passthrough_support() -> Tree {
    let iommu = Some(Iommu::Intel { ecap: ECAP & !0x40, domain: "DMA-FQ" });
    Z890 { iommu, ..Z890::translated() }.build()
}

/// The network card is bound to `vfio-pci` and open in a guest.
pub fn z890_vfio() -> Tree {
    Z890 { nic: ("vfio-pci", Some("unmanaged")), ..Z890::translated() }.build()
}

/// A Thunderbolt dock is attached.
pub fn z890_thunderbolt() -> Tree {
    let home = "sys/devices/pci0000:00/0000:00:0d.2/domain0";
    let link = "../../../devices/pci0000:00/0000:00:0d.2/domain0";
    let controller = Function::new("0000:00:0d.2", 0x8086, 0x7ec2, 0x0c_0340).driver("thunderbolt");
    let mut host = Z890::translated().pci();
    host = host.bus("0000:00", 0, vec![controller]);
    host.write(rebuilt(Z890::translated().build()))
        .file(&format!("{home}/security"), "user\n")
        .file(&format!("{home}/iommu_dma_protection"), "1\n")
        .file(&format!("{home}/0-0/device_name"), "Z890\n")
        .file(&format!("{home}/0-0/0-1/device_name"), "TS4\n")
        .file(&format!("{home}/0-0/0-1/vendor_name"), "CalDigit, Inc.\n")
        .file(&format!("{home}/0-0/0-1/authorized"), "1\n")
        .link("sys/bus/thunderbolt/devices/domain0", link)
        .link("sys/bus/thunderbolt/devices/0-0", &format!("{link}/0-0"))
        .link("sys/bus/thunderbolt/devices/0-1", &format!("{link}/0-0/0-1"))
}

/// The tree without its PCI part, so that another one can be written.
fn rebuilt(tree: Tree) -> Tree {
    tree.without("sys/devices")
        .without("sys/bus")
        .without("sys/kernel/iommu_groups")
        .without("sys/class/iommu")
}

/// `iommu=pt` is running, the GPUs are in translating domains all the same.
pub fn z890_pt_but_translated() -> Tree {
    Z890 {
        words: "quiet splash iommu=pt",
        iommu: Some(Iommu::Intel { ecap: ECAP, domain: "identity" }),
        policy: "Passthrough (set via kernel command line)",
        gpu_domain: Some("DMA"),
        ..Z890::translated()
    }
    .build()
}

/// Somebody added `iommu=off`: a FireWire controller that reaches 4 GiB has no bounce buffers any more.
pub fn z890_iommu_off_with_32bit_devices() -> Tree {
    Z890 {
        words: "quiet splash intel_iommu=off iommu=off",
        iommu: None,
        faults: Vec::new(),
        firewire: true,
        ..Z890::translated()
    }
    .build()
}

/// 02:00.0 faults at addresses that belong to no GPU: a stray write that the IOMMU stopped.
pub fn z890_stray_writes() -> Tree {
    Z890 { faults: vec![("02:00.0", 0x1_2345_6000, 12, 0)], ..Z890::translated() }.build()
}

/// Only the network card faults.
pub fn z890_nic_faults() -> Tree {
    Z890 { faults: vec![("04:00.0", 0xfee0_2000, 9, 0)], ..Z890::translated() }.build()
}

/// The configuration part of the Z890 host alone, as an image that is being installed has it: no `sys`, no
/// `proc`.
pub fn z890_target() -> Tree {
    Tree::new().ubuntu(RELEASE, "quiet splash").kernel_config(RELEASE, &[])
}
