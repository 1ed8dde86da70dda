//! Two-socket X99 board (root buses 00 and 80), four Radeon AI PRO R9700, two on each socket, each behind the
//! switch that its card carries.

use crate::common::Tree;
use crate::common::kernel_log::KernelLog;
use crate::common::kfd::{Kfd, KfdLink, QPI};
use crate::common::machine::Cpus;
use crate::common::pci::{Aer, Function, GIB, Iommu, Link, MIB, Pci, Port};

const RELEASE: &str = "7.1.4-76070104-generic";
const BOARD: &str = "MACHINIST X99 DUAL/X99-D8";
/// `mem_info_vram_total` of a 32 GB card.
const VRAM: &str = "34208743424\n";
/// GPU functions in order, with socket.
pub const X99_GPUS: [(&str, usize); 4] =
    [("0000:04:00.0", 0), ("0000:08:00.0", 0), ("0000:84:00.0", 1), ("0000:88:00.0", 1)];

/// One slot: root port, card (upstream port, downstream port, GPU), link between them, counters.
struct Slot {
    root: &'static str,
    card: [&'static str; 3],
    link: (u8, u8),
    aer: Aer,
    dpm: &'static str,
}

const FULL: &str = "0: 2.5GT/s, x16 310Mhz \n1: 8.0GT/s, x16 619Mhz *\n";
const HALF: &str = "0: 2.5GT/s, x8 310Mhz \n1: 8.0GT/s, x8 619Mhz *\n";
/// A card that trained at Gen1 with the table of a faster one: no level is the current one.
const NO_STAR: &str = "0: 5.0GT/s, x16 310Mhz \n1: 8.0GT/s, x16 619Mhz \n";

struct X99 {
    cpus: Cpus,
    /// First functions of the two root buses: host bridge of socket 0, root port of socket 1 if any.
    bridges: (u16, Option<u16>),
    aperture: u64,
    words: &'static [&'static str],
    domain: &'static str,
    policy: &'static str,
    /// Pairs of sockets that the chipset test refuses.
    refused: fn(usize, usize) -> bool,
}

impl X99 {
    fn stock() -> Self {
        Self {
            cpus: Cpus::BROADWELL_EP,
            bridges: (0x6f00, None),
            aperture: 0x3808_0000_0000,
            words: &["iommu=pt", "amd_iommu=pt"],
            domain: "identity",
            policy: "Passthrough (set via kernel command line)",
            refused: |_, _| true,
        }
    }

    fn slots() -> [Slot; 4] {
        let clean = Aer::default();
        let bad = Aer { bad_tlp: 6655, ..clean };
        let slot = |root, card, link, aer, dpm| Slot { root, card, link, aer, dpm };
        [
            slot("0000:00:02.0", ["0000:02:00.0", "0000:03:00.0", "0000:04:00.0"], (3, 16), clean, FULL),
            slot("0000:00:03.0", ["0000:06:00.0", "0000:07:00.0", "0000:08:00.0"], (3, 8), bad, HALF),
            slot("0000:80:02.0", ["0000:82:00.0", "0000:83:00.0", "0000:84:00.0"], (3, 16), clean, FULL),
            slot("0000:80:03.0", ["0000:86:00.0", "0000:87:00.0", "0000:88:00.0"], (1, 16), clean, NO_STAR),
        ]
    }

    fn slot(&self, index: usize, slot: &Slot) -> Function {
        // The port device id follows the slot number: 6f04 and 6f08 on Broadwell-EP, 2f04 and 2f08 before.
        let family = self.bridges.0 & 0xff00;
        let device = family | if slot.root.ends_with("2.0") { 0x04 } else { 0x08 };
        let root = Link::new(slot.link, (3, 16));
        let card = Link::new(slot.link, (5, 16));
        // Inside the card every link claims Gen5 x16, whatever the slot carries.
        let inside = Link::new((5, 16), (5, 16));
        let aperture = self.aperture + index as u64 * 64 * GIB;
        let gpu = Function::endpoint(slot.card[2], 0x1002, 0x7551, 0x03_0000, inside)
            .subsystem(0x1da2, 0xe490)
            .driver("amdgpu")
            .dma_mask(44)
            .bar64(0, aperture, 32 * GIB)
            .bar64(2, aperture + 32 * GIB, 256 * MIB)
            .bar32(5, 0xc800_0000 + index as u64 * 0x20_0000, 512 << 10)
            .resizable(0, 0xff00)
            .attribute("mem_info_vram_total", VRAM)
            .attribute("mem_info_vis_vram_total", VRAM)
            .attribute("pp_dpm_pcie", slot.dpm);
        Function::root_port(slot.root, 0x8086, device, root).acs(0x1d).aer(slot.aer).below(
            Function::bridge(slot.card[0], Port::Upstream, 0x1002, 0x1478, card)
                .below(Function::bridge(slot.card[1], Port::Downstream, 0x1002, 0x1479, inside).below(gpu)),
        )
    }

    fn pci(&self) -> Pci {
        let (dmi, second) = self.bridges;
        let slots = Self::slots();
        let mut socket0 = vec![
            Function::host_bridge("0000:00:00.0", 0x8086, dmi)
                .with_port(Port::Root, Link::new((2, 4), (2, 4))),
        ];
        socket0.extend([self.slot(0, &slots[0]), self.slot(1, &slots[1])]);
        let mut socket1 = Vec::new();
        if let Some(device) = second {
            socket1.push(Function::root_port("0000:80:00.0", 0x8086, device, Link::new((1, 4), (3, 4))));
        }
        socket1.extend([self.slot(2, &slots[2]), self.slot(3, &slots[3])]);
        let iommu = Iommu::Intel { ecap: 0xf0_20de, domain: self.domain };
        Pci::new().bus("0000:00", 0, socket0).bus("0000:80", 1, socket1).iommu(Some(iommu))
    }

    fn kfd() -> Kfd {
        let qpi = |to| KfdLink { kind: QPI, to, weight: 21 };
        let mut kfd = Kfd::new()
            .cpu(20, &[qpi(1), KfdLink::pcie(2, 20), KfdLink::pcie(3, 20)])
            .cpu(20, &[qpi(0), KfdLink::pcie(4, 20), KfdLink::pcie(5, 20)]);
        for (bdf, socket) in X99_GPUS {
            let own = u32::try_from(socket).unwrap();
            // The other socket's memory is an indirect link and stands among the peer links.
            kfd = kfd.gpu(bdf, 0x7551, &[KfdLink::pcie(own, 20)], &[KfdLink::pcie(1 - own, 41)]);
        }
        kfd
    }

    fn build(&self) -> Tree {
        let tree = Tree::new().pop_os(RELEASE, self.words);
        let cmdline = tree.read("proc/cmdline");
        let mut log = KernelLog::new(RELEASE, cmdline.trim(), BOARD);
        if cmdline.contains("intel_iommu=on") {
            log = log.at(0.39, "DMAR: IOMMU enabled");
        }
        log = log.intel_tables().policy(self.policy).native_aer();
        for (index, (bdf, _)) in X99_GPUS.iter().enumerate() {
            log = log.groups(&[(bdf, 20 + u32::try_from(index).unwrap())]);
        }
        log = log.at(6.2, "[drm] amdgpu kernel modesetting enabled.");
        for (target, a) in X99_GPUS {
            for (initiator, b) in X99_GPUS {
                if target != initiator && (self.refused)(a, b) {
                    log = log.then(&format!(
                        "amdgpu {target}: PCIe P2P access from peer device {initiator} is not supported by the \
                         chipset"
                    ));
                }
            }
        }
        let tree = tree
            .kernel_config(RELEASE, &[])
            .cpus(self.cpus)
            .board("MACHINIST", "X99 DUAL", "X99-D8")
            .memory(256)
            .log(&log)
            .module("amdgpu", &[("pcie_p2p", "Y"), ("dpm", "-1"), ("runpm", "-1")]);
        let tree = self.pci().write(tree);
        Self::kfd().write(tree)
    }
}

/// Broadwell-EP, `iommu=pt`: both gates are shut.
pub fn x99() -> Tree {
    X99::stock().build()
}

/// The same with Haswell-EP: the list lets pairs of one socket pass.
pub fn x99_haswell() -> Tree {
    X99 { cpus: Cpus::HASWELL_EP, bridges: (0x2f00, Some(0x2f01)), refused: |a, b| a != b, ..X99::stock() }
        .build()
}

/// Firmware placed the apertures below 2^44.
pub fn x99_low_aperture() -> Tree {
    X99 { aperture: 0xfe0_0000_0000 - 4 * 64 * GIB, ..X99::stock() }.build()
}

/// Translating domains: only the list is left.
pub fn x99_translated() -> Tree {
    X99 { words: &["intel_iommu=on"], domain: "DMA-FQ", policy: "Translated", ..X99::stock() }.build()
}
