//! What NVML says on the live machine, in the types of captured `nvidia-smi` output.
//!
//! A few hundred calls of microseconds each. PCIe throughput is not asked for: each question takes 20 ms.

use super::nvidia_smi::{NvidiaSmi, SmiGpu, SmiNvlink, SmiPair};
use crate::gpu::nvml::{Answer, Nvml, NvmlGpu, NvmlRefusal, Remote};
use crate::root::{Evidence, Fact, Why};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// The name that evidence uses.
const SOURCE: &str = "nvml";
/// A driver that hangs must not hang every command. The first question after a while makes the driver start
/// the GPUs, about a second each.
const LIMIT: Duration = Duration::from_secs(20);

/// Asks the driver. Without the library every fact is unknown and says what the loader said.
pub fn read() -> NvidiaSmi {
    read_within(LIMIT)
}

/// The same with another limit.
pub fn read_within(limit: Duration) -> NvidiaSmi {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        // Nobody listens any more after the limit.
        let _ = send.send(ask());
    });
    match receive.recv_timeout(limit) {
        Ok(smi) => smi,
        Err(RecvTimeoutError::Timeout) => {
            unknown(&format!("the NVIDIA driver does not answer within {} s", limit.as_secs_f64()))
        }
        Err(RecvTimeoutError::Disconnected) => unknown("an answer of the NVIDIA driver could not be read"),
    }
}

/// A GPU that answers.
struct Seen<'a> {
    index: i64,
    gpu: NvmlGpu<'a>,
    bdf: String,
    links: Vec<Remote>,
}

fn ask() -> NvidiaSmi {
    let (nvml, count) = match Nvml::open().and_then(|nvml| nvml.count().map(|count| (nvml, count))) {
        Ok(opened) => opened,
        Err(why) => return unknown(&why.to_string()),
    };
    let mut evidence = vec![Evidence::new(SOURCE, format!("{count} GPUs"))];
    let mut seen: Vec<Seen<'_>> = Vec::new();
    for index in 0..count {
        match nvml.gpu(index).and_then(|gpu| gpu.bdf().map(|bdf| (gpu, bdf))) {
            Ok((gpu, bdf)) => {
                let links = gpu.nvlinks();
                seen.push(Seen { index: i64::from(index), gpu, bdf, links });
            }
            // A GPU that fell off the bus is said, and leaves the answers of the others alone.
            Err(why) => evidence.push(Evidence::new(SOURCE, format!("GPU {index}: {why}"))),
        }
    }
    if seen.is_empty() && count > 0 {
        let why: Vec<&str> = evidence.iter().skip(1).map(|line| line.text.as_str()).collect();
        return unknown(&why.join("; "));
    }
    NvidiaSmi {
        gpus: Fact::from_lines(seen.iter().map(one).collect(), evidence),
        driver_version: fact(nvml.driver_version(), "driver version"),
        topology: pairs(&seen, &|a, b| topology(&nvml, &seen, a, b)),
        p2p_read: pairs(&seen, &|a, b| a.gpu.p2p(&b.gpu, false).map(str::to_owned)),
        p2p_write: pairs(&seen, &|a, b| a.gpu.p2p(&b.gpu, true).map(str::to_owned)),
        nvlinks: nvlinks(&seen),
    }
}

fn one(seen: &Seen<'_>) -> SmiGpu {
    let (gpu, bdf) = (&seen.gpu, &seen.bdf);
    let say = |what: &str| format!("{bdf} {what}");
    let (now, most) = (gpu.link_now(), gpu.link_max());
    let link = |value: Option<u32>, what: &str| match value {
        Some(value) => Fact::known(i64::from(value), Evidence::new(SOURCE, format!("{bdf} {what}: {value}"))),
        None => Fact::unknown(SOURCE, Why::Unreadable, format!("{bdf} {what}: the driver does not say")),
    };
    SmiGpu {
        index: seen.index,
        bdf: bdf.clone(),
        name: fact(gpu.name(), &say("name")),
        vram: fact(gpu.memory().map(signed), &say("memory")),
        bar1: fact(gpu.bar1().map(signed), &say("BAR1")),
        addressing_mode: fact(gpu.addressing_mode().map(str::to_owned), &say("addressing mode")),
        display_active: fact(gpu.display_active(), &say("display active")),
        mig: fact(gpu.mig(), &say("MIG")),
        pstate: fact(gpu.pstate().map(i64::from), &say("performance state")),
        virtualization: fact(gpu.virtualization().map(str::to_owned), &say("virtualization")),
        generation: link(now.generation, "PCIe generation"),
        width: link(now.width, "PCIe lanes"),
        max_generation: link(most.0, "highest PCIe generation"),
        max_width: link(most.1, "most PCIe lanes"),
        replays: fact(gpu.replays().map(signed), &say("PCIe replays")),
    }
}

/// One cell for each ordered pair. A pair of which the driver says nothing has no cell, and the reason stands
/// in the evidence; with no cell at all the matrix is unknown.
fn pairs(seen: &[Seen<'_>], ask: &dyn Fn(&Seen<'_>, &Seen<'_>) -> Answer<String>) -> Fact<Vec<SmiPair>> {
    let (mut cells, mut evidence, mut refusals) = (Vec::new(), Vec::new(), Vec::new());
    for a in seen {
        for b in seen.iter().filter(|b| b.index != a.index) {
            let answer = ask(a, b);
            let said = match &answer {
                Ok(value) => value.clone(),
                Err(why) => why.to_string(),
            };
            let line = format!("GPU {} to GPU {}: {said}", a.index, b.index);
            evidence.push(Evidence::new(SOURCE, line.clone()));
            match answer {
                Ok(value) => cells.push(SmiPair { from: a.index, to: b.index, value }),
                Err(_) => refusals.push(line),
            }
        }
    }
    match refusals.first() {
        Some(first) if cells.is_empty() => Fact::unknown(SOURCE, Why::Unreadable, first.clone()),
        _ => Fact::from_lines(cells, evidence),
    }
}

/// `NV18` where NVLinks lead from one to the other (or to a switch), else the level of PCIe.
fn topology(nvml: &Nvml, all: &[Seen<'_>], a: &Seen<'_>, b: &Seen<'_>) -> Answer<String> {
    let remotes = || a.links.iter().filter(|link| link.active).filter_map(|link| link.bdf.as_deref());
    let direct = remotes().filter(|bdf| *bdf == b.bdf).count();
    // Links that lead to no GPU lead to a switch, which leads to all.
    let to_gpus = remotes().any(|bdf| all.iter().any(|gpu| gpu.bdf == bdf));
    let through_switch = if to_gpus || b.links.is_empty() { 0 } else { remotes().count() };
    match direct.max(through_switch) {
        0 => {
            let index = u32::try_from(b.index).unwrap_or(u32::MAX);
            Ok(a.gpu.topology(nvml.gpu(index)?)?.word().to_owned())
        }
        links => Ok(format!("NV{links}")),
    }
}

fn nvlinks(seen: &[Seen<'_>]) -> Fact<Vec<SmiNvlink>> {
    let mut found = Vec::new();
    let mut evidence = Vec::new();
    for one in seen {
        let active = one.links.iter().filter(|link| link.active).count();
        let speed = if active > 0 { one.gpu.nvlink_mb_s().map_or(0, signed) } else { 0 };
        let at = if active > 0 { format!(", {speed} MB/s each") } else { String::new() };
        evidence.push(Evidence::new(
            SOURCE,
            format!("GPU {}: {active} of {} NVLinks active{at}", one.index, one.links.len()),
        ));
        found.extend(one.links.iter().map(|link| SmiNvlink {
            gpu: one.index,
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
