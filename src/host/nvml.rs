//! What NVML says on the live machine, in the types of captured `nvidia-smi` output.

use super::nvidia_smi::{NvidiaSmi, SmiGpu, SmiNvlink, SmiPair};
use crate::gpu::nvml::{Answer, Nvml, NvmlGpu, NvmlRefusal};
use crate::root::{Evidence, Fact, Why};
use std::sync::mpsc::channel;
use std::time::Duration;

/// The name that evidence uses.
const SOURCE: &str = "nvml";
/// A driver that hangs must not hang every command.
const LIMIT: Duration = Duration::from_secs(20);

/// Asks the driver. Without the library every fact is unknown and says what the loader said.
pub(super) fn read() -> NvidiaSmi {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        // Nobody listens any more after the limit.
        let _ = send.send(ask());
    });
    receive.recv_timeout(LIMIT).unwrap_or_else(|_| {
        unknown(&format!("the NVIDIA driver does not answer within {} s", LIMIT.as_secs()))
    })
}

fn ask() -> NvidiaSmi {
    let nvml = match Nvml::open() {
        Ok(nvml) => nvml,
        Err(why) => return unknown(&why.to_string()),
    };
    let count = match nvml.count() {
        Ok(count) => count,
        Err(why) => return unknown(&why.to_string()),
    };
    let gpus: Vec<(i64, NvmlGpu<'_>)> =
        (0..count).filter_map(|index| Some((i64::from(index), nvml.gpu(index).ok()?))).collect();
    let found = Evidence::new(SOURCE, format!("{count} GPUs"));
    let pairs = |ask: &dyn Fn(u32, u32) -> Answer<String>| pairs(&gpus, ask);
    NvidiaSmi {
        gpus: Fact::known(gpus.iter().filter_map(|(_, gpu)| one(gpu)).collect(), found),
        driver_version: fact(nvml.driver_version(), "driver version"),
        topology: pairs(&|a, b| topology(&nvml, a, b)),
        p2p_read: pairs(&|a, b| Ok(nvml.gpu(a)?.p2p(&nvml.gpu(b)?, false)?.to_owned())),
        p2p_write: pairs(&|a, b| Ok(nvml.gpu(a)?.p2p(&nvml.gpu(b)?, true)?.to_owned())),
        nvlinks: nvlinks(&gpus),
    }
}

fn one(gpu: &NvmlGpu<'_>) -> Option<SmiGpu> {
    let bdf = gpu.bdf().ok()?;
    let say = |what: &str| format!("{bdf} {what}");
    Some(SmiGpu {
        name: fact(gpu.name(), &say("name")),
        vram: fact(gpu.memory().map(signed), &say("memory")),
        bar1: fact(gpu.bar1().map(signed), &say("BAR1")),
        addressing_mode: Fact::unknown(
            SOURCE,
            Why::NotCaptured,
            "NVML is not asked for the addressing mode; `nvidia-smi -q` prints it",
        ),
        display_active: fact(gpu.display_active(), &say("display active")),
        mig: fact(gpu.mig(), &say("MIG")),
        pstate: fact(gpu.pstate().map(i64::from), &say("performance state")),
        virtualization: fact(gpu.virtualization().map(str::to_owned), &say("virtualization")),
        bdf,
    })
}

/// One cell for each ordered pair; one refusal makes the whole matrix unknown, as a missing file would.
fn pairs(gpus: &[(i64, NvmlGpu<'_>)], ask: &dyn Fn(u32, u32) -> Answer<String>) -> Fact<Vec<SmiPair>> {
    let mut cells = Vec::new();
    for (from, _) in gpus {
        for (to, _) in gpus.iter().filter(|(to, _)| to != from) {
            let index = |value: i64| u32::try_from(value).unwrap_or(u32::MAX);
            match ask(index(*from), index(*to)) {
                Ok(value) => cells.push(SmiPair { from: *from, to: *to, value }),
                Err(why) => return Fact::unknown(SOURCE, Why::Unreadable, why.to_string()),
            }
        }
    }
    let evidence = cells.iter().map(|cell| {
        Evidence::new(SOURCE, format!("GPU {} to GPU {}: {}", cell.from, cell.to, cell.value))
    });
    let evidence = evidence.collect();
    Fact::from_lines(cells, evidence)
}

/// `NV18` where NVLinks lead from one to the other (or to a switch), else the level of PCIe.
fn topology(nvml: &Nvml, a: u32, b: u32) -> Answer<String> {
    let (from, to) = (nvml.gpu(a)?, nvml.gpu(b)?);
    let other = to.bdf()?;
    let links = from.nvlinks();
    let active = || links.iter().filter(|link| link.active);
    let direct = active().filter(|link| link.bdf.as_deref() == Some(other.as_str())).count();
    let gpus: Vec<String> =
        (0..nvml.count()?).filter_map(|index| nvml.gpu(index).ok()?.bdf().ok()).collect();
    let to_gpus = active().any(|link| link.bdf.as_ref().is_some_and(|bdf| gpus.contains(bdf)));
    let through_switch = if to_gpus { 0 } else { active().count() };
    match direct.max(through_switch) {
        0 => Ok(from.topology(to)?.word().to_owned()),
        links => Ok(format!("NV{links}")),
    }
}

fn nvlinks(gpus: &[(i64, NvmlGpu<'_>)]) -> Fact<Vec<SmiNvlink>> {
    let mut found = Vec::new();
    let mut evidence = Vec::new();
    for (index, gpu) in gpus {
        let links = gpu.nvlinks();
        let speed = gpu.nvlink_mb_s().map(signed).unwrap_or(0);
        let active = links.iter().filter(|link| link.active).count();
        evidence.push(Evidence::new(
            SOURCE,
            format!("GPU {index}: {active} of {} NVLinks active, {speed} MB/s each", links.len()),
        ));
        found.extend(links.into_iter().map(|link| SmiNvlink {
            gpu: *index,
            link: i64::from(link.link),
            active: link.active,
            mb_per_s: if link.active { speed } else { 0 },
        }));
    }
    Fact::from_lines(found, evidence)
}

/// What is not supported is absent; every other refusal is unknown.
fn fact<T: std::fmt::Display>(answer: Answer<T>, what: &str) -> Fact<T> {
    match answer {
        Ok(value) => {
            let text = format!("{what}: {value}");
            Fact::known(value, Evidence::new(SOURCE, text))
        }
        Err(NvmlRefusal::NotSupported) => Fact::absent(format!("{SOURCE}: {what}")),
        Err(NvmlRefusal::Failed(why)) => Fact::unknown(SOURCE, Why::Unreadable, format!("{what}: {why}")),
    }
}

fn unknown(why: &str) -> NvidiaSmi {
    fn none<T>(why: &str) -> Fact<T> {
        Fact::unknown(SOURCE, Why::Unreadable, why)
    }
    NvidiaSmi {
        gpus: none(why),
        driver_version: none(why),
        topology: none(why),
        p2p_read: none(why),
        p2p_write: none(why),
        nvlinks: none(why),
    }
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
