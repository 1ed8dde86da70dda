//! Hosts about which there is nothing to say, although each holds something that looks like a fault.

use super::turin::nvme;
use super::{nvidia_card, sizes_up_to};
use crate::common::Tree;
use crate::common::distro::grub_cmdline;
use crate::common::kernel_log::KernelLog;
use crate::common::machine::Cpus;
use crate::common::nvidia::{Card, Driver, HMM_OFF};
use crate::common::nvidia_smi::SmiGpu;
use crate::common::pci::{Function, GIB, Iommu, Link, MIB, Pci, Port};

/// Release and words of an Ubuntu host, its processors and memory; no PCI, no log.
fn ubuntu(release: &str, words: &str, cpus: Cpus, gib: u64) -> Tree {
    Tree::new()
        .kernel(release, &grub_cmdline(release, words))
        .kernel_config(release, &[])
        .cpus(cpus)
        .memory(gib)
        .ubuntu(release, words)
}

fn smi(
    bdf: &'static str,
    name: &'static str,
    vram_mib: u64,
    bar1_mib: u64,
    most: (u8, u8),
    lanes: u8,
) -> SmiGpu {
    SmiGpu { bdf, name, vram_mib, bar1_mib, generation: (most.0, 1), width: (most.1, lanes), display: false }
}

/// Laptop: Intel graphics and one NVIDIA GPU asleep at Gen1 in a translating domain.
pub fn laptop_igpu_dgpu() -> Tree {
    let release = "6.17.0-14-generic";
    let asleep = Link::new((1, 8), (4, 16));
    let gpu = nvidia_card("0000:01:00.0", 0x2860, 0x8400_0000, (0x60_0000_0000, 8 * GIB), asleep)
        .power("auto", "suspended")
        .l1_aspm(true)
        .resizable(1, sizes_up_to(13));
    let pci = Pci::new()
        .bus(
            "0000:00",
            -1,
            vec![
                Function::host_bridge("0000:00:00.0", 0x8086, 0xa706),
                Function::root_port("0000:00:01.0", 0x8086, 0xa70d, Link::new((1, 8), (5, 8)))
                    .power("auto", "suspended")
                    .l1_aspm(true)
                    .below(gpu),
                Function::new("0000:00:02.0", 0x8086, 0xa7a0, 0x03_0000)
                    .driver("i915")
                    .dma_mask(39)
                    .bar64(0, 0x62_0000_0000, 16 * MIB)
                    .bar64(2, 0x40_0000_0000, 256 * MIB)
                    .boot_vga(),
            ],
        )
        .iommu(Some(Iommu::Intel { ecap: 0x29a_00f0_505e, domain: "DMA-FQ" }));
    let log = KernelLog::new(release, &grub_cmdline(release, "quiet splash"), "LENOVO 82WQ/LNVNB161216")
        .intel_tables()
        .policy("Translated")
        .native_aer()
        .nvidia("580.95.05", &["0000:01:00.0"]);
    let tree = ubuntu(release, "quiet splash", Cpus::RAPTOR_LAKE_H, 32)
        .board("LENOVO", "82WQ", "LNVNB161216")
        .file("sys/class/dmi/id/chassis_type", "10\n")
        .log(&log);
    let name = "NVIDIA GeForce RTX 4070 Laptop GPU";
    Driver::new("580.95.05")
        .write(pci.write(tree), &[Card { bdf: "0000:01:00.0", model: name, dma_bits: 47 }])
        .smi_query("580.95.05", Some("HMM"), &[smi("0000:01:00.0", name, 8188, 8192, (4, 16), 8)])
}

/// Old desktop with one card and a small BAR1.
pub fn single_gpu() -> Tree {
    let release = "6.12.57-amd64";
    let link = Link::new((1, 16), (2, 16));
    let pci = Pci::new().bus(
        "0000:00",
        -1,
        vec![
            Function::host_bridge("0000:00:00.0", 0x8086, 0x0c08),
            Function::root_port("0000:00:01.0", 0x8086, 0x0c01, Link::new((1, 16), (3, 16))).below(
                nvidia_card("0000:01:00.0", 0x13ba, 0xf600_0000, (0xe000_0000, 256 * MIB), link)
                    .dma_mask(40)
                    .boot_vga(),
            ),
        ],
    );
    let log = KernelLog::new(release, &grub_cmdline(release, "quiet"), "Supermicro X10SAE/X10SAE")
        .policy("Translated")
        .native_aer()
        .nvidia("550.163.01", &["0000:01:00.0"]);
    let tree = ubuntu(release, "quiet", Cpus::HASWELL, 16).board("Supermicro", "X10SAE", "X10SAE").log(&log);
    let name = "Quadro K2200";
    Driver::new("550.163.01")
        .closed()
        .write(pci.write(tree), &[Card { bdf: "0000:01:00.0", model: name, dma_bits: 40 }])
        .smi_query("550.163.01", Some("None"), &[smi("0000:01:00.0", name, 4096, 256, (2, 16), 16)])
}

/// KVM guest: two GPUs passed through onto the root bus. No bridge above, no AER, no IOMMU, no node.
pub fn guest_passthrough() -> Tree {
    let release = "6.8.0-88-generic";
    let link = Link::new((1, 16), (4, 16));
    let gpu =
        |bdf, registers, memory| nvidia_card(bdf, 0x26b9, registers, (memory, 256 * MIB), link).dma_mask(47);
    let pci = Pci::new()
        .bus(
            "0000:00",
            -1,
            vec![
                Function::host_bridge("0000:00:00.0", 0x8086, 0x29c0),
                Function::new("0000:00:01.0", 0x1b36, 0x0100, 0x03_0000)
                    .bar32(0, 0xf000_0000, 64 * MIB)
                    .boot_vga(),
                Function::new("0000:00:03.0", 0x1af4, 0x1000, 0x02_0000).driver("virtio-pci"),
                gpu("0000:00:05.0", 0xe000_0000, 0x38_0000_0000),
                gpu("0000:00:06.0", 0xd800_0000, 0x38_2000_0000),
                Function::new("0000:00:1f.0", 0x8086, 0x2918, 0x06_0100),
            ],
        )
        .without_aer();
    let log = KernelLog::new(release, &grub_cmdline(release, "quiet"), "QEMU Standard PC (Q35 + ICH9, 2009)")
        .then("Hypervisor detected: KVM")
        .policy("Translated")
        .nvidia("570.172.08", &["0000:00:05.0", "0000:00:06.0"]);
    let cpus = Cpus { cores: 8, guest: true, ..Cpus::VERMEER };
    let tree = ubuntu(release, "quiet", cpus, 48)
        .board("QEMU", "Standard PC (Q35 + ICH9, 2009)", "Standard PC (Q35 + ICH9, 2009)")
        .file("sys/hypervisor/type", "kvm\n")
        .file("etc/modprobe.d/uvm.conf", HMM_OFF)
        .log(&log);
    let name = "NVIDIA L40S";
    let gpus = ["0000:00:05.0", "0000:00:06.0"];
    Driver::new("570.172.08")
        .without_hmm()
        .write(pci.write(tree), &gpus.map(|bdf| Card { bdf, model: name, dma_bits: 47 }))
        .smi_query("570.172.08", Some("None"), &gpus.map(|bdf| smi(bdf, name, 46_068, 256, (4, 16), 16)))
}

/// WSL 2: the GPUs are behind `/dev/dxg`; the PCI tree holds Hyper-V's own devices.
pub fn wsl() -> Tree {
    let release = "6.6.87.2-microsoft-standard-WSL2";
    let cmdline = "initrd=\\initrd.img WSL_ROOT_INIT=1 panic=-1 nr_cpus=16 hv_utils.timesync_implicit=1";
    let pci = Pci::new()
        .bus(
            "8f2c:00",
            -1,
            vec![Function::new("8f2c:00:00.0", 0x1af4, 0x1049, 0x00_0200).driver("virtio-pci")],
        )
        .bus("b51a:00", -1, vec![Function::new("b51a:00:00.0", 0x1414, 0x008e, 0x03_0200).driver("dxgkrnl")])
        .without_aer();
    let tree = Tree::new()
        .kernel(release, cmdline)
        .cpus(Cpus { guest: true, ..Cpus::VERMEER })
        .memory(48)
        .file("proc/sys/fs/binfmt_misc/WSLInterop", "enabled\ninterpreter /init\nflags: PF\nmagic 4d5a\n")
        .file("etc/os-release", "NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\n")
        .file("etc/wsl.conf", "[boot]\nsystemd=true\n")
        .dir("usr/lib/wsl/lib")
        .log(
            &KernelLog::new(release, cmdline, "Microsoft Virtual Machine")
                .then("Hypervisor detected: Microsoft Hyper-V"),
        );
    pci.write(tree)
}

/// Two RTX 6000 Ada that are right, and a small display card with a 256 MiB BAR on four lanes.
pub fn display_only_card() -> Tree {
    let release = "6.17.0-22-generic";
    let words = "quiet iommu=pt";
    let link = Link::new((1, 16), (4, 16));
    let port = Link::new((1, 16), (5, 16));
    let gpu = |bdf, registers, memory| {
        nvidia_card(bdf, 0x26b1, registers, (memory, 64 * GIB), link)
            .dma_mask(47)
            .resizable(1, sizes_up_to(16))
    };
    let display = Link::new((1, 4), (3, 4));
    let pci = Pci::new()
        .bus(
            "0000:00",
            0,
            vec![
                Function::host_bridge("0000:00:00.0", 0x1022, 0x14a4),
                Function::new("0000:00:00.2", 0x1022, 0x149e, 0x08_0600),
                Function::root_port("0000:00:01.1", 0x1022, 0x14ab, port).below(gpu(
                    "0000:01:00.0",
                    0xd000_0000,
                    0x700_0000_0000,
                )),
                Function::root_port("0000:00:01.2", 0x1022, 0x14ab, port).below(gpu(
                    "0000:02:00.0",
                    0xc800_0000,
                    0x720_0000_0000,
                )),
                Function::root_port("0000:00:03.1", 0x1022, 0x14ab, Link::new((1, 4), (5, 4))).below(
                    nvidia_card("0000:03:00.0", 0x1d01, 0xc000_0000, (0x740_0000_0000, 256 * MIB), display)
                        .dma_mask(47)
                        .boot_vga(),
                ),
                nvme("0000:00:03.2", "0000:04:00.0"),
            ],
        )
        .iommu(Some(Iommu::Amd { domain: "identity" }));
    let log = KernelLog::new(release, &grub_cmdline(release, words), "ASUS Pro WS WRX90E-SAGE SE")
        .policy("Passthrough (set via kernel command line)")
        .native_aer()
        .nvidia("580.95.05", &["0000:01:00.0", "0000:02:00.0", "0000:03:00.0"]);
    let tree = ubuntu(release, words, Cpus::STORM_PEAK, 256)
        .board("ASUS", "System Product Name", "Pro WS WRX90E-SAGE SE")
        .file("etc/modprobe.d/uvm.conf", HMM_OFF)
        .log(&log);
    let (ada, small) = ("NVIDIA RTX 6000 Ada Generation", "NVIDIA GeForce GT 1030");
    let matrix = crate::common::nvidia_smi::topology(3, |_, _| "PHB".to_owned());
    Driver::new("580.95.05")
        .closed()
        .without_hmm()
        .write(
            pci.write(tree),
            &[
                Card { bdf: "0000:01:00.0", model: ada, dma_bits: 47 },
                Card { bdf: "0000:02:00.0", model: ada, dma_bits: 47 },
                Card { bdf: "0000:03:00.0", model: small, dma_bits: 47 },
            ],
        )
        .file("captured/nvidia-smi-topo-m.txt", matrix)
        .file("captured/nvidia-smi-topo-p2p-r.txt", display_peers())
        .file("captured/nvidia-smi-topo-p2p-w.txt", display_peers())
        .smi_query(
            "580.95.05",
            Some("None"),
            &[
                smi("0000:01:00.0", ada, 49_140, 65_536, (4, 16), 16),
                smi("0000:02:00.0", ada, 49_140, 65_536, (4, 16), 16),
                SmiGpu { display: true, ..smi("0000:03:00.0", small, 2048, 256, (3, 4), 4) },
            ],
        )
}

/// The two Ada cards may, the display card may not.
fn display_peers() -> String {
    " \tGPU0\tGPU1\tGPU2\t\n GPU0\tX\tOK\tNS\t\n GPU1\tOK\tX\tNS\t\n GPU2\tNS\tNS\tX\t\n\nLegend:\n\n  \
     X    = Self\n  OK   = Status Ok\n  NS   = Not supported\n"
        .to_owned()
}

/// Two-socket Xeon, four Tesla T4 below two switches. The kernel prints "Translated" and its DMAR
/// tables, and no IOMMU driver is active: no group exists.
pub fn translated_policy_without_groups() -> Tree {
    let release = "5.4.0-216-generic";
    let cmdline = grub_cmdline(release, "");
    let link = Link::new((1, 16), (3, 16));
    let wide = Link::new((3, 16), (3, 16));
    let gpu = |bdf: &str, registers, memory| {
        nvidia_card(bdf, 0x1eb8, registers, (memory, 256 * MIB), link).dma_mask(47).subsystem(0x10de, 0x12a2)
    };
    let switch = |root: &str, device, bus: u32, registers: u64, memory: u64| {
        let bdf = |bus: u32, slot: u32| format!("0000:{bus:02x}:{slot:02x}.0");
        let port = |slot, below, index: u64| {
            Function::bridge(&bdf(bus + 1, slot), Port::Downstream, 0x10b5, 0x9797, link).below(gpu(
                &bdf(below, 0),
                registers + index * 0x800_0000,
                memory + index * 0x2000_0000,
            ))
        };
        Function::root_port(root, 0x8086, device, wide).below(
            Function::bridge(&bdf(bus, 0), Port::Upstream, 0x10b5, 0x9797, wide)
                .below(port(8, bus + 2, 0))
                .below(port(9, bus + 3, 1)),
        )
    };
    let pci = Pci::new()
        .bus("0000:00", 0, vec![Function::host_bridge("0000:00:00.0", 0x8086, 0x2020)])
        .bus("0000:17", 0, vec![switch("0000:17:00.0", 0x2030, 0x18, 0xa000_0000, 0x2000_0000_0000)])
        .bus("0000:85", 1, vec![switch("0000:85:00.0", 0x2030, 0x86, 0xd000_0000, 0x2800_0000_0000)]);
    let gpus = ["0000:1a:00.0", "0000:1b:00.0", "0000:88:00.0", "0000:89:00.0"];
    let log = KernelLog::new(release, &cmdline, "Supermicro SYS-4029GP-TRT2/X11DPG-OT-CPU")
        .intel_tables()
        .at(0.6, "iommu: Default domain type: Translated ")
        .native_aer()
        .nvidia("470.256.02", &gpus);
    let tree = ubuntu(release, "", Cpus::CASCADE_LAKE, 384)
        .board("Supermicro", "SYS-4029GP-TRT2", "X11DPG-OT-CPU")
        .kernel_config(release, &[("CONFIG_INTEL_IOMMU_DEFAULT_ON", "n"), ("CONFIG_PCI_P2PDMA", "n")])
        .file("etc/modprobe.d/uvm.conf", HMM_OFF)
        .log(&log);
    let name = "Tesla T4";
    let matrix =
        crate::common::nvidia_smi::topology(4, |a, b| if a / 2 == b / 2 { "PIX" } else { "SYS" }.to_owned());
    Driver::new("470.256.02")
        .closed()
        .without_hmm()
        .write(pci.write(tree), &gpus.map(|bdf| Card { bdf, model: name, dma_bits: 47 }))
        .file("captured/nvidia-smi-topo-m.txt", matrix)
        .smi_query("470.256.02", None, &gpus.map(|bdf| smi(bdf, name, 15_360, 256, (3, 16), 16)))
}
