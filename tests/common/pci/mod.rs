//! A fluent builder for the PCI part of sysfs, laid out as the kernel lays it out
//! (`drivers/pci/pci-sysfs.c`, `drivers/iommu/iommu.c`): directories below `sys/devices/pciDDDD:BB`, links
//! from `sys/bus/pci/devices`, drivers and IOMMU groups.

mod config;
mod function;
mod groups;
mod sysfs;

pub use function::{Aer, Function, Link, Port, Region};

use super::Tree;

/// Mebibytes in bytes.
pub const MIB: u64 = 1 << 20;
/// Gibibytes in bytes.
pub const GIB: u64 = 1 << 30;

/// Active remapping units of one host.
#[derive(Clone, Copy, Debug)]
pub enum Iommu {
    /// VT-d units with this `intel-iommu/ecap`; bit 6 is pass-through support.
    Intel {
        /// Extended capability register.
        ecap: u64,
        /// Type of every group without its own (`DMA-FQ`, `identity`).
        domain: &'static str,
    },
    /// AMD-Vi units, one per function of class 0x080600.
    Amd {
        /// Type of every group without its own.
        domain: &'static str,
    },
}

/// All root buses of one host.
#[derive(Clone, Debug)]
pub struct Pci {
    buses: Vec<(String, Vec<Function>)>,
    iommu: Option<Iommu>,
    /// Config space beyond 64 bytes was readable.
    root: bool,
    /// Linux owns AER.
    aer: bool,
}

impl Pci {
    /// A host without any root bus and without IOMMU, captured by root, Linux owning AER.
    pub fn new() -> Self {
        Self { buses: Vec::new(), iommu: None, root: true, aer: true }
    }

    /// Adds a root bus `DDDD:BB` on a NUMA node (-1 for none).
    pub fn bus(mut self, bus: &str, numa: i32, functions: Vec<Function>) -> Self {
        let functions = functions.into_iter().map(|f| f.on_node(numa)).collect();
        self.buses.push((bus.to_owned(), functions));
        self
    }

    /// Active DMA remapping: every function gets a group.
    pub fn iommu(mut self, iommu: Option<Iommu>) -> Self {
        self.iommu = iommu;
        self
    }

    /// Captured without root: config space is cut at 64 bytes.
    pub fn without_root(mut self) -> Self {
        self.root = false;
        self
    }

    /// Firmware keeps AER, or the machine is virtual: no counters anywhere.
    pub fn without_aer(mut self) -> Self {
        self.aer = false;
        self
    }

    /// Writes everything into `tree`.
    pub fn write(&self, tree: Tree) -> Tree {
        let mut tree = tree.dir("sys/bus/pci/devices").dir("sys/bus/pci/drivers");
        let mut placed = Vec::new();
        for (bus, functions) in &self.buses {
            let base = format!("sys/devices/pci{bus}");
            tree = tree.dir(&base);
            for function in functions {
                tree = sysfs::write(tree, self, function, &base, &mut placed);
            }
        }
        groups::write(tree, self.iommu, &placed)
    }
}
