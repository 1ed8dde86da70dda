//! One verdict over all arms, and one sentence why.
//!
//! Wrong data outranks everything, a hang everything else. Data that was wrong and is right now outranks
//! speed: right before fast. Then worse, inconclusive, better, same.

use super::document::{About, ArmVerdict, Call, Cause, Difference, Overall, Verdict};
use crate::bench::record::Outcome;

/// Arms through host memory or within one device: wrong data there is no matter of the peer path.
pub(super) const CONTROL: [&str; 4] = ["staged", "staged-double", "staged-4096", "self"];

/// Small copies that are staged by the driver, or page by page, are what a peer path replaces, never the path that is judged: which of its ways
/// the driver takes changes from run to run by a third. The loop shows how fast the host submits, not how fast the path
/// answers. Both are shown, and do not leave a verdict open.
pub fn incidental(arm: &str) -> bool {
    arm == "latency-loop-2048x32"
        || arm == "staged-4096"
        || arm
            .strip_prefix("driver-staged-")
            .is_some_and(|bytes| bytes.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Sets verdict and reason from what was found.
pub fn conclude(verdict: &mut Verdict) {
    let (overall, about, reason) = if verdict.incomparable.is_empty() {
        of_arms(&verdict.arms)
    } else {
        (Overall::Incomparable, About::Peer, incomparable(verdict))
    };
    let slower: Vec<&ArmVerdict> = verdict.arms.iter().filter(|arm| arm.verdict == Call::Worse).collect();
    verdict.possible_but_slower = overall == Overall::Worse && slower.iter().all(|arm| replaced_slower(arm));
    verdict.verdict = overall;
    verdict.about = about;
    verdict.reason = reason;
}

fn replaced_slower(arm: &ArmVerdict) -> bool {
    arm.replaces.is_some() && arm.cause == Cause::Speed
}

fn incomparable(verdict: &Verdict) -> String {
    let Some(first) = verdict.incomparable.first() else { return String::new() };
    let more = match verdict.incomparable.len() {
        1 => String::new(),
        2 => " (and 1 more field)".to_owned(),
        many => format!(" (and {} more fields)", many - 1),
    };
    format!("{}{more}: {}", differs(first), first.why)
}

/// "state.kernel was "6.12.3" before and "6.12.9" after".
pub(super) fn differs(difference: &Difference) -> String {
    let shown = |value: &str| if value.is_empty() { "nothing".to_owned() } else { format!("\"{value}\"") };
    let Difference { field, before, after, .. } = difference;
    format!("{field} was {} before and {} after", shown(before), shown(after))
}

fn of_arms(arms: &[ArmVerdict]) -> (Overall, About, String) {
    let pick = |test: &dyn Fn(&ArmVerdict) -> bool| arms.iter().filter(|a| test(a)).collect::<Vec<_>>();
    let hangs = |arm: &ArmVerdict| arm.after.is_some_and(|side| side.outcome == Outcome::Hang);
    let corrupt = pick(&|a| a.verdict == Call::Corrupt);
    if !corrupt.is_empty() {
        let control = pick(&|a| a.verdict == Call::Corrupt && CONTROL.contains(&a.arm.as_str()));
        return if control.is_empty() {
            (Overall::Corrupt, About::Peer, sentence(&corrupt, "moves wrong data", "move wrong data"))
        } else {
            let what = sentence(&control, "moves wrong data", "move wrong data");
            let why = "this is the control, so the host is at fault and nothing is said about peer transfers";
            (Overall::Corrupt, About::Host, format!("{what}; {why}"))
        };
    }
    let hang = pick(&|a| a.verdict == Call::Worse && hangs(a));
    if !hang.is_empty() {
        return (Overall::Hang, About::Peer, sentence(&hang, "hangs", "hang"));
    }
    let lost = pick(&|a| a.verdict == Call::Worse && a.cause != Cause::Speed);
    if !lost.is_empty() {
        return (Overall::Worse, About::Peer, sentence(&lost, "is worse", "are worse"));
    }
    let slower = pick(&|a| a.verdict == Call::Worse);
    let unjudged =
        pick(&|a| a.cause == Cause::Data && matches!(a.verdict, Call::Inconclusive | Call::OnlyBefore));
    if !unjudged.is_empty() {
        return (Overall::Inconclusive, About::Peer, sentence(&unjudged, "is not judged", "are not judged"));
    }
    let cured = pick(&|a| a.verdict == Call::Better && a.cause == Cause::Data);
    if !cured.is_empty() {
        let mut reason = sentence(&cured, "moves right data", "move right data");
        if !slower.is_empty() {
            reason = format!(
                "{reason}; {}, which does not outweigh it",
                sentence(&slower, "is slower", "are slower")
            );
        }
        let control = cured.iter().any(|a| CONTROL.contains(&a.arm.as_str()));
        return (Overall::Better, if control { About::Host } else { About::Peer }, reason);
    }
    if !slower.is_empty() {
        let reason = if slower.iter().all(|arm| replaced_slower(arm)) {
            sentence(&slower, "is possible but slower", "are possible but slower")
        } else {
            sentence(&slower, "is slower", "are slower")
        };
        return (Overall::Worse, About::Peer, reason);
    }
    let measured = |a: &ArmVerdict| a.before.is_some_and(|side| side.outcome == Outcome::Measured);
    let left_open = |a: &ArmVerdict| a.verdict == Call::Inconclusive && !incidental(&a.arm);
    let open = pick(&|a| left_open(a) || (a.verdict == Call::OnlyBefore && measured(a)));
    if !open.is_empty() {
        return (Overall::Inconclusive, About::Peer, sentence(&open, "is not judged", "are not judged"));
    }
    let better = pick(&|a| a.verdict == Call::Better);
    if !better.is_empty() {
        return (Overall::Better, About::Peer, sentence(&better, "is better", "are better"));
    }
    if pick(&|a| a.verdict == Call::Same).is_empty() {
        return (Overall::Inconclusive, About::Peer, "no arm was measured in both records".to_owned());
    }
    let speeds = arms.iter().filter(|a| a.verdict == Call::Same && a.cause == Cause::Speed).count();
    let reason = match speeds {
        0 => "nothing differs that was judged, and no speed was judged".to_owned(),
        1 => "the one speed that was judged does not differ by more than threshold and noise".to_owned(),
        many => format!("none of {many} speeds differs by more than threshold and noise"),
    };
    let floor = pick(&|a| a.verdict == Call::Same && a.cause == Cause::Speed && !a.why.is_empty());
    let reason = match floor.as_slice() {
        [] => reason,
        [one] => format!("{reason}; {} moved {}", name(one), one.why),
        [one, more @ ..] => format!("{reason}; {} moved {}, and {} more", name(one), one.why, more.len()),
    };
    (Overall::Same, About::Peer, reason)
}

/// "ce-read 02:00.0 to 03:00.0 is slower by 10.1 % (interval -11.2 to -9.0 %), and 3 more arms".
pub(super) fn sentence(arms: &[&ArmVerdict], one: &str, many: &str) -> String {
    let size = |arm: &ArmVerdict| arm.change.map_or(f64::INFINITY, |c| c.percent.abs());
    let Some(worst) = arms.iter().copied().reduce(|a, b| if size(b) > size(a) { b } else { a }) else {
        return String::new();
    };
    let name = name(worst);
    let detail = match worst.change.filter(|_| worst.cause == Cause::Speed) {
        Some(change) => format!(
            "{:+.1} % (interval {:+.1} to {:+.1} %)",
            change.percent,
            change.interval.first().copied().unwrap_or_default(),
            change.interval.last().copied().unwrap_or_default()
        ),
        None => worst.why.clone(),
    };
    let detail = match (detail.is_empty(), &worst.replaces) {
        (true, _) => String::new(),
        (false, Some(replaced)) => format!(": {detail} against {replaced}"),
        (false, None) => format!(": {detail}"),
    };
    match arms.len() {
        0 | 1 => format!("{name} {one}{detail}"),
        count => format!("{count} arms {many}, {name} the most{detail}"),
    }
}

/// An arm as people name it.
pub fn name(arm: &ArmVerdict) -> String {
    match (&arm.from, &arm.to) {
        (Some(from), Some(to)) => format!("{} {} to {}", arm.arm, short(from), short(to)),
        _ => format!("{} over all GPUs", arm.arm),
    }
}

/// `0000:02:00.0` is `02:00.0`.
pub fn short(bdf: &str) -> &str {
    bdf.strip_prefix("0000:").unwrap_or(bdf)
}
