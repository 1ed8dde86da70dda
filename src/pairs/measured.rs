//! The rungs that only a measurement can judge: data by copy engine and by SM, a resident consumer, throughput.

use super::{Outcome, Rung};
use crate::host::Host;
use crate::host::gpu::Gpu;
use crate::host::measured::{End, MeasuredArm, MeasuredPair};
use crate::root::Fact;

/// What is said without a record.
const NONE: &str = "not measured: needs a benchmark record";
/// Slower by less than this percentage counts as level.
const PRACTICAL: i64 = 3;

/// The record on one pair of GPUs.
pub(super) struct Measured<'a> {
    a: &'a str,
    b: &'a str,
    pairs: &'a [MeasuredPair],
    /// Why there is nothing to judge by; empty when there is.
    why_not: String,
}

impl<'a> Measured<'a> {
    /// What the host's record says of two GPUs.
    pub(super) fn of(host: &'a Host, a: &'a Gpu, b: &'a Gpu) -> Self {
        let (pairs, why_not) = match &host.measured {
            Fact::Known { value, .. } => (value.as_slice(), String::new()),
            Fact::Absent { .. } => (&[][..], NONE.to_owned()),
            Fact::Unknown(reason) => (&[][..], format!("not measured: {reason}")),
        };
        let mut measured = Self { a: &a.bdf, b: &b.bdf, pairs, why_not };
        if measured.why_not.is_empty() {
            measured.why_not = match measured.pair(&a.bdf, &b.bdf).or(measured.pair(&b.bdf, &a.bdf)) {
                None => "not measured: the newest benchmark record is of other GPUs".to_owned(),
                Some(pair) if !pair.outdated.is_empty() => {
                    format!("not measured in this state: record {} was {}", pair.record, pair.outdated)
                }
                Some(_) => String::new(),
            };
        }
        measured
    }

    fn pair(&self, from: &str, to: &str) -> Option<&'a MeasuredPair> {
        self.pairs.iter().find(|pair| pair.from == from && pair.to == to)
    }

    /// The rung of this name in both directions.
    pub(super) fn rung(&self, name: &str) -> Rung {
        let rung = |(a_to_b, why): (Outcome, String), (b_to_a, other): (Outcome, String)| {
            // The direction that is worse is the one to explain.
            let why = match (a_to_b, b_to_a) {
                (Outcome::Fail, Outcome::Fail) if why != other => format!("{why}; {other}"),
                (Outcome::Fail, _) => why,
                (_, Outcome::Fail | Outcome::Unknown) => other,
                _ => why,
            };
            Rung { rung: name.to_owned(), a_to_b, b_to_a, why }
        };
        if !self.why_not.is_empty() {
            let open = || (Outcome::Unknown, self.why_not.clone());
            return rung(open(), open());
        }
        let (a, b) = (self.a, self.b);
        if name == "throughput" {
            return rung(self.throughput(a, b), self.throughput(b, a));
        }
        rung(self.data(name, a, b), self.data(name, b, a))
    }

    /// `from` initiates: it writes to `to`, and reads from it (data of the pair `to`, `from`).
    fn data(&self, rung: &str, from: &str, to: &str) -> (Outcome, String) {
        let (writes, reads, both): (&[&str], &[&str], &str) = match rung {
            "copy-engine-data" => (&["first-page", "ce-write"], &["ce-read"], "bidirectional"),
            "sm-data" => (&["sm-write"], &["sm-read"], "allreduce-"),
            _ => (&["resident"], &[], "\0"),
        };
        let (forth, back) = (self.pair(from, to), self.pair(to, from));
        let arms = |pair: Option<&'a MeasuredPair>| pair.map_or(&[][..], |pair| pair.arms.as_slice());
        let named = |arms: &'a [MeasuredArm], names: &[&str]| -> Vec<&'a MeasuredArm> {
            arms.iter().filter(|arm| names.contains(&arm.name.as_str())).collect()
        };
        let (written, read) = (named(arms(forth), writes), named(arms(back), reads));
        let shared = arms(forth).iter().chain(arms(back)).filter(|arm| arm.name.starts_with(both));
        let all: Vec<&MeasuredArm> = written.iter().chain(&read).copied().chain(shared).collect();
        if let Some(bad) = all.iter().find(|arm| matches!(arm.end, End::Wrong | End::Broken)) {
            return (Outcome::Fail, format!("{} from {from} to {to}: {}", bad.name, bad.why));
        }
        let needed = || written.iter().filter(|arm| arm.name != "first-page").chain(&read);
        if let Some(open) = needed().find(|arm| arm.end != End::Right) {
            return (Outcome::Unknown, format!("{} from {from} to {to}: {}", open.name, open.why));
        }
        if needed().count() < 1 + reads.len() {
            return (Outcome::Unknown, format!("not all arms from {from} to {to} were run"));
        }
        (Outcome::Pass, format!("every word was right in record {}", self.id(from, to)))
    }

    /// Level with what staging through host memory reaches, or faster.
    fn throughput(&self, from: &str, to: &str) -> (Outcome, String) {
        let Some(pair) = self.pair(from, to).filter(|pair| pair.verified) else {
            return (
                Outcome::Unknown,
                format!("peer copy and staging from {from} to {to} were not both timed"),
            );
        };
        let figures = format!("peer {} MB/s, staged {} MB/s", pair.peer_mb_s, pair.staged_mb_s);
        let needed = pair.staged_mb_s.saturating_mul(100 - PRACTICAL);
        if pair.peer_mb_s.saturating_mul(100) < needed {
            (Outcome::Fail, format!("staging through host memory is faster from {from} to {to}: {figures}"))
        } else {
            (Outcome::Pass, format!("{figures} in record {}", pair.record))
        }
    }

    fn id(&self, from: &str, to: &str) -> &'a str {
        self.pair(from, to).or(self.pair(to, from)).map_or("", |pair| pair.record.as_str())
    }
}
