//! amdgpu files and the KFD topology.

mod common;
use common::Tree;
use peerfix::host::amdgpu::{Amdgpu, AmdgpuDevice, KfdLink};
use peerfix::root::{Root, Why};
use std::os::unix::fs::PermissionsExt;

const NODES: &str = "sys/class/kfd/kfd/topology/nodes";

fn read(tree: &Tree) -> Amdgpu {
    Amdgpu::read(&Root::target(tree.path()).unwrap())
}

fn device(tree: &Tree) -> AmdgpuDevice {
    AmdgpuDevice::read(&Root::target(tree.path()).unwrap(), "sys/bus/pci/devices/0000:05:00.0")
}

fn node(tree: Tree, id: u32, text: &str) -> Tree {
    tree.file(&format!("{NODES}/{id}/properties"), text)
}

fn link(tree: Tree, place: &str, kind: i64, from: i64, to: i64) -> Tree {
    let text = format!("type {kind}\nversion_major 0\nnode_from {from}\nnode_to {to}\nweight 40\nflags 3\n");
    tree.file(&format!("{NODES}/{place}/properties"), text)
}

#[test]
fn nodes_are_decoded_with_their_links_from_both_tables() {
    let tree = node(Tree::new(), 0, "cpu_cores_count 16\nsimd_count 0\nlocation_id 0\n");
    let tree = node(
        tree,
        1,
        "simd_count 128\nlocation_id 1280\ndomain 0\nunique_id 18446744073709551615\nio_links_count 1\np2p_links_count 1\n",
    );
    // Bits 31 to 28 hold a partition.
    let tree = node(tree, 10, "simd_count 128\nlocation_id 268470536\ndomain 3\n");
    let tree = link(tree, "1/io_links/0", 2, 1, 0);
    let tree = link(tree, "1/p2p_links/0", 2, 10, 1);
    let amdgpu = read(&tree);
    let nodes = amdgpu.kfd.value().unwrap();
    let short: Vec<(i64, bool, &str)> = nodes.iter().map(|n| (n.id, n.is_gpu, n.bdf.as_str())).collect();
    assert_eq!(short, [(0, false, ""), (1, true, "0000:05:00.0"), (10, true, "0003:89:01.0")]);
    let links = nodes[1].links.value().unwrap();
    let p2p = KfdLink { table: "p2p".into(), kind: 2, from: 10, to: 1, flags: 3, weight: 40 };
    assert_eq!(links.len(), 2);
    assert_eq!(links[1], p2p);
}

#[test]
fn a_node_that_may_not_be_read_is_unknown_and_not_without_links() {
    let tree = node(Tree::new(), 1, "simd_count 1\nlocation_id 1280\n");
    let path = tree.path().join(NODES).join("1/properties");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::read(&path).is_ok() {
        return; // Root reads everything; the case cannot be made here.
    }
    let amdgpu = read(&tree);
    let nodes = amdgpu.kfd.value().unwrap();
    assert!(nodes[0].is_gpu);
    assert_eq!(nodes[0].links.reason().unwrap().why, Why::Permission);
}

#[test]
fn links_that_the_node_counts_must_all_be_there() {
    let tree = node(Tree::new(), 1, "simd_count 1\nlocation_id 1280\nio_links_count 0\np2p_links_count 2\n");
    let tree = link(tree, "1/p2p_links/0", 2, 1, 2);
    let amdgpu = read(&tree);
    let reason = amdgpu.kfd.value().unwrap()[0].links.reason().unwrap().clone();
    assert_eq!(reason.why, Why::NotCaptured);
    assert!(reason.detail.contains("counts 2 links, 1 are there"));
}

#[test]
fn damaged_nodes_leave_the_others_readable() {
    let tree = node(Tree::new(), 0, "simd_count 0\n");
    let tree = node(tree, 1, "simd_count many\n");
    let tree = node(tree, 2, "");
    let tree = tree.file(&format!("{NODES}/3/properties"), b"\xff\xfe").dir(&format!("{NODES}/4"));
    let tree = tree.file(&format!("{NODES}/5/properties"), vec![b'1'; 10 << 20]);
    let tree = tree.link(&format!("{NODES}/6"), "6").dir(&format!("{NODES}/name"));
    let amdgpu = read(&tree);
    let nodes = amdgpu.kfd.value().unwrap();
    assert_eq!(nodes.len(), 7);
    assert!(nodes[0].links.value().is_some());
    assert!(nodes[1..].iter().all(|n| n.links.is_unknown() && !n.is_gpu));
    assert_eq!(nodes[1].links.reason().unwrap().line, Some(1));
}

#[test]
fn kfd_is_absent_when_the_class_was_captured_without_it() {
    assert!(read(&Tree::new().dir("sys/class/net")).kfd.is_absent());
    assert_eq!(read(&Tree::new().dir("sys/bus")).kfd.reason().unwrap().why, Why::NotCaptured);
}

#[test]
fn pcie_p2p_is_a_parameter_of_the_loaded_module() {
    let path = "sys/module/amdgpu/parameters/pcie_p2p";
    assert_eq!(read(&Tree::new().file(path, "Y\n")).pcie_p2p.value(), Some(&true));
    assert_eq!(read(&Tree::new().file(path, "N\n")).pcie_p2p.value(), Some(&false));
    assert!(read(&Tree::new().dir("sys/module/i915")).pcie_p2p.is_absent());
}

#[test]
fn memory_sizes_and_the_starred_level_are_read() {
    let at = "sys/bus/pci/devices/0000:05:00.0";
    let tree = Tree::new()
        .file(&format!("{at}/mem_info_vram_total"), "34208743424\n")
        .file(&format!("{at}/mem_info_vis_vram_total"), "268435456\n")
        .file(
            &format!("{at}/pp_dpm_pcie"),
            "0: 2.5GT/s, x8 310Mhz \n1: 8.0GT/s, x8 619Mhz *\n2: 32.0GT/s, x16 900Mhz \n",
        );
    let amd = device(&tree);
    assert_eq!((amd.vram.value(), amd.visible_vram.value()), (Some(&34_208_743_424), Some(&268_435_456)));
    assert_eq!((amd.link_generation.value(), amd.link_width.value()), (Some(&3), Some(&8)));
    assert_eq!(amd.link_max_generation.value(), Some(&5));
    assert_eq!(amd.prints_link_state.value(), Some(&true));
    assert_eq!(amd.link_generation.evidence()[0].line, Some(2));
}

#[test]
fn a_card_that_prints_no_link_state_is_not_a_card_without_the_file() {
    let at = "sys/bus/pci/devices/0000:05:00.0";
    for text in ["", "\n", "0: 2.5GT/s, x8 310Mhz \n1: 16.0GT/s, x16 619Mhz \n"] {
        let amd = device(&Tree::new().file(&format!("{at}/pp_dpm_pcie"), text));
        assert_eq!(amd.prints_link_state.value(), Some(&false), "{text:?}");
        let reason = amd.link_generation.reason().unwrap();
        assert_eq!(reason.why, Why::Malformed);
        assert!(reason.detail.contains("prints no link state"));
    }
    let missing = device(&Tree::new().dir(at));
    assert!(missing.prints_link_state.is_absent() && missing.link_generation.is_absent());
}

#[test]
fn damaged_device_files_are_malformed() {
    let at = "sys/bus/pci/devices/0000:05:00.0";
    for text in [&b"\xff"[..], b"16 GT/s\n", b"0: 3.0GT/s, x16 1Mhz *\n", b"0: 8.0GT/s, x99 1Mhz *\n"] {
        let tree = Tree::new()
            .file(&format!("{at}/pp_dpm_pcie"), text)
            .file(&format!("{at}/mem_info_vram_total"), text);
        let amd = device(&tree);
        assert_eq!(amd.link_generation.reason().unwrap().why, Why::Malformed);
        assert!(amd.prints_link_state.is_unknown());
        assert_eq!(amd.vram.reason().unwrap().why, Why::Malformed);
    }
    let negative = Tree::new().file(&format!("{at}/mem_info_vram_total"), "-5\n");
    assert!(device(&negative).vram.is_unknown());
}
