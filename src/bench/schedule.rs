//! Which pairs are measured when. Linear in rounds, not in pairs: every round measures disjoint pairs at once.

use super::protocol::Task;

/// Up to so many GPUs every pair is measured in full; of more, the pairs of the first round. The others are verified
/// alone, a few milliseconds each, and timed in the rounds.
const ALL_FULL: usize = 4;

/// Tasks for `count` GPUs: pairs alone, then (from three GPUs on) rounds of concurrent pairs, then dense; last, unless
/// it must be quick, what NCCL makes of it all.
pub fn tasks(count: usize, quick: bool) -> Vec<Task> {
    let rounds = rounds(count);
    let mut tasks = Vec::new();
    for (number, round) in rounds.iter().enumerate() {
        let full = count <= ALL_FULL || number == 0;
        tasks.extend(round.iter().map(|(a, b)| Task::Pair { a: *a, b: *b, full }));
    }
    if count > 2 {
        for (number, round) in rounds.iter().enumerate() {
            if round.len() > 1 {
                tasks.push(Task::Round { number: number + 1, pairs: round.clone() });
            }
        }
        tasks.push(Task::Dense { pairs: rounds.into_iter().flatten().collect() });
    }
    if count > 1 && !quick {
        tasks.push(Task::Nccl);
    }
    tasks
}

/// Rounds of disjoint pairs by the circle method: one GPU stands, the others turn. Every pair comes once.
fn rounds(count: usize) -> Vec<Vec<(usize, usize)>> {
    if count < 2 {
        return Vec::new();
    }
    // An odd number gets an empty seat.
    let seats = count.next_multiple_of(2);
    let turning = seats - 1;
    (0..turning)
        .map(|round| {
            let seat = |place: usize| if place == 0 { seats - 1 } else { (round + place - 1) % turning };
            (0..seats / 2)
                .map(|place| (seat(place), seat(seats - 1 - place)))
                .map(|(a, b)| (a.min(b), a.max(b)))
                .filter(|(_, b)| *b < count)
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_pair_comes_once_and_rounds_are_disjoint() {
        for count in 2..=16 {
            let rounds = rounds(count);
            assert_eq!(rounds.len(), count.next_multiple_of(2) - 1);
            let mut pairs = BTreeSet::new();
            for round in &rounds {
                let mut busy = BTreeSet::new();
                for (a, b) in round {
                    assert!(a < b && busy.insert(*a) && busy.insert(*b), "{round:?}");
                    assert!(pairs.insert((*a, *b)));
                }
            }
            assert_eq!(pairs.len(), count * (count - 1) / 2);
        }
    }

    #[test]
    fn two_gpus_are_one_pair() {
        assert_eq!(tasks(2, true), [Task::Pair { a: 0, b: 1, full: true }]);
        assert_eq!(tasks(2, false).last(), Some(&Task::Nccl));
        assert!(tasks(1, false).is_empty());
        let eight = tasks(8, true);
        let full = eight.iter().filter(|task| matches!(task, Task::Pair { full: true, .. })).count();
        assert_eq!((eight.len(), full), (28 + 7 + 1, 4));
    }
}
