//! A big server for measurements: eight GPUs behind four switches and three hundred PCI functions.

use super::{nvidia_card, sizes_up_to};
use crate::common::Tree;
use crate::common::distro::grub_cmdline;
use crate::common::kernel_log::KernelLog;
use crate::common::machine::Cpus;
use crate::common::nvidia::{Card, Driver, HMM_OFF};
use crate::common::nvidia_smi::SmiGpu;
use crate::common::pci::{Function, GIB, Iommu, Link, Pci, Port};

const RELEASE: &str = "6.17.0-22-generic";
const NAME: &str = "NVIDIA RTX PRO 6000 Blackwell Server Edition";
const WORDS: &str = "iommu=pt pcie_aspm.policy=performance pcie_port_pm=off";
/// GPU functions in order.
pub const LARGE_GPUS: [&str; 8] = [
    "0000:03:00.0",
    "0000:04:00.0",
    "0000:43:00.0",
    "0000:44:00.0",
    "0000:83:00.0",
    "0000:84:00.0",
    "0000:c3:00.0",
    "0000:c4:00.0",
];
/// Functions in the tree.
pub const LARGE_FUNCTIONS: usize = 300;

/// One quadrant: host bridge, IOMMU, root port, switch with two GPUs, and a card with many functions.
fn quadrant(number: u32) -> Vec<Function> {
    let bus = number * 0x40;
    let bdf = |bus: u32, slot: u32, function: u32| format!("0000:{bus:02x}:{slot:02x}.{function}");
    let wide = Link::new((5, 16), (5, 16));
    let gpu = |index: u32| {
        let memory = 0x1000_0000_0000 + u64::from(number * 2 + index) * 0x80_0000_0000;
        nvidia_card(
            &bdf(bus + 3 + index, 0, 0),
            0x2bb5,
            0x9000_0000 + u64::from(index) * 0x800_0000,
            (memory, 128 * GIB),
            wide,
        )
        .resizable(1, sizes_up_to(17))
    };
    let port = |slot| Function::bridge(&bdf(bus + 2, slot, 0), Port::Downstream, 0x1000, 0xc030, wide).acs(0);
    let switch = Function::bridge(&bdf(bus + 1, 0, 0), Port::Upstream, 0x1000, 0xc030, wide)
        .below(port(0).below(gpu(0)))
        .below(port(1).below(gpu(1)));
    let mut functions = vec![
        Function::host_bridge(&bdf(bus, 0, 0), 0x1022, 0x153a),
        Function::new(&bdf(bus, 0, 2), 0x1022, 0x153b, 0x08_0600),
        Function::root_port(&bdf(bus, 1, 1), 0x1022, 0x153e, wide).acs(0).below(switch),
    ];
    let taken = 3 + 1 + 2 + 2;
    let mut nic = Function::root_port(&bdf(bus, 2, 1), 0x1022, 0x153e, wide);
    // A card with virtual functions fills the quadrant.
    for index in 0..u32::try_from(LARGE_FUNCTIONS / 4).unwrap() - taken - 1 {
        let link = Link::new((4, 8), (4, 8));
        nic = nic.below(
            Function::endpoint(&bdf(bus + 8, index / 8, index % 8), 0x15b3, 0x101e, 0x02_0000, link)
                .driver("mlx5_core")
                .bar64(0, 0x4000_0000_0000 + u64::from(number) * GIB + (u64::from(index) << 20), 1 << 20),
        );
    }
    functions.push(nic);
    functions
}

/// Eight GPUs, three hundred functions, everything in order.
pub fn large() -> Tree {
    let cmdline = grub_cmdline(RELEASE, WORDS);
    let mut log = KernelLog::new(RELEASE, &cmdline, "Supermicro AS -8126GS-TNMR/H14DSG-OD")
        .policy("Passthrough (set via kernel command line)")
        .native_aer()
        .nvidia("580.95.05", &LARGE_GPUS);
    for index in 0..4000 {
        log = log.then(&format!("systemd[1]: Started unit-{index}.service - Something ordinary."));
    }
    let mut pci = Pci::new().iommu(Some(Iommu::Amd { domain: "identity" }));
    for number in 0..4 {
        pci = pci.bus(&format!("0000:{:02x}", number * 0x40), 0, quadrant(number));
    }
    let tree = Tree::new()
        .kernel(RELEASE, &cmdline)
        .kernel_config(RELEASE, &[])
        .cpus(Cpus::TURIN)
        .board("Supermicro", "AS -8126GS-TNMR", "H14DSG-OD")
        .memory(1536)
        .ubuntu(RELEASE, WORDS)
        .file("etc/modprobe.d/uvm.conf", HMM_OFF)
        .file("sys/module/pcie_aspm/parameters/policy", "default [performance] powersave powersupersave \n")
        .log(&log);
    let gpus = LARGE_GPUS.map(|bdf| SmiGpu {
        bdf,
        name: NAME,
        vram_mib: 97_887,
        bar1_mib: 131_072,
        generation: (5, 5),
        width: (16, 16),
        display: false,
    });
    Driver::new("580.95.05")
        .without_hmm()
        .write(pci.write(tree), &LARGE_GPUS.map(|bdf| Card { bdf, model: NAME, dma_bits: 52 }))
        .smi_matrices(8, "PXB", "OK")
        .smi_query("580.95.05", Some("None"), &gpus)
}
