//! Two passes of one boot become one list of arms.
//!
//! Worse counts only when both passes say so; better when one does and the other does not contradict it. A pass that
//! could not tell yields to the other. What rests on data, outcomes or counters needs no second look: the graver
//! counts.

use crate::verdict::document::{ArmVerdict, Call, Cause};

/// Merges by pair and arm, in the order of the first pass.
pub(super) fn merge(first: &[ArmVerdict], second: Option<&[ArmVerdict]>) -> Vec<ArmVerdict> {
    let Some(second) = second else { return first.to_vec() };
    let same = |a: &ArmVerdict, b: &ArmVerdict| (&a.from, &a.to, &a.arm) == (&b.from, &b.to, &b.arm);
    let mut all: Vec<ArmVerdict> = first
        .iter()
        .map(|a| second.iter().find(|b| same(a, b)).map_or_else(|| a.clone(), |b| both(a, b)))
        .collect();
    all.extend(second.iter().filter(|b| !first.iter().any(|a| same(a, b))).cloned());
    all
}

fn both(a: &ArmVerdict, b: &ArmVerdict) -> ArmVerdict {
    if a.cause != Cause::Speed || b.cause != Cause::Speed {
        // Speed of one pass does not outweigh what the other lost.
        let graver = match (a.cause == Cause::Speed, b.cause == Cause::Speed) {
            (true, false) if gravity(b.verdict) < gravity(Call::Same) => b,
            (false, true) if gravity(a.verdict) < gravity(Call::Same) => a,
            _ if gravity(b.verdict) < gravity(a.verdict) => b,
            _ => a,
        };
        return graver.clone();
    }
    let (call, from, why) = match (a.verdict, b.verdict) {
        (x, y) if x == y => (x, a, None),
        (Call::Worse, _) | (_, Call::Worse) => {
            let (slower, pass) = if a.verdict == Call::Worse { (a, "first") } else { (b, "second") };
            (Call::Inconclusive, slower, Some(format!("slower in the {pass} pass only")))
        }
        (Call::Inconclusive, _) => (b.verdict, b, None),
        (_, Call::Inconclusive) => (a.verdict, a, None),
        (Call::Better, _) => (b.verdict, b, Some("faster in the first pass only".to_owned())),
        (_, Call::Better) => (a.verdict, a, Some("faster in the second pass only".to_owned())),
        _ => (a.verdict, a, None),
    };
    let mut merged = from.clone();
    merged.verdict = call;
    if let Some(why) = why {
        merged.why = why;
    }
    merged
}

/// The gravest first.
fn gravity(call: Call) -> u8 {
    match call {
        Call::Corrupt => 0,
        Call::Worse => 1,
        Call::Inconclusive => 2,
        Call::OnlyBefore => 3,
        Call::Same => 4,
        Call::OnlyAfter => 5,
        Call::Better => 6,
    }
}
