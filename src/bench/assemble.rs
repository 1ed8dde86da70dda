//! Puts what the workers told and what the host is into one record.

use super::protocol::DeviceFacts;
use super::record::{Arm, LinkSample, Outcome, PairRecord};
use super::supervise::Told;
use super::view::View;

/// GB/s of a PCIe link after its line code; 0 when not known.
pub fn pcie_gb_s(generation: u32, width: u32) -> f64 {
    let (transfers, code) = match generation {
        1 => (2.5, 0.8),
        2 => (5.0, 0.8),
        3 => (8.0, 128.0 / 130.0),
        4 => (16.0, 128.0 / 130.0),
        5 => (32.0, 128.0 / 130.0),
        // Flits of 256 bytes carry 236 of them.
        6 => (64.0, 236.0 / 256.0),
        7 => (128.0, 236.0 / 256.0),
        _ => return 0.0,
    };
    transfers * code * f64::from(width) / 8.0
}

/// Records of all ordered pairs, in the driver's order.
pub(super) fn pairs(chosen: &[DeviceFacts], told: &mut Told, view: &View) -> Vec<PairRecord> {
    let mut records = Vec::new();
    for from in chosen {
        for to in chosen.iter().filter(|to| to.bdf != from.bdf) {
            records.push(pair(from, to, told, view));
        }
    }
    name_one_direction(&mut records);
    records
}

fn pair(from: &DeviceFacts, to: &DeviceFacts, told: &mut Told, view: &View) -> PairRecord {
    let mut record = PairRecord { from: from.bdf.clone(), to: to.bdf.clone(), ..PairRecord::default() };
    let seen = view.pairs.iter().find(|pair| pair.from == from.bdf && pair.to == to.bdf);
    let nvlinks = view.nvlinks(&from.bdf, &to.bdf);
    record.route = match (nvlinks, seen) {
        (0, Some(seen)) => seen.level.clone(),
        (0, None) => String::new(),
        (links, _) => format!("NV{links}"),
    };
    if let Some(seen) = seen {
        record.p2p_read.clone_from(&seen.read);
        record.p2p_write.clone_from(&seen.write);
    }
    record.granted = told.granted.get(&(from.bdf.clone(), to.bdf.clone())).copied();
    record.arms = told
        .arms
        .iter()
        .filter(|(f, t, _)| *f == from.bdf && *t == to.bdf)
        .map(|(_, _, arm)| arm.clone())
        .collect();
    let slots = slot(&record.arms, &from.bdf, &to.bdf, view);
    record.ceiling_gb_s = if nvlinks > 0 {
        let speed = view.gpu(&from.bdf).map_or(0, |gpu| gpu.nvlink_mb_s);
        f64::from(nvlinks) * f64::from(speed) / 1e3
    } else {
        slots
    };
    for arm in &mut record.arms {
        arm.share = share(arm, record.ceiling_gb_s, slots);
    }
    record
}

/// What the slower of both slots carries: as it was while bytes moved, else the most it can.
fn slot(arms: &[Arm], from: &str, to: &str, view: &View) -> f64 {
    let seen = arms.iter().find(|arm| arm.links.len() == 2 && !arm.samples.is_empty());
    let of = |place: usize, bdf: &str| {
        let sample = seen.and_then(|arm| arm.links.get(place).copied());
        let sample = sample.filter(|link| link.generation > 0 && link.width > 0).unwrap_or_else(|| {
            let gpu = view.gpu(bdf);
            LinkSample {
                generation: gpu.map_or(0, |gpu| gpu.max_generation),
                width: gpu.map_or(0, |gpu| gpu.max_width),
                pstate: -1,
            }
        });
        pcie_gb_s(sample.generation, sample.width)
    };
    of(0, from).min(of(1, to))
}

pub(super) fn share(arm: &Arm, peer: f64, slot: f64) -> f64 {
    let ceiling = match arm.name.as_str() {
        "ce-read" | "ce-write" | "sm-read" | "sm-write" | "p2p-read" => peer,
        "bidirectional" => peer * 2.0,
        "staged" | "staged-double" | "driver-staged" => slot,
        _ => 0.0,
    };
    if ceiling > 0.0 { arm.median / ceiling } else { 0.0 }
}

/// The arm's data pass from GPU to GPU.
fn by_peer(arm: &str) -> bool {
    !(arm.starts_with("staged") || arm.starts_with("driver-staged") || arm == "self")
}

/// One way nothing arrives and the other way all is right: that is a fault of one direction.
pub(super) fn name_one_direction(records: &mut [PairRecord]) {
    let untouched = |pair: &PairRecord| {
        let mut wrong =
            pair.arms.iter().filter(|arm| arm.outcome == Outcome::Corrupt && arm.name != "bidirectional");
        let mut any = false;
        let all = wrong.all(|arm| {
            any = true;
            // Lost sectors here and there are another fault.
            arm.errors.iter().all(|error| error.mechanism == "untouched" && error.words * 8 >= arm.bytes)
        });
        // Whatever arrived by that way speaks against it.
        let arrived = pair.arms.iter().any(|arm| arm.outcome == Outcome::Measured && by_peer(&arm.name));
        any && all && !arrived
    };
    let right = |pair: &PairRecord| {
        let checked =
            pair.arms.iter().any(|arm| arm.name == "first-page" && arm.outcome == Outcome::Measured);
        checked && pair.arms.iter().all(|arm| arm.outcome != Outcome::Corrupt || arm.name == "bidirectional")
    };
    let found: Vec<usize> = records
        .iter()
        .enumerate()
        .filter(|(_, pair)| {
            untouched(pair)
                && records.iter().any(|other| other.from == pair.to && other.to == pair.from && right(other))
        })
        .map(|(at, _)| at)
        .collect();
    for at in found {
        let Some(pair) = records.get_mut(at) else { continue };
        for error in pair.arms.iter_mut().flat_map(|arm| &mut arm.errors) {
            if error.mechanism == "untouched" {
                "one-direction".clone_into(&mut error.mechanism);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_carry_what_their_code_leaves() {
        assert!((pcie_gb_s(3, 16) - 15.75).abs() < 0.01);
        assert!((pcie_gb_s(5, 8) - 31.5).abs() < 0.1);
        assert!((pcie_gb_s(1, 8) - 2.0).abs() < 1e-9);
        assert!(pcie_gb_s(0, 16).abs() < 1e-9);
    }
}
