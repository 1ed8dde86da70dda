//! All arms of two devices, in an order that never hides a fault behind a figure: control first, one page, verified
//! transfers, then time.

use super::super::session::{Stop, Track, tell};
use super::super::written::Written;
use super::time::Timed;
use super::transfer::Arm;
use super::{PAGE, Storage, Way};
use crate::bench::counters;
use crate::bench::protocol::Event;
use crate::bench::record::Outcome;

/// What the first page of a way says.
enum Page {
    /// It arrived.
    Right,
    /// The kernel maps no path.
    Refused(String),
    /// Why the peer arms must end, and whether at once.
    Wrong(String, bool),
}

impl Storage {
    /// Runs one pair in all its directions.
    pub(super) fn pair(&mut self, a: usize, b: usize, full: bool) -> Result<(), Stop> {
        let mut ways = self.ways(a, b);
        for way in ways.clone() {
            if let Some(why) = self.shut(way) {
                self.name_all(way, full, &why)?;
                ways.retain(|other| *other != way);
            }
        }
        self.session.phase("control")?;
        let mut timed = Vec::new();
        let open = self.control(&ways, full, &mut timed)?;
        if let Some(way) = ways.iter().find(|way| !open.contains(way)) {
            let text = format!(
                "{} to {}: the control arm, through host memory, is not right or could not be judged, so nothing can \
                 be said about the peer path",
                self.bdf(way.0),
                self.bdf(way.1)
            );
            tell(&Event::Note { text })?;
        }
        let trouble = self.peers(&open, full, &mut timed)?;
        for way in ways.iter().filter(|way| !open.contains(way)) {
            self.name_peers(*way, full, Outcome::Skipped, "the control arm failed")?;
        }
        let down = match trouble {
            Some(why) => Some(why),
            None if !full => {
                timed.into_iter().try_for_each(|entry| entry.track.finish())?;
                None
            }
            None => self.time(timed)?,
        };
        if let Some(why) = down {
            tell(&Event::PairDown { a, b, why })?;
        }
        self.session.phase("")
    }

    /// What a worker before this one left of a pair: no peer arms, and the staged ones if they may run.
    pub(super) fn rest(
        &mut self,
        a: usize,
        b: usize,
        full: bool,
        staged: bool,
        why: &str,
    ) -> Result<(), Stop> {
        let ways = self.ways(a, b);
        tell(&Event::PairDown { a, b, why: why.to_owned() })?;
        for way in &ways {
            if staged {
                self.name_peers(*way, full, Outcome::Skipped, why)?;
            } else {
                self.name_all(*way, full, why)?;
            }
        }
        if staged {
            let mut timed = Vec::new();
            self.session.phase("control")?;
            self.control(&ways, full, &mut timed)?;
            if full {
                self.time(timed)?;
            } else {
                timed.into_iter().try_for_each(|entry| entry.track.finish())?;
            }
        }
        self.session.phase("")
    }

    /// The arms of a way, all or those that every pair gets.
    fn arms(&self, way: Way, full: bool) -> Vec<Arm> {
        let wanted = |arm: &Arm| (full || matches!(arm, Arm::Peer | Arm::Staged)) && self.has(way, *arm);
        Arm::ALL.into_iter().filter(wanted).collect()
    }

    /// Verifies what does not pass the peer path. Gives back the ways whose staging is right: only there can anything
    /// be said about the peer path.
    fn control(&mut self, ways: &[Way], full: bool, timed: &mut Vec<Timed>) -> Result<Vec<Way>, Stop> {
        let mut right = Vec::new();
        for way in ways {
            let mut clean = true;
            for arm in self.arms(*way, full).into_iter().filter(|arm| !arm.peer()) {
                let entry = self.verify(*way, arm)?;
                clean &= arm == Arm::Own || entry.track.good();
                timed.push(entry);
            }
            if clean {
                right.push(*way);
            }
        }
        Ok(right)
    }

    /// One verified transfer of an arm.
    fn verify(&mut self, way: Way, arm: Arm) -> Result<Timed, Stop> {
        let mut track = self.track(way, arm);
        track.at()?;
        self.session.counters.start();
        let result = self.verified(way, arm)?;
        self.outcome(&mut track, way, arm, result);
        self.session.count(&mut track)?;
        Ok(Timed { way, arm, count: 1, track })
    }

    /// First page and verified transfers of the peer arms. The reason when they must end; then everything that was not
    /// timed yet has been told, the control arms with their figures.
    fn peers(&mut self, ways: &[Way], full: bool, timed: &mut Vec<Timed>) -> Result<Option<String>, Stop> {
        self.session.phase("first page")?;
        let mut trouble: Option<String> = None;
        let mut open = Vec::new();
        let mut faulted = false;
        for way in ways {
            if faulted {
                continue;
            }
            match self.first_page(*way)? {
                Page::Right => open.push(*way),
                Page::Refused(why) => self.name_peers(*way, full, Outcome::Refused, &why)?,
                // Wrong data still lets the other direction be tried, which tells a fault of one direction.
                Page::Wrong(why, at_once) => {
                    faulted = at_once;
                    trouble.get_or_insert(why);
                }
            }
        }
        self.session.phase("verify")?;
        let mut peers = Vec::new();
        if trouble.is_none() {
            trouble = self.verify_peers(&open, full, &mut peers)?;
        }
        let Some(why) = trouble else {
            timed.append(&mut peers);
            return Ok(None);
        };
        peers.into_iter().try_for_each(|entry: Timed| entry.not_timed(&why))?;
        for way in ways {
            self.name_peers(*way, full, Outcome::Skipped, &why)?;
        }
        let control = std::mem::take(timed);
        if full {
            self.time(control)?;
        } else {
            control.into_iter().try_for_each(|entry| entry.track.finish())?;
        }
        Ok(Some(why))
    }

    /// One verified transfer of each peer arm; the reason when they must end.
    fn verify_peers(
        &mut self,
        ways: &[Way],
        full: bool,
        peers: &mut Vec<Timed>,
    ) -> Result<Option<String>, Stop> {
        let mut trouble: Option<String> = None;
        for way in ways {
            for arm in self.arms(*way, full).into_iter().filter(|arm| arm.peer()) {
                let entry = self.verify(*way, arm)?;
                // Faults end it at once; wrong data alone lets the other arms be checked first.
                let fault = counters::faulted(&entry.track.arm.deltas);
                let name = entry.track.arm.name.clone();
                if let Some(fault) = fault {
                    peers.push(entry);
                    return Ok(Some(format!("{fault} during {name}")));
                }
                if !entry.track.good() {
                    trouble.get_or_insert_with(|| format!("{name}: {}", entry.track.arm.why));
                }
                peers.push(entry);
            }
        }
        Ok(trouble)
    }

    /// One page, after everything was written to disk.
    fn first_page(&mut self, way: Way) -> Result<Page, Stop> {
        let mut track = Track::new(self.bdf(way.0), self.bdf(way.1), "first-page", "", PAGE as u64);
        track.at()?;
        if !Written::begin().wait()? {
            let why = "what the host has to write did not reach its disks within a minute";
            track.skipped(Outcome::Skipped, why).finish()?;
            return Ok(Page::Wrong(format!("before the first page: {why}"), true));
        }
        self.session.counters.start();
        let result = self.verified(way, Arm::PeerPage)?;
        self.outcome(&mut track, way, Arm::PeerPage, result);
        self.session.count(&mut track)?;
        let page = match (counters::faulted(&track.arm.deltas), track.arm.outcome) {
            (Some(fault), _) => Page::Wrong(format!("{fault} during the first page"), true),
            (None, Outcome::Measured) => Page::Right,
            (None, Outcome::Refused) => Page::Refused(track.arm.why.clone()),
            (None, _) => Page::Wrong(format!("the first page: {}", track.arm.why), false),
        };
        let (from, to, granted) =
            (track.from.clone(), track.to.clone(), track.arm.outcome != Outcome::Refused);
        // Any other end than these leaves it open.
        if matches!(track.arm.outcome, Outcome::Measured | Outcome::Corrupt | Outcome::Refused) {
            tell(&Event::Granted { from, to, granted })?;
        }
        track.finish()?;
        Ok(page)
    }

    /// Names every peer arm that does not run.
    fn name_peers(&self, way: Way, full: bool, outcome: Outcome, why: &str) -> Result<(), Stop> {
        let arms = self.arms(way, full).into_iter().filter(|arm| arm.peer());
        arms.into_iter().try_for_each(|arm| self.track(way, arm).skipped(outcome, why).finish())
    }

    /// Names every arm of a way.
    fn name_all(&self, way: Way, full: bool, why: &str) -> Result<(), Stop> {
        let arms = Arm::ALL.into_iter().filter(|arm| full || matches!(arm, Arm::Peer | Arm::Staged));
        arms.into_iter().try_for_each(|arm| self.track(way, arm).skipped(Outcome::Skipped, why).finish())
    }
}
