//! X570 desktop with two RTX 2080 Ti at x8 each and an NVLink bridge.

use super::nvidia_card;
use super::turin::nvme;
use crate::common::Tree;
use crate::common::distro::grub_cmdline;
use crate::common::kernel_log::KernelLog;
use crate::common::machine::Cpus;
use crate::common::nvidia::{Card, Driver, HMM_OFF};
use crate::common::nvidia_smi::{SmiGpu, nvlink};
use crate::common::pci::{Function, Link, MIB, Pci};

const RELEASE: &str = "5.15.0-157-generic";
const NAME: &str = "NVIDIA GeForce RTX 2080 Ti";
const DRIVER: &str = "535.274.02";

/// The bridge carries both links, or none. The cards have no Resizable BAR: 256 MiB is all they can do.
pub fn x570_2080ti(active: bool) -> Tree {
    let cmdline = grub_cmdline(RELEASE, "quiet splash");
    // The board splits the processor's sixteen lanes: the ports know no more than eight.
    let port = Link::new((1, 8), (4, 8));
    let card = Link::new((1, 8), (3, 16));
    let gpu = |bdf: &str, registers, memory| {
        let audio = bdf.replace(".0", ".1");
        let function =
            nvidia_card(bdf, 0x1e07, registers, (memory, 256 * MIB), card).subsystem(0x1043, 0x866a);
        (
            function.dma_mask(47),
            Function::endpoint(&audio, 0x10de, 0x10f7, 0x04_0300, card).driver("snd_hda_intel").bar32(
                0,
                registers + 64 * MIB,
                16 << 10,
            ),
        )
    };
    let (first, first_audio) = gpu("0000:0b:00.0", 0xf000_0000, 0x7f_c000_0000);
    let (second, second_audio) = gpu("0000:0c:00.0", 0xe800_0000, 0x7f_8000_0000);
    let functions = vec![
        Function::host_bridge("0000:00:00.0", 0x1022, 0x1480),
        Function::host_bridge("0000:00:01.0", 0x1022, 0x1482),
        nvme("0000:00:01.1", "0000:01:00.0"),
        Function::host_bridge("0000:00:03.0", 0x1022, 0x1482),
        Function::root_port("0000:00:03.1", 0x1022, 0x1483, port).below(first.boot_vga()).below(first_audio),
        Function::root_port("0000:00:03.2", 0x1022, 0x1483, port).below(second).below(second_audio),
    ];
    let log = KernelLog::new(RELEASE, &cmdline, "ASUS System Product Name/Pro WS X570-ACE")
        .policy("Translated ")
        .native_aer()
        .nvidia(DRIVER, &["0000:0b:00.0", "0000:0c:00.0"]);
    let tree = Tree::new()
        .kernel(RELEASE, &cmdline)
        .kernel_config(RELEASE, &[("CONFIG_HSA_AMD_P2P", "n")])
        .cpus(Cpus::VERMEER)
        .board("ASUS", "System Product Name", "Pro WS X570-ACE")
        .memory(64)
        .ubuntu(RELEASE, "quiet splash")
        .file("etc/modprobe.d/uvm.conf", HMM_OFF)
        .log(&log);
    let tree = Pci::new().bus("0000:00", -1, functions).write(tree);
    let cards = ["0000:0b:00.0", "0000:0c:00.0"];
    let gpus = cards.map(|bdf| SmiGpu {
        bdf,
        name: NAME,
        vram_mib: 11_264,
        bar1_mib: 256,
        generation: (3, 1),
        width: (16, 8),
        display: bdf == "0000:0b:00.0",
    });
    let (level, status, speed) = if active { ("NV2", "OK", Some("25.781")) } else { ("PHB", "GNS", None) };
    Driver::new(DRIVER)
        .without_hmm()
        .write(tree, &cards.map(|bdf| Card { bdf, model: NAME, dma_bits: 47 }))
        .smi_matrices(2, level, status)
        .smi_query(DRIVER, Some("None"), &gpus)
        .file("captured/nvidia-smi-nvlink-s.txt", nvlink(NAME, 2, 2, speed))
}

/// The host with its bridge active.
pub fn x570_active() -> Tree {
    x570_2080ti(true)
}

/// The host with its bridge inactive.
pub fn x570_inactive() -> Tree {
    x570_2080ti(false)
}
