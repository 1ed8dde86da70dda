//! EPYC 9655 with eight RTX PRO 6000 Blackwell Server Edition, each on its own root bus.

use super::{nvidia_card, sizes_up_to};
use crate::common::Tree;
use crate::common::distro::grub_cmdline;
use crate::common::kernel_log::KernelLog;
use crate::common::machine::Cpus;
use crate::common::nvidia::{Card, Driver, HMM_OFF};
use crate::common::nvidia_smi::SmiGpu;
use crate::common::pci::{Function, GIB, Iommu, Link, MIB, Pci};

const RELEASE: &str = "6.17.0-22-generic";
const BOARD: &str = "Supermicro AS -5126GS-TNRT/H14SSL-N";
const NAME: &str = "NVIDIA RTX PRO 6000 Blackwell Server Edition";
/// Keys of article-style tuning for branches from 575 on.
const KEYS: &str = "ForceP2P=0x11;RMForceP2PType=1;RMPcieP2PType=2";
/// GPU functions in order.
pub const TURIN_GPUS: [&str; 8] = [
    "0000:01:00.0",
    "0000:21:00.0",
    "0000:41:00.0",
    "0000:61:00.0",
    "0000:81:00.0",
    "0000:a1:00.0",
    "0000:c1:00.0",
    "0000:e1:00.0",
];
/// The GPU whose BAR1 is small in [`turin_one_small_bar`].
pub const SMALL: usize = 4;

struct Turin {
    words: &'static str,
    driver: &'static str,
    domain: &'static str,
    policy: &'static str,
    small: Option<usize>,
    tuned: bool,
    /// Option words that the kernel logged as unknown.
    unknown: &'static [&'static str],
}

impl Turin {
    fn stock() -> Self {
        Self {
            words: "",
            driver: "595.71.05",
            domain: "DMA-FQ",
            policy: "Translated",
            small: None,
            tuned: false,
            unknown: &[],
        }
    }

    fn bar1(&self, index: usize) -> u64 {
        if self.small == Some(index) { 256 * MIB } else { 128 * GIB }
    }

    fn pci(&self) -> Pci {
        let link = Link::new((1, 16), (5, 16));
        let (control, aspm) = if self.tuned { ("on", false) } else { ("auto", true) };
        let mut pci = Pci::new();
        for (index, bdf) in TURIN_GPUS.iter().enumerate() {
            let number = index * 0x20;
            let bus = format!("0000:{number:02x}");
            let base = 0x1000_0000_0000 + index as u64 * 0x40_0000_0000;
            let gpu = nvidia_card(
                bdf,
                0x2bb5,
                0x9000_0000 + index as u64 * 0x800_0000,
                (base, self.bar1(index)),
                link,
            )
            .power(control, "active")
            .l1_aspm(aspm)
            .resizable(1, sizes_up_to(17));
            let mut functions = vec![
                Function::host_bridge(&format!("{bus}:00.0"), 0x1022, 0x153a),
                Function::new(&format!("{bus}:00.2"), 0x1022, 0x153b, 0x08_0600),
                Function::host_bridge(&format!("{bus}:01.0"), 0x1022, 0x153d),
                Function::root_port(&format!("{bus}:01.1"), 0x1022, 0x153e, link)
                    .power(control, "active")
                    .l1_aspm(aspm)
                    .acs(0x1d)
                    .below(gpu),
            ];
            if index == 0 {
                functions.push(nvme("0000:00:03.1", "0000:02:00.0"));
            }
            pci = pci.bus(&bus, 0, functions);
        }
        pci.iommu(Some(Iommu::Amd { domain: self.domain }))
    }

    fn log(&self, cmdline: &str) -> KernelLog {
        let mut log = KernelLog::new(RELEASE, cmdline, BOARD);
        for word in self.unknown {
            log = log.at(0.05, &format!("AMD-Vi: Unknown option - '{word}'"));
        }
        log = log.at(0.5, "AMD-Vi: Interrupt remapping enabled").policy(self.policy).native_aer();
        for (index, bdf) in TURIN_GPUS.iter().enumerate() {
            log = log.groups(&[(bdf, 3 * u32::try_from(index).unwrap() + 2)]);
        }
        log.nvidia(self.driver, &TURIN_GPUS)
    }

    fn build(&self) -> Tree {
        let cmdline = grub_cmdline(RELEASE, self.words);
        let mut tree = Tree::new()
            .kernel(RELEASE, &cmdline)
            .kernel_config(RELEASE, &[])
            .cpus(Cpus::TURIN)
            .board("Supermicro", "AS -5126GS-TNRT", "H14SSL-N")
            .memory(768)
            .ubuntu(RELEASE, self.words)
            .log(&self.log(&cmdline));
        let mut driver = Driver::new(self.driver);
        if self.tuned {
            driver = driver.registry(KEYS).without_hmm();
            tree = tree
                .file("etc/modprobe.d/uvm.conf", HMM_OFF)
                .file("etc/modprobe.d/p2p.conf", format!("options nvidia NVreg_RegistryDwords=\"{KEYS}\"\n"))
                .file(
                    "sys/module/pcie_aspm/parameters/policy",
                    "default [performance] powersave powersupersave \n",
                );
        }
        let tree = self.pci().write(tree);
        let cards = TURIN_GPUS.map(|bdf| Card { bdf, model: NAME, dma_bits: 52 });
        let gpus: Vec<SmiGpu> = TURIN_GPUS
            .iter()
            .enumerate()
            .map(|(index, bdf)| SmiGpu {
                bdf,
                name: NAME,
                vram_mib: 97_887,
                bar1_mib: self.bar1(index) / MIB,
                generation: (5, 1),
                width: (16, 16),
                display: false,
            })
            .collect();
        let mode = if self.tuned { "None" } else { "HMM" };
        driver.write(tree, &cards).smi_matrices(8, "NODE", "OK").smi_query(self.driver, Some(mode), &gpus)
    }
}

/// A system disk below its own root port.
pub(super) fn nvme(port: &str, bdf: &str) -> Function {
    let link = Link::new((4, 4), (4, 4));
    Function::root_port(port, 0x1022, 0x153e, link).below(
        Function::endpoint(bdf, 0x1e0f, 0x0025, 0x01_0802, link).driver("nvme").bar32(
            0,
            0xb800_0000,
            16 << 10,
        ),
    )
}

/// As installed: translating, HMM on, no registry keys, ports may suspend, firmware ASPM.
pub fn turin_stock() -> Tree {
    Turin::stock().build()
}

/// Stock with another driver release.
pub fn turin_stock_on(driver: &'static str) -> Tree {
    Turin { driver, ..Turin::stock() }.build()
}

/// Passthrough, HMM off, keys set, ASPM and port PM off.
pub fn turin_tuned() -> Tree {
    tuned().build()
}

fn tuned() -> Turin {
    Turin {
        words: "iommu=pt pcie_aspm.policy=performance pcie_port_pm=off",
        domain: "identity",
        policy: "Passthrough (set via kernel command line)",
        tuned: true,
        ..Turin::stock()
    }
}

/// Tuned, and one card came up with the BAR1 that firmware gives without Resizable BAR.
pub fn turin_one_small_bar() -> Tree {
    Turin { small: Some(SMALL), ..tuned() }.build()
}

/// Tuned except for the IOMMU, for which somebody wrote two words that do nothing.
pub fn turin_noop_tokens() -> Tree {
    Turin {
        words: "amd_iommu=on amd_iommu=pt pcie_aspm.policy=performance pcie_port_pm=off",
        domain: "DMA-FQ",
        policy: "Translated",
        unknown: &["on", "pt"],
        ..tuned()
    }
    .build()
}
