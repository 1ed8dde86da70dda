//! Addressability: can the initiator's DMA mask reach the target's aperture
//! (`amdgpu_device_is_peer_accessible`, drivers/gpu/drm/amd/amdgpu/amdgpu_device.c).

use super::{Outcome, missing};
use crate::host::Host;
use crate::host::gpu::Gpu;

/// First release whose amdgpu looks at the domain type; before, the mask alone decides.
const IOMMU_AWARE: i64 = 6012;

/// Judges one direction: `initiator` reads and writes the aperture of `target`.
pub(super) fn judge(host: &Host, initiator: &Gpu, target: &Gpu) -> (Outcome, String) {
    let from = &initiator.bdf;
    let Some(&bits) = target.aperture_bits.value() else {
        return (
            Outcome::Unknown,
            missing(&format!("the aperture of {}", target.bdf), &target.aperture_bits),
        );
    };
    let mask = match initiator.dma_mask_bits.value() {
        Some(&mask) => mask,
        // The driver treats a missing mask as 32 bits.
        None if initiator.dma_mask_bits.is_absent() => 32,
        None => {
            return (Outcome::Unknown, missing(&format!("the DMA mask of {from}"), &initiator.dma_mask_bits));
        }
    };
    if bits <= mask {
        return (Outcome::Pass, format!("{bits} bits are needed and {from} drives {mask}"));
    }
    let numbers = format!(
        "the aperture of {} ends above {mask} bits ({bits} are needed) and {from} drives {mask}",
        target.bdf
    );
    match initiator.translation.value().map(String::as_str) {
        Some("translated") if host.kernel.version.value().is_some_and(|v| *v < IOMMU_AWARE) => (
            Outcome::Unknown,
            format!(
                "{numbers}; translated, but amdgpu before 6.12 tests the mask alone unless it was backported"
            ),
        ),
        Some("translated") => (Outcome::Pass, format!("{numbers}; a translating domain maps it lower")),
        Some(kind) => (Outcome::Fail, format!("{numbers}; domain: {kind}")),
        None if initiator.translation.is_absent() => {
            (Outcome::Fail, format!("{numbers}; {from} is behind no active IOMMU"))
        }
        None => {
            let what = missing(&format!("the IOMMU domain of {from}"), &initiator.translation);
            (Outcome::Unknown, format!("{numbers}; {what}"))
        }
    }
}
