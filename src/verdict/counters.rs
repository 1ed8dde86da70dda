//! Faults, Xids and link errors that are new.
//!
//! Only growth counts. That faults went away proves nothing: an IOMMU that no longer translates reports
//! none. Faults, uncorrectable errors and Xid codes have no innocent rate, so one that was not there before
//! is worse. Correctable errors and replays do have one: they count when the growth is no chance.

use super::document::Call;
use super::stats::binomial::upper_tail;
use crate::bench::record::Deltas;

/// What grew, and what that means; none when nothing did.
pub fn grown(before: Option<&Deltas>, after: &Deltas, tail: f64) -> Option<(Call, String)> {
    let mut worse = Vec::new();
    let mut unsure = Vec::new();
    let grave = [
        ("IOMMU faults", before.and_then(|d| d.iommu_faults), after.iommu_faults),
        ("uncorrectable PCIe errors", before.and_then(|d| d.aer_uncorrectable), after.aer_uncorrectable),
    ];
    for (name, was, now) in grave {
        match (was, now) {
            (Some(0), Some(now)) if now > 0 => worse.push(format!("{now} {name}, none before")),
            (None, Some(now)) if now > 0 => unsure.push(format!("{now} {name}, not known before")),
            _ => {}
        }
    }
    let was = before.and_then(|d| d.xids.as_ref());
    let fresh: Vec<String> = after
        .xids
        .iter()
        .flatten()
        .filter(|code| was.is_none_or(|was| !was.contains(code)))
        .map(ToString::to_string)
        .collect();
    if !fresh.is_empty() {
        let list = if was.is_some() { &mut worse } else { &mut unsure };
        list.push(format!("Xid {}", fresh.join(", ")));
    }
    let mild = [
        ("correctable PCIe errors", before.and_then(|d| d.aer_correctable), after.aer_correctable),
        ("PCIe replays", before.and_then(|d| d.replays), after.replays),
    ];
    for (name, was, now) in mild {
        if let (Some(was), Some(now)) = (was, now)
            && more(was, now, tail)
        {
            worse.push(format!("{now} {name}, {was} before"));
        }
    }
    if worse.is_empty() && unsure.is_empty() {
        return None;
    }
    let call = if worse.is_empty() { Call::Inconclusive } else { Call::Worse };
    worse.extend(unsure);
    Some((call, worse.join("; ")))
}

/// Two counts over equal work: is the second one larger by more than chance (conditional binomial test)?
fn more(was: u64, now: u64, tail: f64) -> bool {
    /// Beyond this many the shares are compared instead: the test would find any difference.
    const COUNTED: u64 = 1000;
    if now <= was {
        return false;
    }
    let (Ok(total), Ok(count)) = (usize::try_from(was.saturating_add(now)), usize::try_from(now)) else {
        return now / 2 > was;
    };
    if now > COUNTED { now / 2 > was } else { upper_tail(total, 0.5, count) <= tail }
}

#[cfg(test)]
mod tests {
    use super::{grown, more};
    use crate::bench::record::Deltas;
    use crate::verdict::document::Call;

    #[test]
    fn correctable_errors_need_more_than_chance() {
        assert!(!more(0, 1, 5e-4) && !more(0, 9, 5e-4) && more(0, 12, 5e-4));
        assert!(!more(50, 60, 5e-4) && more(50, 120, 5e-4) && !more(60, 50, 0.9));
        assert!(more(0, u64::MAX, 5e-4) && !more(u64::MAX, u64::MAX, 5e-4));
    }

    #[test]
    fn a_counter_that_was_not_readable_before_leaves_it_open() {
        let now = Deltas { iommu_faults: Some(3), ..Deltas::default() };
        assert!(grown(None, &now, 0.01).is_some_and(|(call, _)| call == Call::Inconclusive));
        let zero = Deltas { iommu_faults: Some(0), ..Deltas::default() };
        assert!(grown(Some(&zero), &now, 0.01).is_some_and(|(call, _)| call == Call::Worse));
        assert!(grown(Some(&now), &now, 0.01).is_none(), "not new");
        assert!(grown(Some(&now), &Deltas::default(), 0.01).is_none(), "nothing read");
    }

    #[test]
    fn only_new_xid_codes_count() {
        let xids = |codes: &[u64]| Deltas { xids: Some(codes.to_vec()), ..Deltas::default() };
        assert!(grown(Some(&xids(&[31])), &xids(&[31]), 0.01).is_none());
        let found = grown(Some(&xids(&[31])), &xids(&[31, 79]), 0.01);
        assert!(found.is_some_and(|(call, why)| call == Call::Worse && why == "Xid 79"));
    }
}
