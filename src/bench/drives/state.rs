//! The state of one device in a record.

use super::choose::{Device, number};
use crate::bench::record::{GpuState, LinkSample};
use crate::bench::state::{domain, salted};
use crate::host::Host;
use crate::host::p2pmem;
use crate::pairs::by_bridges;
use crate::root::Root;

/// A device as the record has it. A device that is no drive has neither name nor identity.
pub(super) fn device(device: &Device, host: &Host, salt: &str) -> GpuState {
    let facts = host.pci.iter().find(|function| function.bdf == device.job.bdf);
    let name = if device.name.is_empty() { "device with memory for peers" } else { &device.name };
    GpuState {
        bdf: device.job.bdf.clone(),
        uuid_hash: salted(salt, &device.serial),
        name: name.to_owned(),
        memory: device.size,
        domain_type: facts.and_then(|function| domain(&function.domain_type)),
        link_max: LinkSample {
            generation: number(&device.link.max_generation),
            width: number(&device.link.max_width),
            pstate: -1,
        },
        ..GpuState::default()
    }
}

/// `PIX`, `PXB`, or `PHB` where both have no bridge in common and are below one root bus; else `SYS`. Empty when the
/// bridges are not known.
pub(super) fn route(from: &Device, to: &Device) -> String {
    let bridges =
        |device: &Device| device.job.path.split_last().map(|(_, above)| above.to_vec()).unwrap_or_default();
    let (a, b) = (bridges(from), bridges(to));
    if let Some(level) = by_bridges(&a, &b) {
        return level.to_owned();
    }
    let (Some(a), Some(b)) = (a.first(), b.first()) else { return String::new() };
    let bus = |bdf: &str| bdf.rsplit_once(':').map(|(bus, _)| bus.to_owned());
    if bus(a) == bus(b) { "PHB" } else { "SYS" }.to_owned()
}

/// The link of a device at this moment.
pub(in crate::bench) fn link_now(root: &Root, bdf: &str) -> LinkSample {
    let link = p2pmem::link(root, bdf);
    LinkSample { generation: number(&link.generation), width: number(&link.width), pstate: -1 }
}
