//! Where the host's part of a small copy is timed. How fast a CPU submits work depends on what its sibling thread, its
//! clock and, in a guest, its neighbours do; it changes by 15 % from one second to the next. The best of several
//! CPUs is what the path can do, and comes out the same in every run.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// CPUs that are tried for each figure.
const MOST: usize = 16;

/// Some of the CPUs on which this process may run.
pub(super) struct Cpus {
    allowed: Option<CpuSet>,
    spread: Vec<usize>,
}

impl Cpus {
    /// Up to sixteen of the allowed CPUs, evenly spread, so that every socket has some.
    pub(super) fn of_this_thread() -> Self {
        let Ok(allowed) = sched_getaffinity(Pid::from_raw(0)) else {
            return Self { allowed: None, spread: Vec::new() };
        };
        let all: Vec<usize> =
            (0..CpuSet::count()).filter(|cpu| allowed.is_set(*cpu).unwrap_or(false)).collect();
        Self { allowed: Some(allowed), spread: spread(&all) }
    }

    /// Does `work` on up to `most` of them, evenly spread, and keeps the smallest result. Afterwards the thread may run anywhere again.
    pub(super) fn least<E>(&self, most: usize, mut work: impl FnMut() -> Result<f64, E>) -> Result<f64, E> {
        let mut least: Option<f64> = None;
        let mut result = Ok(());
        for cpu in self.spread.iter().step_by(self.spread.len().div_ceil(most.max(1)).max(1)) {
            if !on(*cpu) {
                continue;
            }
            match work() {
                Ok(value) => least = Some(least.map_or(value, |known| known.min(value))),
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        if let Some(allowed) = &self.allowed {
            let _ = sched_setaffinity(Pid::from_raw(0), allowed);
        }
        result?;
        least.map_or_else(work, Ok)
    }
}

/// Moves this thread; false where that is not allowed (any more).
fn on(cpu: usize) -> bool {
    let mut one = CpuSet::new();
    one.set(cpu).and_then(|()| sched_setaffinity(Pid::from_raw(0), &one)).is_ok()
}

fn spread(all: &[usize]) -> Vec<usize> {
    let count = all.len().min(MOST);
    (0..count).filter_map(|n| all.get((2 * n + 1) * all.len() / (2 * count)).copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_spread_evenly() {
        let all: Vec<usize> = (0..64).collect();
        let even: Vec<usize> = (0..16).map(|n| n * 4 + 2).collect();
        assert_eq!(spread(&all), even);
        assert_eq!(spread(&[3, 5]), [3, 5]);
        assert_eq!(spread(&[]), [0usize; 0]);
    }

    #[test]
    fn the_smallest_is_kept_and_the_thread_is_free_again() {
        let cpus = Cpus::of_this_thread();
        let mut values = [9.0, 4.0, 7.0].into_iter().cycle();
        let least: Result<f64, ()> = cpus.least(8, || Ok(values.next().unwrap()));
        assert!(least.unwrap() <= 9.0);
        let again = Cpus::of_this_thread();
        assert_eq!(again.spread, cpus.spread);
        assert_eq!(cpus.least(8, || Err::<f64, _>("lost")), Err("lost"));
    }
}
