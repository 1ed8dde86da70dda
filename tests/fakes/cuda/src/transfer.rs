//! Bytes on their way from one place to another, and what becomes of them under a fault.

use crate::clock::{self, Port, mix64};
use crate::config::Config;
use crate::fault::{Engine, Operation, Struck};
use crate::memory::{self, Block, Place};
use crate::view::View;
use crate::world::Context;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Bytes handled at a time.
const CHUNK: usize = 256 << 10;
/// Bytes of a sector, the unit in which GPUs write memory.
const SECTOR: usize = 32;
/// Bytes by which `shift` moves data.
const PAGE: u64 = 4096;

/// What was sent to a place before, and before that differing: by address of the destination.
type Sent = HashMap<(u64, usize), (Vec<u8>, Option<Vec<u8>>)>;
static SENT: Mutex<Option<Sent>> = Mutex::new(None);

/// A copy by the copy engine of the device of `context`; returns its end.
pub(crate) fn by_engine(
    context: &Arc<Context>,
    dst: u64,
    src: u64,
    len: u64,
    start: u64,
) -> Result<u64, i32> {
    let (to, from) = (memory::find(dst, len)?, memory::find(src, len)?);
    let config = Config::get();
    let me = context.device;
    let remote = match (from.place, to.place) {
        (Place::Device(a), Place::Device(b)) if a != b => Some(if a == me { b } else { a }),
        _ => None,
    };
    let staged = remote.is_some_and(|d| !context.reaches(d));
    let operation = Operation { engine: Engine::Copy, actor: me, from: from.place, to: to.place, bytes: len };
    let struck = if staged {
        // The driver goes through the host: both halves can be struck, the peer path cannot.
        Operation { to: Place::Host, ..operation }.begin()?;
        Operation { from: Place::Host, ..operation }.begin()?
    } else {
        operation.begin()?
    };
    let way = Way {
        src,
        dst,
        len,
        from: behind(&from, me, &struck),
        to: behind(&to, me, &struck),
        foreign: foreign(&from, &struck),
        struck,
    };
    way.carry();
    let (ports, rate): (Vec<Port>, f64) = match (from.place, to.place) {
        (Place::Device(a), Place::Device(b)) if a == b => (vec![], config.local_gb_s),
        (Place::Device(a), Place::Device(b)) if staged => {
            (vec![Port::HostOut(a), Port::HostIn(b)], config.driver_staged_gb_s)
        }
        (Place::Device(a), Place::Device(b)) => (vec![Port::PeerOut(a), Port::PeerIn(b)], config.peer_gb_s),
        (Place::Device(a), Place::Host) => (vec![Port::HostOut(a)], config.host_gb_s),
        (Place::Host, Place::Device(b)) => (vec![Port::HostIn(b)], config.host_gb_s),
        (Place::Host, Place::Host) => (vec![], 20.0),
    };
    Ok(clock::pass(start, &ports, len, rate / way.struck.slowness()))
}

/// A copy by the SMs; returns its end.
pub(crate) fn by_sm(view: &mut View, dst: u64, src: u64, len: u64, start: u64) -> Result<u64, i32> {
    let config = Config::get();
    let me = view.context.device;
    let from = view.spot(src, len, 16, false)?;
    let to = view.spot(dst, len, 16, true)?;
    let read = from.peer;
    let struck = if read { from.struck.clone() } else { to.struck.clone() };
    let way = Way {
        src,
        dst,
        len,
        foreign: foreign(&*memory::find(src, len)?, &struck),
        from: from.block.clone(),
        to: to.block.clone(),
        struck,
    };
    way.carry();
    let place = |b: &Block| match b.place {
        Place::Device(d) => d,
        Place::Host => me,
    };
    let (ports, rate) = if read {
        (vec![Port::PeerOut(place(&from.block)), Port::PeerIn(me)], config.sm_read_gb_s)
    } else if to.peer {
        (vec![Port::PeerOut(me), Port::PeerIn(place(&to.block))], config.sm_write_gb_s)
    } else if from.block.place == Place::Host {
        (vec![Port::HostIn(me)], config.host_gb_s)
    } else if to.block.place == Place::Host {
        (vec![Port::HostOut(me)], config.host_gb_s)
    } else {
        (vec![], config.local_gb_s)
    };
    Ok(clock::pass(start, &ports, len, rate / way.struck.slowness()))
}

/// Stores `data`, made on the way, at `dst` as seen by a kernel.
pub(crate) fn store(view: &mut View, dst: u64, data: &[u64]) -> Result<(), i32> {
    let len = data.len() as u64 * 8;
    let to = view.spot(dst, len, 8, true)?;
    let source = Arc::new(Block::borrowed(data.as_ptr() as u64, len));
    let way =
        Way { src: source.start, dst, len, foreign: None, from: source, to: to.block, struck: to.struck };
    way.carry();
    Ok(())
}

fn behind(block: &Arc<Block>, me: usize, struck: &Struck) -> Arc<Block> {
    match block.place {
        Place::Device(d) if d != me && struck.has("mirror") => block.mirror(me),
        _ => block.clone(),
    }
}

fn foreign(from: &Block, struck: &Struck) -> Option<Arc<Block>> {
    struck.has("foreign").then(|| memory::another(from)).flatten()
}

/// One transfer: addresses as the caller gave them, and the blocks that really stand behind them.
struct Way {
    src: u64,
    dst: u64,
    len: u64,
    from: Arc<Block>,
    to: Arc<Block>,
    foreign: Option<Arc<Block>>,
    struck: Struck,
}

impl Way {
    fn carry(&self) {
        let source = self.base(&self.from, self.src);
        let destination = self.base(&self.to, self.dst);
        if self.struck.clean() || self.struck.has("mirror") {
            // SAFETY: both ranges lie in live blocks that `self` holds; `copy` allows overlap.
            unsafe { std::ptr::copy(source as *const u8, destination as *mut u8, self.len as usize) };
            return;
        }
        let mut at = 0;
        while at < self.len {
            let n = CHUNK.min((self.len - at) as usize);
            let mut data = vec![0; n];
            self.read(source, at, &mut data);
            self.deliver(destination + at, at, data);
            at += n as u64;
        }
    }

    /// The mirror of a block is as long as the block and stands elsewhere.
    fn base(&self, block: &Block, addr: u64) -> u64 {
        if (block.start..block.start + block.len).contains(&addr) {
            return addr;
        }
        let real = memory::find(addr, 1).map_or(addr, |b| b.start);
        block.start + (addr - real)
    }

    fn read(&self, source: u64, at: u64, data: &mut [u8]) {
        let copy = |from: u64, to: &mut [u8]| {
            // SAFETY: the caller's ranges lie inside live blocks that `self` holds.
            unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to.as_mut_ptr(), to.len()) };
        };
        if let Some(other) = self.foreign.as_ref().filter(|b| b.len >= data.len() as u64) {
            let room = other.len - data.len() as u64;
            copy(other.start + at.min(room), data);
        } else if self.struck.has("shift") && self.len > PAGE {
            // Every byte comes from one page further on; the last page from the first.
            let from = (at + PAGE) % self.len;
            let first = (self.len - from).min(data.len() as u64) as usize;
            let (head, tail) = data.split_at_mut(first);
            copy(source + from, head);
            copy(source, tail);
        } else {
            copy(source + at, data);
        }
    }

    fn deliver(&self, to: u64, at: u64, mut data: Vec<u8>) {
        let struck = &self.struck;
        if struck.has("drop") {
            return;
        }
        if struck.has("stale") {
            data = before(to, data);
        }
        if struck.has("zeros") {
            data.fill(0);
        }
        if let Some(every) = struck.number("flip", 1024) {
            for (i, word) in data.chunks_exact_mut(8).enumerate() {
                if chosen(at / 8 + i as u64, every) {
                    word[2] ^= 0x10;
                }
            }
        }
        let Some(every) = struck.number("drop-sector", 64) else {
            return put(to, &data);
        };
        for (i, sector) in data.chunks(SECTOR).enumerate() {
            if !chosen(at / SECTOR as u64 + i as u64, every) {
                put(to + (i * SECTOR) as u64, sector);
            }
        }
    }
}

fn put(to: u64, data: &[u8]) {
    // SAFETY: the callers' ranges lie inside live blocks that they hold.
    unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), to as *mut u8, data.len()) };
}

/// One unit in `every`, where exactly by the seed.
fn chosen(index: u64, every: u64) -> bool {
    let group = index / every;
    index % every == mix64(group ^ Config::get().seed) % every
}

/// What was sent to `to` before `data`, if anything else was.
fn before(to: u64, data: Vec<u8>) -> Vec<u8> {
    let mut sent = SENT.lock().unwrap();
    let entry = sent.get_or_insert_default().entry((to, data.len())).or_insert_with(|| (data.clone(), None));
    if entry.0 != data {
        entry.1 = Some(std::mem::replace(&mut entry.0, data));
    }
    entry.1.as_ref().unwrap_or(&entry.0).clone()
}
