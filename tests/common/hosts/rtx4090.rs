//! Threadripper 7960X with two RTX 4090 on root buses 00 and 40, IOMMU off in firmware.

use super::turin::nvme;
use super::{nvidia_card, sizes_up_to};
use crate::common::Tree;
use crate::common::distro::grub_cmdline;
use crate::common::kernel_log::KernelLog;
use crate::common::machine::Cpus;
use crate::common::nvidia::{Card, Driver, HMM_OFF};
use crate::common::nvidia_smi::SmiGpu;
use crate::common::pci::{Function, GIB, Link, Pci};

const RELEASE: &str = "6.14.0-37-generic";
const NAME: &str = "NVIDIA GeForce RTX 4090";
const GPUS: [&str; 2] = ["0000:01:00.0", "0000:41:00.0"];

fn board(driver: &str) -> Tree {
    let cmdline = grub_cmdline(RELEASE, "quiet splash");
    let port = Link::new((1, 16), (5, 16));
    let card = Link::new((1, 16), (4, 16));
    let gpu = |bdf, registers, memory| {
        let gpu = nvidia_card(bdf, 0x2684, registers, (memory, 32 * GIB), card).subsystem(0x1043, 0x889a);
        gpu.dma_mask(47).resizable(1, sizes_up_to(15)).driver(driver)
    };
    let mut log = KernelLog::new(RELEASE, &cmdline, "ASUS System Product Name/Pro WS TRX50-SAGE WIFI")
        .policy("Translated")
        .native_aer();
    if driver == "nvidia" {
        log = log.nvidia("575.64.05", &GPUS);
    }
    let tree = Tree::new()
        .kernel(RELEASE, &cmdline)
        .kernel_config(RELEASE, &[])
        .cpus(Cpus::STORM_PEAK)
        .board("ASUS", "System Product Name", "Pro WS TRX50-SAGE WIFI")
        .memory(128)
        .ubuntu(RELEASE, "quiet splash")
        .log(&log);
    Pci::new()
        .bus(
            "0000:00",
            0,
            vec![
                Function::host_bridge("0000:00:00.0", 0x1022, 0x14a4),
                Function::root_port("0000:00:01.1", 0x1022, 0x14ab, port)
                    .below(gpu(GPUS[0], 0xd000_0000, 0x7_8000_0000_u64 << 8).boot_vga()),
                nvme("0000:00:03.1", "0000:02:00.0"),
            ],
        )
        .bus(
            "0000:40",
            0,
            vec![
                Function::host_bridge("0000:40:00.0", 0x1022, 0x14a4),
                Function::root_port("0000:40:01.1", 0x1022, 0x14ab, port).below(gpu(
                    GPUS[1],
                    0xc000_0000,
                    0x7_4000_0000_u64 << 8,
                )),
            ],
        )
        .write(tree)
}

fn with_driver(driver: &Driver, userspace: &str, status: &str) -> Tree {
    let gpus = GPUS.map(|bdf| SmiGpu {
        bdf,
        name: NAME,
        vram_mib: 24_564,
        bar1_mib: 32_768,
        generation: (4, 1),
        width: (16, 16),
        display: false,
    });
    driver
        .write(board("nvidia"), &GPUS.map(|bdf| Card { bdf, model: NAME, dma_bits: 47 }))
        .file("etc/modprobe.d/uvm.conf", HMM_OFF)
        .smi_matrices(2, "NODE", status)
        .smi_query(userspace, Some("None"), &gpus)
}

/// NVIDIA's own build: the driver refuses peer access on this product.
pub fn two_4090_stock() -> Tree {
    with_driver(&Driver::new("575.64.05").without_hmm(), "575.64.05", "GNS")
}

/// A build that grants it; its module carries a suffix that the userspace libraries do not have.
pub fn two_4090_patched() -> Tree {
    let driver = Driver::new("575.64.05-p2p").builder("aikitoria@builder").without_hmm();
    with_driver(&driver, "575.64.05", "OK")
}

/// The kernel's own driver.
pub fn two_4090_nouveau() -> Tree {
    board("nouveau").module("nouveau", &[("modeset", "-1"), ("runpm", "-1")])
}
