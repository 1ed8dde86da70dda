//! GPUs joined from PCI functions, driver files and captured tool output; links as they can be judged.

mod common;
use common::Tree;
use peerfix::host::amdgpu::Amdgpu;
use peerfix::host::gpu::{self, Gpu};
use peerfix::host::nvidia_smi::NvidiaSmi;
use peerfix::host::pci::{Acs, Aer, Bar, Link, PciDevice, Resizable};
use peerfix::root::{Evidence, Fact, Root, Why};

const GIB: i64 = 1 << 30;

fn known<T>(value: T) -> Fact<T> {
    Fact::known(value, Evidence::new("test", ""))
}

fn link(now: (i64, i64), most: (i64, i64)) -> Link {
    Link {
        generation: known(now.0),
        width: known(now.1),
        max_generation: known(most.0),
        max_width: known(most.1),
    }
}

fn device(bdf: &str, class: i64, vendor: i64, id: i64, upstream: &[&str]) -> PciDevice {
    PciDevice {
        bdf: bdf.to_owned(),
        root_bus: known(bdf[..7].to_owned()),
        upstream: upstream.iter().map(|b| (*b).to_owned()).collect(),
        class: known(class),
        vendor: known(vendor),
        device: known(id),
        subsystem: Fact::absent("subsystem"),
        driver: Fact::absent("driver"),
        aer: Fact::absent("aer"),
        acs: Fact::absent("acs"),
        power_control: known("on".to_owned()),
        runtime_status: known("active".to_owned()),
        aspm_enabled: known(false),
        domain_type: Fact::absent("iommu_group"),
        external: known(false),
        boot_vga: known(false),
        bars: known(Vec::new()),
        resizable: Fact::absent("resizable"),
        window: Fact::absent("window"),
        ..PciDevice::default()
    }
}

fn bar(index: i64, start: i64, size: i64) -> Bar {
    let end = if size == 0 { 0 } else { start + size - 1 };
    Bar { index, start, end, size, prefetch: true, mem64: true, unassigned: size == 0 }
}

fn nvidia(bdf: &str, upstream: &[&str]) -> PciDevice {
    let mut gpu = device(bdf, 0x03_0200, 0x10de, 0x2bb1, upstream);
    gpu.driver = known("nvidia".to_owned());
    gpu.bars = known(vec![bar(1, 0x80_0000_0000, 32 * GIB), bar(3, 0x90_0000_0000, 32 << 20)]);
    gpu.link = link((1, 8), (5, 16));
    gpu
}

fn port(bdf: &str, vendor: i64, upstream: &[&str], state: Link) -> PciDevice {
    let mut port = device(bdf, 0x06_0400, vendor, 0x1478, upstream);
    port.link = state;
    port
}

/// An AMD card behind its own switch below a root port: root port, upstream port, downstream port, GPU.
fn amd_card(root: &str, bus: u8, card: Link) -> Vec<PciDevice> {
    let (up, down, gpu) = (
        format!("0000:{bus:02x}:00.0"),
        format!("0000:{:02x}:00.0", bus + 1),
        format!("0000:{:02x}:00.0", bus + 2),
    );
    let mut end = device(&gpu, 0x03_0000, 0x1002, 0x7551, &[root, &up, &down]);
    end.driver = known("amdgpu".to_owned());
    // What the endpoint itself says is fiction.
    end.link = link((5, 16), (5, 16));
    end.bars = known(vec![bar(0, 0x3808_0000_0000, 32 * GIB), bar(2, 0x3810_0000_0000, 2 << 20)]);
    vec![
        port(root, 0x8086, &[], link((3, 16), (3, 16))),
        port(&up, 0x1002, &[root], card),
        port(&down, 0x1002, &[root, &up], link((5, 16), (5, 16))),
        end,
    ]
}

fn read_in(tree: &Tree, pci: &[PciDevice]) -> Vec<Gpu> {
    let root = Root::target(tree.path()).unwrap();
    gpu::read(&root, pci, &Amdgpu::read(&root), &NvidiaSmi::read(&root))
}

fn read(pci: &[PciDevice]) -> Vec<Gpu> {
    read_in(&Tree::new(), pci)
}

fn smi(entries: &[(&str, &str)]) -> Tree {
    let mut text = "Driver Version : 580.65.06\n".to_owned();
    for (bdf, rest) in entries {
        text += &["GPU 0000", bdf, "\n    Product Name : NVIDIA RTX Example\n", rest].concat();
    }
    Tree::new().file("captured/nvidia-smi-q.txt", text)
}

#[test]
fn gpus_are_told_by_class_and_vendor_and_bmc_graphics_are_left_out() {
    let pci = [
        device("0000:c2:00.0", 0x03_0200, 0x10de, 0x2330, &[]),
        device("0000:05:00.0", 0x12_0000, 0x1002, 0x74a1, &[]),
        device("0000:03:00.0", 0x03_8000, 0x8086, 0x0bd5, &[]),
        device("0000:01:00.0", 0x03_0000, 0x1a03, 0x2000, &[]),
        device("0000:02:00.0", 0x03_0000, 0x1002, 0x515e, &[]),
        device("0000:00:0b.0", 0x12_0000, 0x8086, 0x7d1d, &[]),
        device("0000:c2:00.1", 0x04_0300, 0x10de, 0x0001, &[]),
        device("10000:01:00.0", 0x03_0000, 0x10de, 0x2330, &[]),
        PciDevice { bdf: "0000:99:00.0".to_owned(), ..PciDevice::default() },
    ];
    let found: Vec<(String, String)> = read(&pci).into_iter().map(|g| (g.bdf, g.vendor)).collect();
    let expected = [
        ("0000:03:00.0", "intel"),
        ("0000:05:00.0", "amd"),
        ("0000:c2:00.0", "nvidia"),
        ("10000:01:00.0", "nvidia"),
    ];
    assert_eq!(found, expected.map(|(b, v)| (b.to_owned(), v.to_owned())));
}

#[test]
fn processor_graphics_are_integrated_and_cards_are_not() {
    let mut apu = device("0000:0e:00.0", 0x03_0000, 0x1002, 0x164e, &["0000:00:08.1"]);
    apu.link = link((4, 16), (4, 16));
    let mut card = device("0000:05:00.0", 0x03_0000, 0x1002, 0x7551, &["0000:00:01.0"]);
    card.port_type = known("legacy-endpoint".to_owned());
    let pci = [
        device("0000:00:02.0", 0x03_0000, 0x8086, 0x7d67, &[]),
        device("0000:04:00.0", 0x03_0000, 0x8086, 0xe20b, &["0000:00:06.0"]),
        apu,
        device("0000:0e:00.2", 0x10_8000, 0x1022, 0x1649, &["0000:00:08.1"]),
        card,
    ];
    let integrated: Vec<(String, bool, bool)> =
        read(&pci).into_iter().map(|g| (g.bdf, g.integrated, g.compute)).collect();
    let expected = [
        ("0000:00:02.0", true, false),
        ("0000:04:00.0", false, true),
        ("0000:05:00.0", false, true),
        ("0000:0e:00.0", true, false),
    ];
    assert_eq!(integrated, expected.map(|(b, i, c)| (b.to_owned(), i, c)));
}

#[test]
fn a_small_display_card_takes_no_part() {
    let fb = |mib: i64| format!("    FB Memory Usage\n        Total : {mib} MiB\n");
    let (small, large) = (fb(2048), fb(24564));
    let tree = smi(&[("0000:41:00.0", &large), ("0000:62:00.0", &small)]);
    let gpus = read_in(&tree, &[nvidia("0000:41:00.0", &[]), nvidia("0000:62:00.0", &[])]);
    assert_eq!(
        gpus.iter().map(|g| (g.display_only, g.compute)).collect::<Vec<_>>(),
        [(false, true), (true, false)]
    );
    assert_eq!(gpus.iter().map(|g| g.smi_index).collect::<Vec<_>>(), [0, 1]);

    // A card whose firmware offers no BAR above 256 MiB may have any amount of memory.
    let mut turing = nvidia("0000:41:00.0", &[]);
    turing.resizable = known(vec![Resizable { bar: 1, largest: 256 << 20, sizes: vec![256 << 20] }]);
    assert!(read(&[turing.clone()])[0].compute);
    turing.resizable = known(vec![Resizable { bar: 1, largest: 2 * GIB, sizes: vec![2 * GIB] }]);
    assert!(read(&[turing])[0].display_only);

    let named =
        Tree::new().file("proc/driver/nvidia/gpus/0000:41:00.0/information", "Model: \t NVIDIA T400 4GB\n");
    assert!(read_in(&named, &[nvidia("0000:41:00.0", &[])])[0].display_only);
}

#[test]
fn a_card_bound_to_another_driver_is_no_compute_card_and_not_counted_by_nvidia_smi() {
    let mut vfio = nvidia("0000:01:00.0", &[]);
    vfio.driver = known("vfio-pci".to_owned());
    let mut unbound = nvidia("0000:02:00.0", &[]);
    unbound.driver = Fact::absent("driver");
    let gpus = read(&[vfio, unbound.clone(), nvidia("0000:03:00.0", &[])]);
    assert_eq!(gpus.iter().map(|g| g.compute).collect::<Vec<_>>(), [false, true, true]);
    assert_eq!(gpus.iter().map(|g| g.smi_index).collect::<Vec<_>>(), [-1, -1, 0]);
    // A capture without driver links still has an order.
    assert_eq!(read(&[unbound])[0].smi_index, 0);
}

#[test]
fn names_come_from_the_driver_then_nvidia_smi_then_pci_ids() {
    let path = "proc/driver/nvidia/gpus/0000:41:00.0/information";
    let name = |tree: &Tree| read_in(tree, &[nvidia("0000:41:00.0", &[])])[0].name.clone();
    let tree =
        smi(&[("0000:41:00.0", "")]).file("usr/share/misc/pci.ids", "10de  NVIDIA\n\t2bb1  GB Example\n");
    assert_eq!(name(&tree).value().unwrap(), "NVIDIA RTX Example");
    let tree = tree.file(path, "Model: \t\t NVIDIA RTX Other\nIRQ: 1\n");
    assert_eq!(name(&tree).value().unwrap(), "NVIDIA RTX Other");
    let ids = Tree::new()
        .file(path, "Model: \t\t Unknown\n")
        .file("usr/share/misc/pci.ids", "10de  NVIDIA\n\t2bb1  GB Example\n");
    assert_eq!(name(&ids).value().unwrap(), "GB Example");
    assert!(name(&Tree::new()).value().is_none());
}

#[test]
fn the_aperture_is_the_largest_prefetchable_64_bit_bar() {
    let mut gpu = nvidia("0000:41:00.0", &["0000:40:01.0"]);
    gpu.bars = known(vec![
        Bar { index: 0, start: 0x8000_0000, end: 0x9fff_ffff, size: GIB / 2, ..Bar::default() },
        bar(2, 0x1000_0000_0000, 64 * GIB),
        bar(4, 0x2000_0000_0000, 32 << 20),
    ]);
    gpu.resizable = known(vec![Resizable { bar: 2, largest: 128 * GIB, sizes: vec![64 * GIB, 128 * GIB] }]);
    let mut root = port("0000:40:01.0", 0x1022, &[], Link::default());
    root.window = known(bar(15, 0x1000_0000_0000, 96 * GIB));
    let gpus = read(&[root, gpu.clone()]);
    assert_eq!(gpus[0].aperture.value().unwrap().index, 2);
    assert_eq!(gpus[0].aperture_bits.value(), Some(&45));
    assert_eq!(gpus[0].bar1.value(), Some(&(64 * GIB)));
    assert_eq!(gpus[0].bar1_largest.value(), Some(&(128 * GIB)));
    assert_eq!(gpus[0].window.value(), Some(&(96 * GIB)));

    gpu.bars = known(vec![bar(1, 0, 0), bar(3, 0x2000_0000_0000, 32 << 20)]);
    let lost = &read(&[gpu.clone()])[0];
    assert!(lost.aperture.value().unwrap().unassigned && lost.aperture_bits.is_absent());

    gpu.bars = Fact::unknown("resource", Why::Permission, "");
    let unread = &read(&[gpu])[0];
    assert!(unread.aperture.is_unknown() && unread.bar1.is_unknown() && unread.bar1_largest.is_unknown());
}

#[test]
fn bar1_and_vram_are_the_drivers_own_figures_first() {
    let tree = smi(&[(
        "0000:41:00.0",
        "    BAR1 Memory Usage\n        Total : 256 MiB\n    FB Memory Usage\n        Total : 24564 MiB\n",
    )]);
    let gpu = &read_in(&tree, &[nvidia("0000:41:00.0", &[])])[0];
    assert_eq!((gpu.bar1.value(), gpu.vram.value()), (Some(&(256 << 20)), Some(&(24564 << 20))));
    let other = &read_in(&tree, &[nvidia("0000:42:00.0", &[])])[0];
    assert_eq!(other.bar1.value(), Some(&(32 * GIB)));
    assert_eq!(other.vram.reason().unwrap().why, Why::NotCaptured);

    let at = "sys/bus/pci/devices/0000:07:00.0";
    let amd = Tree::new()
        .file(&format!("{at}/mem_info_vram_total"), "34208743424\n")
        .file(&format!("{at}/mem_info_vis_vram_total"), "268435456\n");
    let card = amd_card("0000:00:02.0", 5, link((3, 16), (5, 16)));
    let gpu = &read_in(&amd, &card)[0];
    assert_eq!((gpu.bar1.value(), gpu.vram.value()), (Some(&268_435_456), Some(&34_208_743_424)));
    assert!(read(&card)[0].vram.is_unknown());
}

#[test]
fn siblings_of_one_model_are_compared() {
    let mut small = nvidia("0000:42:00.0", &[]);
    small.bars = known(vec![bar(1, 0x80_0000_0000, GIB / 4)]);
    let mut other = nvidia("0000:43:00.0", &[]);
    other.device = known(0x1234);
    let gpus = read(&[nvidia("0000:41:00.0", &[]), small, other]);
    assert_eq!(gpus.iter().map(|g| g.sibling_bar1).collect::<Vec<_>>(), [32 * GIB, 32 * GIB, 0]);
}

#[test]
fn translation_follows_the_domain_type() {
    let words =
        [("DMA", "translated"), ("DMA-FQ", "translated"), ("identity", "identity"), ("blocked", "other")];
    for (kind, word) in words {
        let mut gpu = nvidia("0000:41:00.0", &[]);
        gpu.domain_type = known(kind.to_owned());
        assert_eq!(read(&[gpu])[0].translation.value().unwrap(), word);
    }
    let mut gpu = nvidia("0000:41:00.0", &[]);
    assert_eq!(read(&[gpu.clone()])[0].translation.value().unwrap(), "none");
    gpu.domain_type = Fact::unknown("type", Why::NotCaptured, "");
    assert!(read(&[gpu])[0].translation.is_unknown());
}

#[test]
fn an_idle_nvidia_gpu_is_not_judged_by_its_speed() {
    let root = port("0000:00:01.0", 0x8086, &[], link((1, 8), (5, 16)));
    let pci = [root, nvidia("0000:02:00.0", &["0000:00:01.0"])];
    let judged = |state: &str| read_in(&smi(&[("0000:02:00.0", state)]), &pci)[0].link.clone();
    let idle = judged("    Performance State : P8\n");
    assert!(!idle.speed_judgeable && idle.width_judgeable);
    assert!(idle.caveat.contains("idle"));
    assert_eq!((idle.generation.value(), idle.both_generation.value()), (Some(&1), Some(&5)));
    assert_eq!((idle.width.value(), idle.both_width.value()), (Some(&8), Some(&16)));
    assert!(judged("    Performance State : P0\n").speed_judgeable);
    assert!(!judged("").speed_judgeable);

    let mut full = pci.clone();
    full[1].link = link((5, 16), (5, 16));
    let full = read(&full)[0].link.clone();
    assert!(full.speed_judgeable && full.caveat.is_empty());
}

#[test]
fn what_both_ends_support_bounds_the_link() {
    let root = port("0000:00:01.0", 0x8086, &[], link((3, 8), (3, 8)));
    let mut gpu = nvidia("0000:02:00.0", &["0000:00:01.0"]);
    gpu.link = link((3, 8), (5, 16));
    let judged = read(&[root, gpu])[0].link.clone();
    assert_eq!((judged.both_generation.value(), judged.both_width.value()), (Some(&3), Some(&8)));
    assert!(judged.speed_judgeable);
}

#[test]
fn an_amd_card_is_judged_at_its_own_upstream_port() {
    let gpu = &read(&amd_card("0000:00:02.0", 5, link((1, 8), (5, 16))))[0];
    assert_eq!((gpu.root_port.as_str(), gpu.card_port.as_str()), ("0000:00:02.0", "0000:05:00.0"));
    assert_eq!(gpu.link.port, "0000:05:00.0");
    assert_eq!((gpu.link.generation.value(), gpu.link.width.value()), (Some(&1), Some(&8)));
    assert_eq!((gpu.link.both_generation.value(), gpu.link.both_width.value()), (Some(&3), Some(&16)));
    assert!(gpu.link.speed_judgeable && gpu.link.width_judgeable);
}

#[test]
fn amdgpus_own_view_fills_gaps_and_the_lower_of_two_counts() {
    let path = "sys/bus/pci/devices/0000:07:00.0/pp_dpm_pcie";
    let judged = |text: &str, state: Link| {
        read_in(&Tree::new().file(path, text), &amd_card("0000:00:02.0", 5, state))[0].link.clone()
    };
    let lower = judged("0: 8.0GT/s, x8 619Mhz *\n", link((3, 16), (5, 16)));
    assert_eq!(lower.width.value(), Some(&8));
    assert!(lower.caveat.contains("lanes: 16 in sysfs, 8 in pp_dpm_pcie"));
    let higher = judged("0: 16.0GT/s, x16 619Mhz *\n", link((3, 16), (5, 16)));
    assert_eq!(higher.generation.value(), Some(&3));
    assert!(higher.caveat.contains("generation"));
    let gap = judged("0: 8.0GT/s, x16 619Mhz *\n", Link::default());
    assert_eq!((gap.generation.value(), gap.width.value()), (Some(&3), Some(&16)));
    let silent = judged("", link((1, 16), (5, 16)));
    assert!(silent.caveat.contains("prints no link state"));
    assert!(silent.speed_judgeable);
}

#[test]
fn a_suspended_card_is_not_judged() {
    let mut pci = amd_card("0000:00:02.0", 5, link((1, 16), (5, 16)));
    pci[3].runtime_status = known("suspended".to_owned());
    let judged = read(&pci)[0].link.clone();
    assert!(!judged.speed_judgeable && judged.caveat.contains("suspended"));
}

#[test]
fn tunnels_and_guests_are_not_judged() {
    let mut pci = amd_card("0000:00:07.0", 5, link((1, 4), (1, 4)));
    pci[1].external = known(true);
    let gpu = &read(&pci)[0];
    assert!(gpu.external && !gpu.link.speed_judgeable && !gpu.link.width_judgeable);
    assert!(gpu.link.caveat.contains("tunnel"));

    // Thunderbolt bridges are known by their number where the kernel has no `removable`.
    let mut bridge = port("0000:03:00.0", 0x8086, &["0000:00:07.0"], link((1, 4), (1, 4)));
    bridge.device = known(0x15ef);
    bridge.external = Fact::absent("removable");
    let root = port("0000:00:07.0", 0x8086, &[], link((1, 4), (1, 4)));
    assert!(read(&[root, bridge, nvidia("0000:04:00.0", &["0000:00:07.0", "0000:03:00.0"])])[0].external);

    let guest = &read(&[nvidia("0000:00:05.0", &[])])[0];
    assert!(guest.link.caveat.contains("on the root bus") && !guest.link.width_judgeable);
    assert_eq!((guest.root_port.as_str(), guest.card_port.as_str()), ("", "0000:00:05.0"));
    assert!(guest.link.both_generation.is_absent() && guest.window.is_absent());
    assert_eq!(guest.ports_may_suspend.value().map(Vec::len), Some(0));

    let emulated = port("0000:00:02.0", 0x1b36, &[], link((1, 1), (4, 32)));
    let guest = &read(&[emulated, nvidia("0000:01:00.0", &["0000:00:02.0"])])[0];
    assert!(guest.link.caveat.contains("emulates") && !guest.link.width_judgeable);
}

#[test]
fn a_switch_of_the_board_is_not_the_card_and_its_uplink_counts_when_it_is_the_worse_link() {
    let way = ["0000:17:00.0", "0000:18:00.0", "0000:19:04.0"];
    let pci = |uplink: Link, card: Link| {
        let mut gpu = nvidia("0000:1a:00.0", &way);
        gpu.link = card;
        [
            port(way[0], 0x8086, &[], link((3, 16), (3, 16))),
            port(way[1], 0x10b5, &way[..1], uplink),
            port(way[2], 0x10b5, &way[..2], link((3, 16), (3, 16))),
            gpu,
        ]
    };
    let good = &read(&pci(link((3, 16), (3, 16)), link((3, 8), (3, 16))))[0];
    assert_eq!((good.card_port.as_str(), good.link.port.as_str()), ("0000:1a:00.0", "0000:1a:00.0"));
    assert_eq!((good.link.width.value(), good.link.both_width.value()), (Some(&8), Some(&16)));
    let narrow = &read(&pci(link((3, 4), (3, 16)), link((3, 16), (3, 16))))[0];
    assert_eq!((narrow.link.port.as_str(), narrow.link.width.value()), (way[1], Some(&4)));
    assert!(narrow.link.caveat.contains("uplink"));
}

#[test]
fn error_counters_of_the_way_are_added_up_and_named_by_port() {
    let mut pci = amd_card("0000:00:02.0", 5, link((3, 8), (5, 16)));
    assert!(read(&pci)[0].aer.is_absent());
    pci[0].aer = known(Aer { bad_tlp: 6000, correctable: 6000, ..Aer::default() });
    pci[1].aer = known(Aer { bad_tlp: 5, correctable: 5, ..Aer::default() });
    pci[3].aer = known(Aer::default());
    let aer = read(&pci)[0].aer.clone();
    assert_eq!((aer.value().unwrap().bad_tlp, aer.value().unwrap().correctable), (6005, 6005));
    let first = &aer.evidence()[0];
    assert_eq!(first.source, "sys/bus/pci/devices/0000:00:02.0/aer_dev_correctable");
    assert_eq!(first.text, "BadTLP 6000");

    pci[2].aer = Fact::unknown("aer", Why::Permission, "");
    assert!(read(&pci)[0].aer.value().is_some());
    pci[0].aer = known(Aer::default());
    pci[1].aer = known(Aer::default());
    assert!(read(&pci)[0].aer.is_unknown());
}

#[test]
fn power_aspm_and_acs_of_the_way() {
    let mut pci = amd_card("0000:00:02.0", 5, link((3, 16), (5, 16)));
    pci[0].power_control = known("auto".to_owned());
    pci[2].aspm_enabled = known(true);
    pci[0].acs = known(Acs { control: 0x1d, redirect: true });
    pci[2].acs = known(Acs { control: 0x11, redirect: false });
    let gpu = &read(&pci)[0];
    assert_eq!(gpu.ports_may_suspend.value().unwrap(), &["0000:00:02.0"]);
    assert_eq!(gpu.aspm_enabled.value(), Some(&true));
    assert_eq!(gpu.acs_redirect.value().unwrap(), &["0000:00:02.0"]);
    pci[2].acs = Fact::unknown("config", Why::Permission, "");
    assert!(read(&pci)[0].acs_redirect.is_unknown());
    pci[1].power_control = Fact::unknown("control", Why::Permission, "");
    assert!(read(&pci)[0].ports_may_suspend.value().is_some());
    pci[0].power_control = known("on".to_owned());
    assert!(read(&pci)[0].ports_may_suspend.is_unknown());
}

#[test]
fn kfd_peers_are_gpus_by_either_table_and_never_processors() {
    let nodes = "sys/class/kfd/kfd/topology/nodes";
    let node = |tree: Tree, id: i64, simd: i64, bus: i64| {
        let text = format!("simd_count {simd}\nlocation_id {}\ndomain 0\n", bus << 8);
        tree.file(&format!("{nodes}/{id}/properties"), text)
    };
    let link_to = |tree: Tree, place: &str, kind: i64, from: i64, to: i64, flags: i64| {
        let text = format!("type {kind}\nnode_from {from}\nnode_to {to}\nflags {flags}\n");
        tree.file(&format!("{nodes}/{place}/properties"), text)
    };
    let tree = node(node(node(node(Tree::new(), 0, 0, 0), 1, 64, 7), 2, 64, 9), 3, 64, 11);
    let tree = link_to(tree, "1/io_links/0", 2, 1, 0, 3);
    let tree = link_to(tree, "1/p2p_links/0", 2, 1, 0, 3);
    let mut pci = amd_card("0000:00:02.0", 5, Link::default());
    pci[3].bdf = "0000:07:00.0".to_owned();
    assert_eq!(read_in(&tree, &pci)[0].kfd_peers.value().map(Vec::len), Some(0));
    // The entry may stand in the directory of the peer; its own fields count.
    let tree = link_to(tree, "2/p2p_links/0", 2, 1, 2, 3);
    let tree = link_to(tree, "1/io_links/1", 11, 1, 3, 1);
    assert_eq!(read_in(&tree, &pci)[0].kfd_peers.value().unwrap(), &["0000:09:00.0", "0000:0b:00.0"]);
    // Flag 0x10: no peer-to-peer DMA.
    let tree = link_to(tree, "1/io_links/1", 11, 1, 3, 0x11);
    assert_eq!(read_in(&tree, &pci)[0].kfd_peers.value().unwrap(), &["0000:09:00.0"]);
    let cut = link_to(tree, "1/p2p_links/1", 2, 1, 9, 3);
    assert_eq!(read_in(&cut, &pci)[0].kfd_peers.reason().unwrap().why, Why::NotCaptured);
    let tree = cut.without(&format!("{nodes}/1/p2p_links/1"));
    let tree = tree.file(&format!("{nodes}/3/properties"), "damaged");
    assert!(read_in(&tree, &pci)[0].kfd_peers.is_unknown());
    assert!(read_in(&Tree::new().dir("sys/class"), &pci)[0].kfd_peers.is_absent());
}

#[test]
fn contradictory_trees_are_survived() {
    // Bridges that are not there, a device that is its own bridge, facts that are all unknown.
    let lost = nvidia("0000:02:00.0", &["0000:00:01.0"]);
    let gpu = &read(&[lost])[0];
    assert!(!gpu.link.width_judgeable && gpu.window.is_unknown() && gpu.acs_redirect.is_unknown());
    assert!(read(&[nvidia("0000:02:00.0", &["0000:02:00.0"])]).len() == 1);
    let bare = PciDevice {
        bdf: "x".to_owned(),
        class: known(0x03_0000),
        vendor: known(0x1002),
        ..PciDevice::default()
    };
    let gpu = &read(&[bare.clone(), bare])[1];
    assert!(gpu.link.generation.is_unknown() && gpu.aer.is_unknown() && gpu.bar1.is_unknown());
}
