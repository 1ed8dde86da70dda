//! One transfer of each arm, and one that is looked at where it landed.

use super::super::session::{Stop, Track, tell};
use super::place::stable;
use super::{PAGE, Storage, Way, landed};
use crate::bench::check::Checked;
use crate::bench::protocol::Event;
use crate::bench::record::Outcome;
use crate::gpu::p2pmem::{Drive, Memory};
use nix::errno::Errno;
use std::io;

/// Places that are tried for one verified transfer while others write to the drive.
const TRIES: usize = 4;
/// Poisons that are tried until one differs from the content everywhere.
const POISONS: usize = 8;
/// Earlier transfers whose data is known again.
const HELD: usize = 4;
/// Of a long transfer's poison one word in so many is read back: device memory is slow to read.
const SAMPLED: usize = 64;

/// An arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arm {
    /// The drive's DMA engine writes to the other device.
    Peer,
    /// The same with one page.
    PeerPage,
    /// Into host memory, and on by the processor.
    Staged,
    /// The same with one page.
    StagedPage,
    /// Into the drive's own memory.
    Own,
}

impl Arm {
    pub(super) const ALL: [Self; 5] = [Self::Peer, Self::Staged, Self::PeerPage, Self::StagedPage, Self::Own];

    /// Stable name.
    fn name(self) -> &'static str {
        match self {
            Self::Peer => "p2p-read",
            Self::PeerPage => "p2p-read-4096",
            Self::Staged => "staged",
            Self::StagedPage => "staged-4096",
            Self::Own => "self",
        }
    }

    pub(super) fn peer(self) -> bool {
        matches!(self, Self::Peer | Self::PeerPage)
    }

    pub(super) fn small(self) -> bool {
        matches!(self, Self::PeerPage | Self::StagedPage)
    }
}

/// Why a transfer says nothing about its data.
#[derive(Debug)]
pub(super) enum Fault {
    /// The read failed.
    Failed(io::Error),
    /// What ought to arrive is not known.
    Busy(String),
    /// The processor cannot write the memory.
    Unsound(String),
}

impl Fault {
    /// The kernel maps no path (`EREMOTEIO`, include/linux/pci-p2pdma.h), or the driver takes no peer memory.
    fn refuses(&self) -> bool {
        let Self::Failed(error) = self else { return false };
        [Errno::EREMOTEIO, Errno::EOPNOTSUPP].iter().any(|errno| error.raw_os_error() == Some(*errno as i32))
    }
}

/// Keeps what a memory ought to hold, the newest first.
fn remember(held: &mut Vec<Vec<u64>>, words: Vec<u64>) {
    held.insert(0, words);
    held.truncate(HELD);
}

/// One read into `memory`.
fn transfer(
    arm: Arm,
    drive: &Drive,
    memory: &mut Memory,
    staging: &mut Memory,
    offset: u64,
    bytes: usize,
) -> io::Result<()> {
    match arm {
        Arm::Peer | Arm::PeerPage | Arm::Own => memory.read_from(drive, offset, bytes),
        Arm::Staged | Arm::StagedPage => {
            staging.read_from(drive, offset, bytes)?;
            memory.copy(staging, bytes / 8);
            Ok(())
        }
    }
}

impl Storage {
    /// Whose memory an arm writes to.
    fn target((from, to): Way, arm: Arm) -> usize {
        if arm == Arm::Own { from } else { to }
    }

    /// The arm is there on this way: a drive has memory of its own, or not.
    pub(super) fn has(&self, way: Way, arm: Arm) -> bool {
        self.memories.get(Self::target(way, arm)).is_some_and(Result::is_ok)
    }

    /// Bytes of one transfer.
    pub(super) fn bytes(&self, way: Way, arm: Arm) -> usize {
        let memory = self.memories.get(Self::target(way, arm)).and_then(|memory| memory.as_ref().ok());
        if arm.small() { PAGE } else { memory.map_or(PAGE, |memory| memory.words() * 8) }
    }

    pub(super) fn track(&self, way: Way, arm: Arm) -> Track {
        let unit = if arm.small() { "us" } else { "GB/s" };
        Track::new(self.bdf(way.0), self.bdf(way.1), arm.name(), unit, self.bytes(way, arm) as u64)
    }

    /// Transfers without looking at the data.
    pub(super) fn transfer_once(&mut self, way: Way, arm: Arm) -> io::Result<()> {
        let (bytes, into) = (self.bytes(way, arm), Self::target(way, arm));
        let Self { drives, memories, places, staging, turns, .. } = self;
        let turn = turns.get(into).copied().unwrap_or_default();
        let place = places.get(way.0).and_then(|places| places.at(turn));
        let (Some(Ok(drive)), Some(Ok(memory)), Some(place)) =
            (drives.get(way.0), memories.get_mut(into), place)
        else {
            return Err(io::Error::other("nothing to read"));
        };
        transfer(arm, drive, memory, staging, place.offset, bytes)
    }

    /// Poisons, transfers once, looks at what landed. Blocks that change meanwhile are given up for others.
    pub(super) fn verified(&mut self, way: Way, arm: Arm) -> Result<Result<Checked, Fault>, Stop> {
        for _ in 0..TRIES {
            if let Some(turn) = self.turns.get_mut(Self::target(way, arm)) {
                *turn += 1;
            }
            self.look(way.0)?;
            match self.once(way, arm) {
                Ok(Some(checked)) => return Ok(Ok(checked)),
                Ok(None) => {}
                Err(fault) => return Ok(Err(fault)),
            }
        }
        Ok(Err(Fault::Busy("the blocks that were read change meanwhile: the drive is in use".to_owned())))
    }

    /// Finds places on a drive where there are none.
    fn look(&mut self, from: usize) -> Result<(), Stop> {
        let Self { drives, places, staging, .. } = self;
        let (Some(Ok(drive)), Some(places)) = (drives.get(from), places.get_mut(from)) else { return Ok(()) };
        if let Some(remark) = places.look(drive, staging)? {
            let text = format!("{}: {remark}", self.bdf(from));
            tell(&Event::Note { text })?;
        }
        Ok(())
    }

    /// None when the blocks have changed.
    fn once(&mut self, way: Way, arm: Arm) -> Result<Option<Checked>, Fault> {
        let (bytes, into) = (self.bytes(way, arm), Self::target(way, arm));
        let tag = u16::try_from((way.0 * self.job.len() + way.1) & 0xfff).unwrap_or(0);
        let Self { session, drives, memories, places, held, staging, turns, .. } = self;
        let (Some(Ok(drive)), Some(Ok(memory)), Some(places)) =
            (drives.get(way.0), memories.get_mut(into), places.get_mut(way.0))
        else {
            return Err(Fault::Unsound("no drive, or no memory".to_owned()));
        };
        let turn = turns.get(into).copied().unwrap_or_default();
        let Some(place) = places.at(turn) else { return Err(Fault::Busy(places.missing())) };
        let offset = place.offset;
        let expected: Vec<u64> = place.words.iter().take(bytes / 8).copied().collect();
        let poison = (0..POISONS).map(|_| session.pattern(tag)).find_map(|pattern| {
            let words: Vec<u64> = (0u32..).take(expected.len()).map(|index| pattern.word(index)).collect();
            let differs = words.iter().zip(&expected).all(|(poison, word)| poison != word);
            differs.then_some((pattern, words))
        });
        let Some((pattern, words)) = poison else {
            return Err(Fault::Busy("the content cannot be told from poison".to_owned()));
        };
        memory.put(&words);
        let step = if words.len() > PAGE / 8 { SAMPLED } else { 1 };
        let stands = |memory: &Memory| {
            (0..words.len()).step_by(step).all(|at| memory.word(at) == words.get(at).copied())
        };
        if !stands(memory) {
            let why = "the memory does not hold what the processor writes there";
            return Err(Fault::Unsound(why.to_owned()));
        }
        transfer(arm, drive, memory, staging, offset, bytes).map_err(Fault::Failed)?;
        let found = memory.get(expected.len());
        let count = expected.len() as u64;
        let Some(held) = held.get_mut(into) else { return Ok(None) };
        if found == expected {
            remember(held, expected);
            return Ok(Some(Checked { words: count, ..Checked::default() }));
        }
        // Only blocks that still hold the same prove anything. One read in two may be wrong itself.
        let mut still = false;
        for _ in 0..2 {
            let again = stable(drive, staging, offset, bytes).map_err(Fault::Failed)?;
            still |= again.is_some_and(|again| again == expected);
        }
        if !still {
            places.forget(offset);
            return Ok(None);
        }
        let map = landed::compare(&expected, &found, &pattern, held);
        remember(held, expected);
        Ok(Some(Checked { words: count, errors: map.errors(""), only_untouched: map.only_untouched() }))
    }

    /// Books the result of a verified transfer.
    pub(super) fn outcome(&self, track: &mut Track, way: Way, arm: Arm, result: Result<Checked, Fault>) {
        let fault = match result {
            Ok(checked) => return track.checked(checked),
            Err(fault) => fault,
        };
        let refused = fault.refuses() && (arm.peer() || arm == Arm::Own);
        let (outcome, why) = match fault {
            Fault::Failed(error) if refused => (
                Outcome::Refused,
                format!(
                    "the kernel maps no peer path from {} to {}: {error}",
                    self.bdf(way.0),
                    self.bdf(Self::target(way, arm))
                ),
            ),
            Fault::Failed(error) => (Outcome::Failed, error.to_string()),
            Fault::Busy(why) => (Outcome::Skipped, why),
            Fault::Unsound(why) => (Outcome::Failed, why),
        };
        if track.good() {
            track.arm.outcome = outcome;
        }
        track.arm.why = why;
    }
}
