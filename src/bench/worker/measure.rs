//! One verified transfer, and timed samples of it.

use super::session::{Session, Stop, Track};
use crate::bench::arms::Way;
use crate::bench::arms::bulk::Bulk;
use crate::bench::check::{self, Checked};
use crate::bench::pattern::Pattern;
use crate::gpu::cuda::CudaError;

/// Samples of a warm-up before it counts as stable anyway.
const WARM_UP: usize = 6;
/// Two samples agree.
const AGREE: f64 = 0.02;

/// Fills, poisons, transfers once, checks where the data landed.
pub(super) fn verified(
    way: Way<'_>,
    arm: Bulk,
    forth: &Pattern,
    back: &Pattern,
) -> Result<Checked, CudaError> {
    let bytes = way.bytes(arm);
    let words = bytes / 8;
    way.from.fill(way.from.source.address(), words, forth, 0)?;
    way.to.poison(way.to.target.address(), words)?;
    if arm == Bulk::Bidirectional {
        way.to.fill(way.to.source.address(), words, back, 0)?;
    }
    if matches!(arm, Bulk::Bidirectional | Bulk::Own) {
        way.from.poison(way.from.target.address(), words)?;
    }
    way.settle()?;
    way.enqueue(arm, 1)?;
    way.settle()?;
    landed(way, arm, forth, back)
}

/// Checks what the last transfer left.
pub(super) fn landed(way: Way<'_>, arm: Bulk, forth: &Pattern, back: &Pattern) -> Result<Checked, CudaError> {
    let bytes = way.bytes(arm);
    let initiator = arm.peer().then_some(way.from);
    if arm == Bulk::Own {
        return check::destination(way.from, way.host, &way.from.target, 0, bytes, forth, None);
    }
    let mut checked = check::destination(way.to, way.host, &way.to.target, 0, bytes, forth, initiator)?;
    if arm == Bulk::Bidirectional {
        let other = check::destination(way.from, way.host, &way.from.target, 0, bytes, back, Some(way.to))?;
        checked.words += other.words;
        // One way untouched and the other one right is a fault of its own.
        let one_way = checked.errors.is_empty() != other.errors.is_empty();
        let untouched = checked.only_untouched || other.only_untouched;
        checked.errors.extend(other.errors);
        let untouched = untouched && checked.errors.iter().all(|error| error.words * 8 >= bytes);
        if one_way && untouched {
            for error in &mut checked.errors {
                "one-direction".clone_into(&mut error.mechanism);
            }
        }
    }
    Ok(checked)
}

/// Transfers in one batch, so that a sample lasts long enough for its clock.
/// The double-buffered way fills its pipe once a batch: it gets more of them.
pub(super) fn batch_size(arm: Bulk, seconds: f64, quick: bool) -> u32 {
    let target = match (arm, quick) {
        (Bulk::StagedDouble, false) => 25e-3,
        (Bulk::StagedDouble, true) => 10e-3,
        (Bulk::SmRead | Bulk::SmWrite, false) => 8e-3,
        (_, false) => 4e-3,
        (_, true) => 2e-3,
    };
    let count = (target / seconds.max(1e-7)).ceil().clamp(1.0, 64.0);
    // Between 1 and 64.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let count = count as u32;
    count
}

/// Runs until two samples agree; the size of a batch comes out.
pub(super) fn warm_up(
    session: &Session,
    way: Way<'_>,
    arm: Bulk,
    track: &Track,
) -> Result<Result<u32, CudaError>, Stop> {
    let mut count = 1;
    let mut before: Option<f64> = None;
    for _ in 0..WARM_UP {
        track.at()?;
        let seconds = match way.batch(arm, count) {
            Ok(seconds) => seconds,
            Err(error) => return Ok(Err(error)),
        };
        if before.is_some_and(|before| (seconds - before).abs() <= AGREE * before) {
            break;
        }
        before = Some(seconds);
        count = batch_size(arm, seconds, session.quick);
    }
    Ok(Ok(count))
}
