//! Remapping units and IOMMU groups.

use super::Iommu;
use super::sysfs::{Placed, up};
use crate::common::Tree;

/// Writes `sys/class/iommu` and `sys/kernel/iommu_groups`; both are empty directories without an IOMMU, as
/// the kernel leaves them.
pub(super) fn write(tree: Tree, iommu: Option<Iommu>, placed: &[Placed]) -> Tree {
    let mut tree = tree.dir("sys/class/iommu").dir("sys/kernel/iommu_groups");
    let Some(iommu) = iommu else { return tree };
    let domain = match iommu {
        Iommu::Intel { ecap, domain } => {
            for (name, address) in [("dmar0", "fc800000"), ("dmar1", "fc810000")] {
                tree = intel_unit(tree, name, address, ecap);
            }
            domain
        }
        Iommu::Amd { domain } => {
            for (index, unit) in placed.iter().filter(|p| p.class == 0x08_0600).enumerate() {
                tree = amd_unit(tree, index, &unit.path);
            }
            domain
        }
    };
    let mut group = 0;
    let mut slot = "";
    for function in placed.iter().filter(|p| p.class != 0x08_0600) {
        // Functions of one slot share a group: they could reach each other inside the device.
        let same = slot == &function.bdf[..10] && function.class >> 8 != 0x0604;
        group += i32::from(!same && !slot.is_empty());
        slot = &function.bdf[..10];
        let home = format!("sys/kernel/iommu_groups/{group}");
        if !same {
            tree = tree
                .file(&format!("{home}/type"), format!("{}\n", function.domain.unwrap_or(domain)))
                .file(&format!("{home}/reserved_regions"), "0x00000000fee00000 0x00000000feefffff msi\n");
        }
        tree = tree
            .link(
                &format!("{home}/devices/{}", function.bdf),
                &format!("../../../../{}", &function.path[4..]),
            )
            .link(
                &format!("{}/iommu_group", function.path),
                &format!("{}kernel/iommu_groups/{group}", up(&function.path)),
            );
    }
    tree
}

fn intel_unit(tree: Tree, name: &str, address: &str, ecap: u64) -> Tree {
    let unit = format!("sys/devices/virtual/iommu/{name}");
    tree.file(&format!("{unit}/intel-iommu/address"), format!("{address}\n"))
        .file(&format!("{unit}/intel-iommu/cap"), "d2008c40660462\n")
        .file(&format!("{unit}/intel-iommu/ecap"), format!("{ecap:x}\n"))
        .file(&format!("{unit}/intel-iommu/version"), "7:0\n")
        .link(&format!("sys/class/iommu/{name}"), &format!("../../devices/virtual/iommu/{name}"))
}

fn amd_unit(tree: Tree, index: usize, path: &str) -> Tree {
    let unit = format!("{path}/iommu/ivhd{index}");
    tree.file(&format!("{unit}/amd-iommu/cap"), "40000\n")
        .file(&format!("{unit}/amd-iommu/features"), "246577efa2254afa:0\n")
        .link(&format!("sys/class/iommu/ivhd{index}"), &format!("../../{}/iommu/ivhd{index}", &path[4..]))
}
