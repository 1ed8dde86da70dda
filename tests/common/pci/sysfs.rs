//! The directory of one function, and the links to it.

use super::config;
use super::function::{Aer, Function, Link, Port, Region};
use super::{MIB, Pci};
use crate::common::Tree;
use std::fmt::Write as _;

/// A function that was written: its directory and its own group type.
pub(super) struct Placed {
    pub(super) bdf: String,
    pub(super) path: String,
    pub(super) class: u32,
    pub(super) domain: Option<&'static str>,
}

/// `../` from inside `path` up to `sys`.
pub(super) fn up(path: &str) -> String {
    "../".repeat(path.matches('/').count())
}

/// Writes `function` below `base` and everything below it.
pub(super) fn write(
    tree: Tree,
    pci: &Pci,
    function: &Function,
    base: &str,
    placed: &mut Vec<Placed>,
) -> Tree {
    let path = format!("{base}/{}", function.bdf);
    let file = |name: &str| format!("{path}/{name}");
    let express = function.port != Port::Conventional;
    let mut tree = tree
        .file(&file("class"), format!("0x{:06x}\n", function.class))
        .file(&file("vendor"), format!("0x{:04x}\n", function.vendor))
        .file(&file("device"), format!("0x{:04x}\n", function.device))
        .file(&file("subsystem_vendor"), format!("0x{:04x}\n", function.subsystem.0))
        .file(&file("subsystem_device"), format!("0x{:04x}\n", function.subsystem.1))
        .file(&file("numa_node"), format!("{}\n", function.numa))
        .file(&file("dma_mask_bits"), format!("{}\n", function.dma_mask))
        .file(&file("consistent_dma_mask_bits"), format!("{}\n", function.dma_mask))
        .file(&file("resource"), resource(function))
        .file(&file("config"), config::bytes(function, pci.root, pci.aer && express))
        .file(&file("power/control"), format!("{}\n", function.control))
        .file(&file("power/runtime_status"), format!("{}\n", function.status));
    if let Some(link) = function.link {
        tree = link_files(tree, &path, link);
    }
    if pci.aer && express {
        tree = aer_files(tree, &path, function);
    }
    for (bar, sizes) in &function.resize {
        tree = tree.file(&file(&format!("resource{bar}_resize")), format!("{sizes:016x}\n"));
    }
    if let Some(on) = function.l1 {
        tree = tree.file(&file("link/l1_aspm"), format!("{}\n", u8::from(on)));
    }
    if function.external {
        tree = tree.file(&file("removable"), "removable\n");
    }
    if let Some(first) = function.boot_vga {
        tree = tree.file(&file("boot_vga"), format!("{}\n", u8::from(first)));
    }
    if !function.children.is_empty() {
        tree = tree
            .file(&file("secondary_bus_number"), format!("{}\n", function.children[0].bus()))
            .file(&file("subordinate_bus_number"), format!("{}\n", function.subordinate()));
    }
    for (name, content) in &function.files {
        tree = tree.file(&file(name), content);
    }
    if let Some(driver) = &function.driver {
        let to = format!("sys/bus/pci/drivers/{driver}");
        tree = tree
            .link(&file("driver"), &format!("{}bus/pci/drivers/{driver}", up(&path)))
            .link(&format!("{to}/{}", function.bdf), &format!("../../../../{}", &path[4..]));
    }
    tree = tree.link(&format!("sys/bus/pci/devices/{}", function.bdf), &format!("../../../{}", &path[4..]));
    placed.push(Placed {
        bdf: function.bdf.clone(),
        path: path.clone(),
        class: function.class,
        domain: function.domain,
    });
    for child in &function.children {
        tree = write(tree, pci, child, &path, placed);
    }
    tree
}

/// `resource`: BARs, ROM and six SR-IOV lines, then four windows for a device with a secondary bus.
fn resource(function: &Function) -> String {
    let mut lines: Vec<Option<Region>> = function.regions.to_vec();
    lines.extend([None; 6]);
    if function.class == 0x06_0400 {
        let io = Region { start: 0x4000, size: 0x1000, flags: 0x101 };
        let memory = hull(&function.needed(false), 0x200);
        let prefetch = function.window.or_else(|| hull(&function.needed(true), 0x10_2201));
        lines.extend([(!function.children.is_empty()).then_some(io), memory, prefetch, None]);
    }
    let mut text = String::new();
    for line in lines {
        let (start, end, flags) = match line {
            Some(r) if r.flags & Region::UNSET != 0 => (0, r.size - 1, r.flags),
            Some(r) => (r.start, r.end(), r.flags),
            None => (0, 0, 0),
        };
        writeln!(text, "0x{start:016x} 0x{end:016x} 0x{flags:016x}").unwrap();
    }
    text
}

/// The window around `regions`, on whole mebibytes as bridges decode them.
fn hull(regions: &[Region], flags: u64) -> Option<Region> {
    let start = regions.iter().map(|r| r.start).min()? / MIB * MIB;
    let end = regions.iter().map(|r| r.end()).max()? / MIB * MIB + MIB;
    Some(Region { start, size: end - start, flags })
}

/// Link attributes as kernels since 5.7 print them.
fn link_files(tree: Tree, path: &str, link: Link) -> Tree {
    let speed = |generation: u8| match generation {
        1 => "2.5 GT/s PCIe\n",
        2 => "5.0 GT/s PCIe\n",
        3 => "8.0 GT/s PCIe\n",
        4 => "16.0 GT/s PCIe\n",
        5 => "32.0 GT/s PCIe\n",
        6 => "64.0 GT/s PCIe\n",
        _ => "Unknown\n",
    };
    tree.file(&format!("{path}/current_link_speed"), speed(link.generation))
        .file(&format!("{path}/current_link_width"), format!("{}\n", link.width))
        .file(&format!("{path}/max_link_speed"), speed(link.max_generation))
        .file(&format!("{path}/max_link_width"), format!("{}\n", link.max_width))
}

/// Counters of one device, and the totals of a root port.
fn aer_files(tree: Tree, path: &str, function: &Function) -> Tree {
    let Aer { bad_tlp, bad_dllp, rollover, timeout, surprise_down } = function.aer;
    let correctable = bad_tlp + bad_dllp + rollover + timeout;
    let tree = tree
        .file(
            &format!("{path}/aer_dev_correctable"),
            format!(
                "RxErr 0\nBadTLP {bad_tlp}\nBadDLLP {bad_dllp}\nRollover {rollover}\nTimeout {timeout}\n\
                 NonFatalErr 0\nCorrIntErr 0\nHeaderOF 0\nTOTAL_ERR_COR {correctable}\n"
            ),
        )
        .file(&format!("{path}/aer_dev_nonfatal"), uncorrectable("NONFATAL", 0))
        .file(&format!("{path}/aer_dev_fatal"), uncorrectable("FATAL", surprise_down));
    if function.port != Port::Root {
        return tree;
    }
    tree.file(&format!("{path}/aer_rootport_total_err_cor"), format!("{correctable}\n"))
        .file(&format!("{path}/aer_rootport_total_err_nonfatal"), "0\n")
        .file(&format!("{path}/aer_rootport_total_err_fatal"), format!("{surprise_down}\n"))
}

fn uncorrectable(kind: &str, surprise_down: u64) -> String {
    let zero = [
        "TLP",
        "FCP",
        "CmpltTO",
        "CmpltAbrt",
        "UnxCmplt",
        "RxOF",
        "MalfTLP",
        "ECRC",
        "UnsupReq",
        "ACSViol",
        "UncorrIntErr",
        "BlockedTLP",
        "AtomicOpBlocked",
        "TLPBlockedErr",
        "PoisonTLPBlocked",
    ];
    let mut text = format!("Undefined 0\nDLP 0\nSDES {surprise_down}\n");
    for name in zero {
        writeln!(text, "{name} 0").unwrap();
    }
    writeln!(text, "TOTAL_ERR_{kind} {surprise_down}").unwrap();
    text
}
