//! ACS redirect on the path of a pair below a shared bridge (`calc_map_type_and_dist`, drivers/pci/p2pdma.c).

use crate::host::Host;
use crate::host::gpu::Gpu;

/// Redirecting ports of one pair.
#[derive(Debug, Default)]
pub(super) struct Redirect {
    pub ports: Vec<String>,
    pub models: Vec<String>,
    pub unreadable: bool,
}

/// Every function from each GPU up to the shared bridge, the bridge itself once: the kernel counts the shared
/// bridge on the provider's side, and an endpoint's own ACS as well.
pub(super) fn below_shared_bridge(host: &Host, a: &Gpu, b: &Gpu) -> Redirect {
    let mut found = Redirect::default();
    let Some(common) = a.upstream.iter().rev().find(|bridge| b.upstream.contains(bridge)) else {
        return found;
    };
    let below = |gpu: &Gpu| -> Vec<String> {
        let bridges = gpu.upstream.iter().rev().take_while(|bridge| *bridge != common).cloned();
        std::iter::once(gpu.bdf.clone()).chain(bridges).collect()
    };
    for bdf in below(a).into_iter().chain([common.clone()]).chain(below(b)) {
        let Some(device) = host.pci.iter().find(|d| d.bdf == bdf) else {
            found.unreadable = true;
            continue;
        };
        match device.acs.value() {
            Some(acs) if acs.redirect => {
                if let (Some(vendor), Some(id)) = (device.vendor.value(), device.device.value()) {
                    let model = format!("pci:{vendor:04x}:{id:04x}");
                    if !found.models.contains(&model) {
                        found.models.push(model);
                    }
                }
                found.ports.push(bdf);
            }
            Some(_) => {}
            None => found.unreadable |= device.acs.is_unknown(),
        }
    }
    found
}
