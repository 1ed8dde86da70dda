//! Whole hosts, one file per board. Every function gives an ordinary [`Tree`] that a test may change further.

mod large;
mod rtx4090;
mod traps;
mod turin;
mod x570;
mod x99;
mod z890;

pub use large::*;
pub use rtx4090::*;
pub use traps::*;
pub use turin::*;
pub use x99::*;
pub use x570::*;
pub use z890::*;

use super::Tree;
use super::pci::{Function, Link};

/// A name and what builds the host.
pub type Host = (&'static str, fn() -> Tree);

/// Every host by name, for tests that hold for all of them.
pub const ALL: &[Host] = &[
    ("z890", z890),
    ("z890_clean", z890_clean),
    ("z890_pt_without_passthrough_support", z890_pt_without_passthrough_support),
    ("z890_vfio", z890_vfio),
    ("z890_thunderbolt", z890_thunderbolt),
    ("z890_pt_but_translated", z890_pt_but_translated),
    ("z890_iommu_off_with_32bit_devices", z890_iommu_off_with_32bit_devices),
    ("z890_stray_writes", z890_stray_writes),
    ("z890_nic_faults", z890_nic_faults),
    ("x99", x99),
    ("x99_haswell", x99_haswell),
    ("x99_low_aperture", x99_low_aperture),
    ("x99_translated", x99_translated),
    ("turin_stock", turin_stock),
    ("turin_stock_580", || turin_stock_on("580.95.05")),
    ("turin_stock_570", || turin_stock_on("570.172.08")),
    ("turin_tuned", turin_tuned),
    ("turin_one_small_bar", turin_one_small_bar),
    ("turin_noop_tokens", turin_noop_tokens),
    ("x570_active", x570_active),
    ("x570_inactive", x570_inactive),
    ("two_4090_stock", two_4090_stock),
    ("two_4090_patched", two_4090_patched),
    ("two_4090_nouveau", two_4090_nouveau),
    ("laptop_igpu_dgpu", laptop_igpu_dgpu),
    ("single_gpu", single_gpu),
    ("guest_passthrough", guest_passthrough),
    ("wsl", wsl),
    ("display_only_card", display_only_card),
    ("translated_policy_without_groups", translated_policy_without_groups),
    ("large", large),
];

/// Sizes from 64 MiB to 2^`most` MiB as the Resizable BAR capability lists them.
pub fn sizes_up_to(most: u32) -> u64 {
    ((1 << (most + 1)) - 1) & !0x3f
}

/// An NVIDIA card: registers in BAR0, memory in BAR1, 32 MiB behind it in BAR3.
pub fn nvidia_card(bdf: &str, device: u16, registers: u64, bar1: (u64, u64), link: Link) -> Function {
    use super::pci::MIB;
    Function::endpoint(bdf, 0x10de, device, 0x03_0000, link)
        .subsystem(0x10de, 0x204b)
        .driver("nvidia")
        .dma_mask(52)
        .bar32(0, registers, 64 * MIB)
        .bar64(1, bar1.0, bar1.1)
        .bar64(3, bar1.0 + bar1.1, 32 * MIB)
}
