//! The device code of `src/gpu/kernels.rs` in host code: every entry point does what is written there.

use crate::clock::{self, mix64, noisy};
use crate::code::{LAUNCH_FAILED, NOT_FOUND};
use crate::config::Config;
use crate::memory::Block;
use crate::transfer;
use crate::view::View;
use crate::world::Context;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// 64-bit words of a report before its records.
const HEAD: u64 = 8;
/// Words that a checking kernel looks at at a time.
const STEP: u64 = 32 << 10;

/// Entry points and the bytes of their parameters.
pub(crate) const KNOWN: [(&str, &[usize]); 9] = [
    ("pf_fill", &[8, 8, 8, 8, 4]),
    ("pf_poison", &[8, 8, 8]),
    ("pf_verify", &[8, 8, 8, 8, 4, 8, 8, 4]),
    ("pf_copy", &[8, 8, 8, 4]),
    ("pf_chase", &[8, 4, 8]),
    ("pf_gate", &[8, 8]),
    ("pf_produce", &[8, 8, 8, 4, 4, 4, 8, 8, 8, 8]),
    ("pf_consume", &[8, 8, 8, 4, 4, 4, 8, 8, 8, 8, 4, 8]),
    ("pf_allreduce", &[8, 8, 8, 8, 8, 4, 4, 4, 4, 4, 8, 8]),
];

/// One launch.
pub(crate) struct Launch {
    pub(crate) name: String,
    pub(crate) blocks: u64,
    /// Parameters in order, widened.
    pub(crate) parameters: Vec<u64>,
}

/// Runs a kernel to its end on this thread; returns the modelled end.
pub(crate) fn run(context: &Arc<Context>, launch: &Launch, start: u64) -> Result<u64, i32> {
    let p = &launch.parameters;
    let local = |bytes: u64| bytes as f64 / Config::get().local_gb_s;
    match launch.name.as_str() {
        "pf_fill" => {
            let mut view = View::new(context, p[1] * 8);
            fill(&mut view, p[0], p[1], |i| word(p[2], p[3], p[4] + i))?;
            Ok(clock::work(start, local(p[1] * 8)))
        }
        "pf_poison" => {
            let mut view = View::new(context, p[1] * 8);
            fill(&mut view, p[0], p[1], |_| p[2])?;
            Ok(clock::work(start, local(p[1] * 8)))
        }
        "pf_verify" => {
            let mut view = View::new(context, p[1] * 8);
            let report = Report::at(&mut view, p[6], p[7], p[5])?;
            check(&mut view, &report, p[0], p[1], 0, |i| word(p[2], p[3], p[4] + i))?;
            Ok(clock::work(start, local(p[1] * 8) * view.slowness()))
        }
        "pf_copy" => {
            let mut view = View::new(context, p[2] * 16);
            if p[2] == 0 || p[3] == 0 {
                return Ok(clock::work(start, 0.0));
            }
            let mut end = start;
            for _ in 0..p[3] {
                end = transfer::by_sm(&mut view, p[0], p[1], p[2] * 16, end)?;
            }
            Ok(end)
        }
        "pf_chase" => chase(context, p, start),
        "pf_gate" => Ok(clock::work(start, if p[0] == 0 { p[1] as f64 } else { 0.0 })),
        "pf_produce" => produce(context, p, start),
        "pf_consume" => consume(context, p, start),
        "pf_allreduce" => allreduce(context, p, launch.blocks, start),
        _ => Err(NOT_FOUND),
    }
}

/// Word `i` of the pattern.
fn word(key: u64, header: u64, i: u64) -> u64 {
    mix64((header | i) ^ key)
}

fn fill(view: &mut View, dst: u64, words: u64, value: impl Fn(u64) -> u64) -> Result<(), i32> {
    for first in (0..words).step_by(STEP as usize) {
        let data: Vec<u64> = (first..words.min(first + STEP)).map(&value).collect();
        transfer::store(view, dst + first * 8, &data)?;
    }
    Ok(())
}

/// Where a checking kernel reports.
struct Report {
    /// Keeps the memory of the report alive.
    _block: Arc<Block>,
    words: &'static [AtomicU64],
    slots: u64,
    poison: u64,
}

impl Report {
    fn at(view: &mut View, at: u64, slots: u64, poison: u64) -> Result<Self, i32> {
        let len = HEAD + 2 * slots;
        let spot = view.spot(at, len * 8, 8, true)?;
        // SAFETY: inside a live block that `_block` holds as long as the reference is used; aligned.
        let words = unsafe { std::slice::from_raw_parts(spot.at as *const AtomicU64, len as usize) };
        Ok(Self { _block: spot.block, words, slots, poison })
    }

    fn wrong(&self, index: u64, found: u64) {
        self.count(index);
        if found == 0 {
            self.words[1].fetch_add(1, Ordering::Relaxed);
        }
        if found == self.poison {
            self.words[2].fetch_add(1, Ordering::Relaxed);
        }
        let slot = self.words[5].fetch_add(1, Ordering::Relaxed);
        if slot < self.slots {
            let record = (HEAD + 2 * slot) as usize;
            self.words[record].store(index, Ordering::Relaxed);
            self.words[record + 1].store(found, Ordering::Relaxed);
        }
    }

    fn count(&self, index: u64) {
        self.words[0].fetch_add(1, Ordering::Relaxed);
        self.words[3].fetch_max(u64::MAX - index, Ordering::Relaxed);
        self.words[4].fetch_max(index + 1, Ordering::Relaxed);
    }

    fn gave_up(&self) {
        self.words[6].store(1, Ordering::Relaxed);
    }

    fn progress(&self, n: u64) {
        self.words[7].store(n, Ordering::Release);
    }
}

fn check(
    view: &mut View,
    report: &Report,
    src: u64,
    words: u64,
    index: u64,
    value: impl Fn(u64) -> u64,
) -> Result<(), i32> {
    for first in (0..words).step_by(STEP as usize) {
        let found = view.words(src + first * 8, STEP.min(words - first))?;
        for (i, found) in (first..).zip(found) {
            if found != value(i) {
                report.wrong(index + i, found);
            }
        }
    }
    Ok(())
}

fn chase(context: &Arc<Context>, p: &[u64], start: u64) -> Result<u64, i32> {
    let mut view = View::new(context, p[1] * 8);
    let mut at = p[0];
    let mut remote = 0;
    for _ in 0..p[1] {
        remote += u64::from(view.spot(at, 8, 8, false)?.peer);
        at = view.load(at)?;
    }
    let config = Config::get();
    let own = (p[1] - remote) as f64 * config.load_ns / 3.0;
    let ns = noisy(remote as f64 * config.load_ns * view.slowness() + own);
    view.store(p[2], at)?;
    view.store(p[2] + 8, ns * 7 / 4)?;
    view.store(p[2] + 16, ns)?;
    Ok(clock::work(start, ns as f64))
}

fn produce(context: &Arc<Context>, p: &[u64], start: u64) -> Result<u64, i32> {
    let [dst, flag, ack, pages, ring, page_words, key, header, at, limit] = *p else {
        return Err(LAUNCH_FAILED);
    };
    let bytes = pages * page_words * 8;
    let mut view = View::new(context, bytes);
    let report = Report::at(&mut view, at, 0, 0)?;
    let late = view.spot(dst, 8, 8, true)?.struck.has("late");
    for page in 0..pages {
        if !wait(&mut view, ack, limit, |seen| u64::from(seen) + ring > page)? {
            report.gave_up();
            break;
        }
        let header = header | (page & 0xfff) << 32;
        let data: Vec<u64> = (0..page_words).map(|i| word(key, header, i)).collect();
        let to = dst + page % ring * page_words * 8;
        if late {
            // The flag overtakes the data: the consumer reads the page before it is there.
            raise(&mut view, flag, page as u32 + 1)?;
            std::thread::sleep(Duration::from_millis(2));
            transfer::store(&mut view, to, &data)?;
        } else {
            transfer::store(&mut view, to, &data)?;
            raise(&mut view, flag, page as u32 + 1)?;
        }
        report.progress(page + 1);
    }
    Ok(clock::work(start, bytes as f64 / Config::get().sm_write_gb_s * view.slowness()))
}

fn consume(context: &Arc<Context>, p: &[u64], start: u64) -> Result<u64, i32> {
    let [src, flag, ack, pages, ring, page_words, key, header, poison, at, slots, limit] = *p else {
        return Err(LAUNCH_FAILED);
    };
    let bytes = pages * page_words * 8;
    let mut view = View::new(context, bytes);
    let report = Report::at(&mut view, at, slots, poison)?;
    for page in 0..pages {
        if !wait(&mut view, flag, limit, |seen| u64::from(seen) > page)? {
            report.gave_up();
            break;
        }
        let header = header | (page & 0xfff) << 32;
        let from = src + page % ring * page_words * 8;
        check(&mut view, &report, from, page_words, page * page_words, |i| word(key, header, i))?;
        raise(&mut view, ack, page as u32 + 1)?;
        report.progress(page + 1);
    }
    Ok(clock::work(start, bytes as f64 / Config::get().sm_write_gb_s * view.slowness()))
}

fn allreduce(context: &Arc<Context>, p: &[u64], blocks: u64, start: u64) -> Result<u64, i32> {
    let [mine, theirs, my_flags, their_flags, out, vectors, rounds, first, rank, seed, at, limit] = *p else {
        return Err(LAUNCH_FAILED);
    };
    let mut view = View::new(context, vectors * 16);
    let report = Report::at(&mut view, at, 0, 0)?;
    let value = |e: u64, n: u64, rank: u64| {
        let mixed = (e as u32).wrapping_mul(0x9E37_79B1) ^ (n as u32).wrapping_mul(0x85EB_CA6B) ^ seed as u32;
        mixed.wrapping_add((rank as u32).wrapping_mul(0xC2B2_AE35))
    };
    let both =
        |e: u64, n: u64, r: u64| u64::from(value(2 * e, n, r)) | u64::from(value(2 * e + 1, n, r)) << 32;
    'rounds: for round in 0..rounds {
        let n = u64::from((first + round) as u32);
        let slot = (n & 1) * vectors * 16;
        let own: Vec<u64> = (0..2 * vectors).map(|e| both(e, n, rank)).collect();
        transfer::store(&mut view, mine + slot, &own)?;
        for block in 0..blocks {
            raise(&mut view, their_flags + block * 128, n as u32 + 1)?;
        }
        for block in 0..blocks {
            if !wait(&mut view, my_flags + block * 128, limit, |seen| seen > n as u32)? {
                report.gave_up();
                break 'rounds;
            }
        }
        let peer = view.words(theirs + slot, 2 * vectors)?;
        let add = |a: u64, b: u64| {
            let low = (a as u32).wrapping_add(b as u32);
            u64::from(low) | u64::from(((a >> 32) as u32).wrapping_add((b >> 32) as u32)) << 32
        };
        let sums: Vec<u64> = own.iter().zip(&peer).map(|(a, b)| add(*a, *b)).collect();
        transfer::store(&mut view, out, &sums)?;
        for (e, sum) in (0..).zip(&sums) {
            let right = add(both(e, n, 0), both(e, n, 1));
            for half in 0..2 {
                if (sum >> (32 * half)) as u32 != (right >> (32 * half)) as u32 {
                    report.count(2 * e + half);
                }
            }
        }
        report.progress(round + 1);
    }
    let each = 3.0 * Config::get().load_ns + vectors as f64 * 16.0 / Config::get().sm_read_gb_s;
    Ok(clock::work(start, rounds as f64 * each * view.slowness()))
}

/// Who waits for a flag is woken by the next one that is raised.
static RAISED: (Mutex<u64>, Condvar) = (Mutex::new(0), Condvar::new());

fn raise(view: &mut View, flag: u64, value: u32) -> Result<(), i32> {
    view.raise(flag, value)?;
    *RAISED.0.lock().unwrap() += 1;
    RAISED.1.notify_all();
    Ok(())
}

/// Waits until the flag satisfies `enough`; false after `limit` nanoseconds.
fn wait(view: &mut View, flag: u64, limit: u64, enough: impl Fn(u32) -> bool) -> Result<bool, i32> {
    let until = Instant::now() + Duration::from_nanos(limit);
    loop {
        if enough(view.flag(flag)?) {
            return Ok(true);
        }
        if Instant::now() >= until {
            return Ok(false);
        }
        let count = RAISED.0.lock().unwrap();
        if enough(view.flag(flag)?) {
            return Ok(true);
        }
        // The host raises flags in pinned memory without telling us: look again soon.
        let _ = RAISED.1.wait_timeout(count, Duration::from_micros(500)).unwrap();
    }
}
