//! Which drives and which memory are measured, and why the others are not.

use crate::bench::assemble::pcie_gb_s;
use crate::bench::choose::Refusal;
use crate::bench::protocol::{JobDrive, Task};
use crate::host::Host;
use crate::host::p2pmem::{self, Drive, P2pmem, Provider};
use crate::host::pci::Link;
use crate::root::{Fact, Root};

/// Bytes of a bulk transfer, where the memory is large enough. A processor reads device memory with some 8 MB/s where it
/// must wait for every word, and all that is transferred is looked at in full.
const BULK: u64 = 2 << 20;
const BULK_QUICK: u64 = 1 << 20;
/// The least: one page, which is also what `mmap` hands out, and the largest logical block that is supported.
const PAGE: u64 = 4096;
/// Pairs that are timed; all others are verified only.
const TIMED: usize = 6;

/// A device that takes part.
#[derive(Clone, Debug, Default)]
pub(super) struct Device {
    pub(super) job: JobDrive,
    /// Model; empty for a device that is no drive.
    pub(super) name: String,
    /// Serial number; empty for a device that is no drive.
    pub(super) serial: String,
    /// Bytes of memory for peers, used and free; 0 without any.
    pub(super) size: u64,
    pub(super) link: Link,
}

impl Device {
    /// GB/s of its link as it is; 0 when that is not known.
    pub(super) fn carries(&self) -> f64 {
        pcie_gb_s(number(&self.link.generation), number(&self.link.width))
    }
}

/// What is measured.
#[derive(Clone, Debug, Default)]
pub(super) struct Chosen {
    /// Devices by BDF.
    pub(super) drives: Vec<Device>,
    /// Ordered pairs, by place in `drives`.
    pub(super) ways: Vec<(usize, usize)>,
    pub(super) tasks: Vec<Task>,
}

/// A small number out of a fact; 0 when it is not known.
pub(super) fn number(fact: &Fact<i64>) -> u32 {
    fact.value().and_then(|value| u32::try_from(*value).ok()).unwrap_or(0)
}

/// Chooses devices and pairs. What was left out goes to `notes`; nothing left is a refusal that says why.
pub(super) fn choose(
    facts: &P2pmem,
    host: &Host,
    root: &Root,
    quick: bool,
    notes: &mut Vec<String>,
) -> Result<Chosen, Refusal> {
    let mut devices: Vec<Device> = Vec::new();
    for provider in facts.providers.value().into_iter().flatten() {
        match memory(provider, if quick { BULK_QUICK } else { BULK }) {
            Ok(memory) => {
                let device = place(&mut devices, &provider.bdf);
                device.size = bytes(&provider.size);
                device.job.memory = memory;
                device.job.allocate =
                    path(root, &format!("sys/bus/pci/devices/{}/p2pmem/allocate", provider.bdf));
            }
            Err(why) => notes.push(format!("{}: {why}", provider.bdf)),
        }
    }
    // A place on a drive is as long as the longest transfer from it.
    let longest = devices.iter().map(|device| device.job.memory).max().unwrap_or(PAGE);
    for drive in facts.drives.value().into_iter().flatten() {
        match namespace(drive, longest) {
            Ok((block, size)) => {
                let device = place(&mut devices, &drive.bdf);
                device.job.block = path(root, &format!("dev/{block}"));
                device.job.bytes = size;
                device.name = drive.model.value().cloned().unwrap_or_default();
                device.serial = drive.serial.value().cloned().unwrap_or_default();
            }
            Err(why) => notes.push(format!("{}: {why}", drive.bdf)),
        }
    }
    devices.sort_by(|a, b| a.job.bdf.cmp(&b.job.bdf));
    let readers = |device: &Device| device.job.block.is_some();
    let useful: Vec<bool> = devices
        .iter()
        .map(|device| {
            let others = || devices.iter().filter(|other| other.job.bdf != device.job.bdf);
            (readers(device) && others().any(|other| other.job.allocate.is_some()))
                || (device.job.allocate.is_some() && others().any(readers))
        })
        .collect();
    let mut useful = useful.into_iter();
    devices.retain(|_| useful.next().unwrap_or(false));
    for device in &mut devices {
        let function = host.pci.iter().find(|function| function.bdf == device.job.bdf);
        device.job.path = function.map(|function| function.upstream.clone()).unwrap_or_default();
        device.job.path.push(device.job.bdf.clone());
        device.link = p2pmem::link(root, &device.job.bdf);
    }
    let chosen = pairs(devices);
    if chosen.ways.is_empty() { Err(Refusal::Unsupported(refusal(facts, host, notes))) } else { Ok(chosen) }
}

fn pairs(drives: Vec<Device>) -> Chosen {
    let mut chosen = Chosen::default();
    let way = |from: usize, to: usize| {
        let reads = drives.get(from).is_some_and(|drive| drive.job.block.is_some());
        reads && drives.get(to).is_some_and(|drive| drive.job.allocate.is_some())
    };
    for a in 0..drives.len() {
        for b in 0..drives.len() {
            if a != b && way(a, b) {
                chosen.ways.push((a, b));
            }
            if a < b && (way(a, b) || way(b, a)) {
                let full = chosen.tasks.len() < TIMED;
                chosen.tasks.push(Task::Pair { a, b, full });
            }
        }
    }
    chosen.drives = drives;
    chosen
}

/// The device of this address, made when it is new.
fn place<'a>(devices: &'a mut Vec<Device>, bdf: &str) -> &'a mut Device {
    let at = devices.iter().position(|device| device.job.bdf == bdf).unwrap_or_else(|| {
        let job = JobDrive { bdf: bdf.to_owned(), ..JobDrive::default() };
        devices.push(Device { job, ..Device::default() });
        devices.len() - 1
    });
    &mut devices[at]
}

fn path(root: &Root, below: &str) -> Option<String> {
    root.base().join(below).to_str().map(ToOwned::to_owned)
}

fn bytes(fact: &Fact<i64>) -> u64 {
    fact.value().and_then(|value| u64::try_from(*value).ok()).unwrap_or(0)
}

/// Bytes to take of a provider's memory: a power of two, at most half of what is free (others may come for it), or why
/// none.
fn memory(provider: &Provider, most: u64) -> Result<u64, String> {
    if provider.allocate.is_absent() {
        return Err("its memory cannot be mapped: p2pmem/allocate is missing (Linux 6.2 and later have it)"
            .to_owned());
    }
    match provider.published.value() {
        Some(true) => {}
        Some(false) => return Err("its driver does not publish its memory for peers".to_owned()),
        None => {
            return Err(format!(
                "whether its memory is for peers is not known: {}",
                reason(&provider.published)
            ));
        }
    }
    if provider.available.value().is_none() {
        return Err(format!("how much of its memory is free is not known: {}", reason(&provider.available)));
    }
    let free = bytes(&provider.available);
    if free < PAGE {
        return Err(format!(
            "{free} bytes of its {} bytes of memory are free, {PAGE} are needed",
            bytes(&provider.size)
        ));
    }
    let half = (free / 2).max(PAGE);
    Ok(most.min(1 << half.ilog2()))
}

/// The first namespace that can be read without buffers and is large enough, with its bytes; or why none.
fn namespace(drive: &Drive, longest: u64) -> Result<(String, u64), String> {
    let mut why = format!("{} has no namespace that is a block device", drive.controller);
    for space in &drive.namespaces {
        let size = bytes(&space.bytes);
        match space.logical_block.value() {
            None => {
                why = format!(
                    "{}: its logical block is not known: {}",
                    space.block,
                    reason(&space.logical_block)
                );
            }
            Some(block) if !(1..=4096).contains(block) => {
                why = format!("{}: logical blocks of {block} bytes; up to {PAGE} are supported", space.block);
            }
            _ if space.shared => {
                why = format!(
                    "{}: another controller leads to it as well, so the path is not known",
                    space.block
                );
            }
            _ if size < longest => {
                why = format!("{}: {size} bytes, less than one transfer of {longest}", space.block);
            }
            _ => return Ok((space.block.clone(), size)),
        }
    }
    Err(why)
}

fn reason<T>(fact: &Fact<T>) -> String {
    fact.reason().map_or_else(|| "not there".to_owned(), ToString::to_string)
}

/// Why there is no pair.
fn refusal(facts: &P2pmem, host: &Host, notes: &[String]) -> String {
    let mut why = vec!["no drive can read into memory of another device".to_owned()];
    why.extend(p2pmem::missing(
        "devices with memory for peers (p2pmem, such as the CMB of a drive)",
        &facts.providers,
    ));
    why.extend(p2pmem::missing("NVMe drives", &facts.drives));
    if host.kernel.config.pci_p2pdma.is_absent() {
        why.push("this kernel is built without CONFIG_PCI_P2PDMA".to_owned());
    }
    why.extend_from_slice(notes);
    why.join("; ")
}
