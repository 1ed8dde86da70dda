//! All arms of two GPUs, in both directions, in an order that never hides a fault behind a figure: control first,
//! one page, verified transfers, then time.

use super::Bench;
use super::measure::verified;
use super::session::{Stop, Track, tell};
use crate::bench::arms::bulk::Bulk;
use crate::bench::arms::{Access, Way};
use crate::bench::pattern::Pattern;
use crate::bench::protocol::Event;
use crate::bench::record::Outcome;

/// Why a peer arm is refused.
pub(super) const NOT_GRANTED: &str = "the driver grants no peer access";

impl Bench {
    pub(super) fn way(&self, from: usize, to: usize) -> Option<Way<'_>> {
        Some(Way { from: self.rigs.get(from)?, to: self.rigs.get(to)?, host: &self.host })
    }

    /// A number for each ordered pair; the pattern carries it.
    pub(super) fn tag(&self, from: usize, to: usize) -> u16 {
        u16::try_from((from * self.rigs.len() + to) & 0xfff).unwrap_or(0)
    }

    /// NVML's indices of both GPUs.
    pub(super) fn indices_of(&self, a: usize, b: usize) -> Vec<u32> {
        [a, b].iter().filter_map(|at| self.indices.get(*at).copied()).collect()
    }

    pub(super) fn patterns(&mut self, from: usize, to: usize) -> (Pattern, Pattern) {
        let (forth, back) = (self.tag(from, to), self.tag(to, from));
        let pattern = self.session.pattern(forth);
        (pattern, Pattern { tag: back, ..pattern })
    }

    pub(super) fn bulk_track(&self, from: usize, to: usize, arm: Bulk) -> Option<Track> {
        let way = self.way(from, to)?;
        Some(Track::new(&way.from.bdf, &way.to.bdf, arm.name(), "GB/s", way.bytes(arm)))
    }

    /// What a worker before this one left of a pair: no peer access, and the staged ways if they may run.
    pub(super) fn rest(
        &mut self,
        a: usize,
        b: usize,
        full: bool,
        staged: bool,
        why: &str,
    ) -> Result<(), Stop> {
        self.skip_peers(a, b, full, Outcome::Skipped, why)?;
        if full {
            self.skip_small(a, b, why)?;
        }
        self.take_down(a, b, why)?;
        let mut timed = Vec::new();
        if staged {
            self.session.phase("verify")?;
            self.verify(a, b, full, (Access::default(), Access::default()), false, &mut timed)?;
            self.time(a, b, timed)?;
        } else {
            self.skip_staged(a, b, full, why)?;
        }
        self.session.phase("")
    }

    /// Names the staged and local arms that do not run.
    fn skip_staged(&mut self, a: usize, b: usize, full: bool, why: &str) -> Result<(), Stop> {
        let arms: &[Bulk] =
            if full { &[Bulk::DriverStaged, Bulk::Staged, Bulk::StagedDouble, Bulk::Own] } else { &[] };
        for (from, to) in [(a, b), (b, a)] {
            for arm in arms {
                if let Some(track) = self.bulk_track(from, to, *arm) {
                    track.skipped(Outcome::Skipped, why).finish()?;
                }
            }
            if full {
                self.skip_by_driver(from, to, why)?;
            }
        }
        Ok(())
    }

    /// Runs one pair.
    pub(super) fn pair(&mut self, a: usize, b: usize, full: bool) -> Result<(), Stop> {
        self.session.counters.watch(&self.indices_of(a, b));
        if !self.control(a, b, full)? {
            return Ok(());
        }
        self.session.phase("peer access")?;
        let (forth, back) = self.open_access(a, b)?;
        let result = self.peers(a, b, full, forth, back);
        self.close_access(a, b, forth, back);
        self.session.phase("")?;
        result
    }

    /// The staged way must be right, else the verdict is about the host and no peer arm runs.
    fn control(&mut self, a: usize, b: usize, full: bool) -> Result<bool, Stop> {
        self.session.phase("control")?;
        let mut clean = true;
        let mut driver = Vec::new();
        for (from, to) in [(a, b), (b, a)] {
            let mut tracks = vec![Bulk::Staged];
            if full {
                tracks.extend([Bulk::StagedDouble, Bulk::DriverStaged]);
            }
            for arm in tracks {
                let patterns = self.patterns(from, to);
                let Some(mut track) = self.bulk_track(from, to, arm) else { return Ok(false) };
                track.at()?;
                self.session.counters.start();
                let result = self
                    .way(from, to)
                    .map(|way| verified(way, arm, &patterns.0, &patterns.1, Access::default()));
                self.outcome(&mut track, result, a, b)?;
                self.session.count(&mut track)?;
                let good = track.good();
                if arm == Bulk::DriverStaged {
                    driver.push((from, to, track));
                } else if !good {
                    clean = false;
                    track.finish()?;
                }
            }
        }
        self.driver_arms(a, b, driver)?;
        if !clean {
            let why = "the control arm failed: transfers through host memory are not right on this host, so nothing can be said about peer transfers";
            tell(&Event::Note { text: why.to_owned() })?;
            self.skip_peers(a, b, full, Outcome::Skipped, "the control arm failed")?;
            self.take_down(a, b, "the control arm failed")?;
        }
        Ok(clean)
    }

    /// Asks the driver and maps. Both ways are tried: one may be granted alone.
    pub(super) fn open_access(&mut self, a: usize, b: usize) -> Result<(Access, Access), Stop> {
        let mut granted = [false; 2];
        let mut mapped = [false; 2];
        for (at, (who, whose)) in [(a, b), (b, a)].into_iter().enumerate() {
            let (Some(rig), Some(peer)) = (self.rigs.get(who), self.rigs.get(whose)) else { continue };
            let can = rig.context.device().can_access(peer.context.device());
            tell(&Event::Granted {
                from: peer.bdf.clone(),
                to: rig.bdf.clone(),
                granted: matches!(can, Ok(true)),
            })?;
            granted[at] = match can {
                Ok(can) => can,
                Err(error) => {
                    let text = format!("{} to {}: {error}", rig.bdf, peer.bdf);
                    tell(&Event::Note { text })?;
                    false
                }
            };
            if granted[at] {
                match rig.context.enable_peer(&peer.context) {
                    Ok(()) => mapped[at] = true,
                    Err(error) => {
                        let text = format!("{} to {}: {error}", rig.bdf, peer.bdf);
                        tell(&Event::Note { text })?;
                    }
                }
            }
        }
        let [a_maps_b, b_maps_a] = mapped;
        Ok((Access { read: b_maps_a, write: a_maps_b }, Access { read: a_maps_b, write: b_maps_a }))
    }

    pub(super) fn close_access(&self, a: usize, b: usize, forth: Access, back: Access) {
        for (who, whose, mapped) in [(a, b, forth.write), (b, a, back.write)] {
            if let (Some(rig), Some(peer), true) = (self.rigs.get(who), self.rigs.get(whose), mapped) {
                // A context that no longer works ends with the worker.
                let _ = rig.context.disable_peer(&peer.context);
            }
        }
    }

    fn peers(&mut self, a: usize, b: usize, full: bool, forth: Access, back: Access) -> Result<(), Stop> {
        self.session.phase("first page")?;
        let mut trouble = None;
        for (from, to, access) in [(a, b, forth), (b, a, back)] {
            let (why, fault) = self.first_page(from, to, access, a, b)?;
            trouble = trouble.or(why);
            // Wrong data still lets the other direction be tried, which tells a fault of one direction.
            if fault {
                break;
            }
        }
        if let Some(why) = &trouble {
            self.skip_peers(a, b, full, Outcome::Skipped, why)?;
            self.take_down(a, b, why)?;
        }
        self.session.phase("verify")?;
        let mut timed = Vec::new();
        if trouble.is_none() {
            trouble = self.verify(a, b, full, (forth, back), true, &mut timed)?;
            if let Some(why) = &trouble {
                // What is not timed any more is told now; staging goes on.
                for entry in std::mem::take(&mut timed) {
                    entry.not_timed(why)?;
                }
                self.take_down(a, b, why)?;
            }
        }
        self.verify(a, b, full, (forth, back), false, &mut timed)?;
        if !full {
            // Right is right; the time of these pairs comes out of the rounds, of which there are fewer.
            return timed.into_iter().try_for_each(|entry| entry.track.finish());
        }
        if let Some(why) = self.time(a, b, timed)? {
            self.take_down(a, b, &why)?;
            trouble.get_or_insert(why);
        }
        match trouble {
            None => self.small_arms(a, b, forth, back),
            Some(why) => self.skip_small(a, b, &why),
        }
    }
}
