//! Which faults strike an operation.

use crate::code::SUCCESS;
use crate::config::{Config, Fault};
use crate::memory::Place;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Who moves the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Copy,
    Sm,
}

/// One operation that moves bytes from `from` to `to`; `actor` is the device that does it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    pub(crate) engine: Engine,
    pub(crate) actor: usize,
    pub(crate) from: Place,
    pub(crate) to: Place,
    pub(crate) bytes: u64,
}

/// The faults of one operation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Struck(Vec<&'static Fault>);

impl Operation {
    fn path(&self) -> &'static str {
        match (self.from, self.to) {
            (Place::Device(a), Place::Device(b)) if a == b => "local",
            (Place::Device(_), Place::Device(_)) => "peer",
            _ => "host",
        }
    }

    fn op(&self) -> &'static str {
        match (self.from, self.to) {
            (Place::Device(_), Place::Host) => "read",
            (Place::Host, _) => "write",
            (_, to) if to == Place::Device(self.actor) => "read",
            _ => "write",
        }
    }

    fn pair_matches(&self, fault: &Fault) -> bool {
        let Some(pair) = fault.pair else { return true };
        match (self.from, self.to) {
            (Place::Device(a), Place::Device(b)) if a == b => a == pair.from || pair.both && a == pair.to,
            // A mirror stands in the window of the one who looks, whichever way the bytes go.
            (Place::Device(a), Place::Device(b)) if fault.kind == "mirror" => {
                pair.covers(self.actor, if a == self.actor { b } else { a })
            }
            (Place::Device(a), Place::Device(b)) => pair.covers(a, b),
            (Place::Device(a), Place::Host) => a == pair.from,
            (Place::Host, Place::Device(b)) => b == pair.to,
            (Place::Host, Place::Host) => false,
        }
    }

    fn matches(&self, fault: &Fault) -> bool {
        let engine = match self.engine {
            Engine::Copy => "ce",
            Engine::Sm => "sm",
        };
        fault.call.is_none()
            && fault.path == self.path()
            && fault.engine.as_deref().is_none_or(|e| e == engine)
            && fault.op.as_deref().is_none_or(|o| o == self.op())
            && (fault.min..=fault.max).contains(&self.bytes)
            && self.pair_matches(fault)
    }

    /// Begins the operation: a hang or a crash happens here, an error code is returned from here.
    pub(crate) fn begin(&self) -> Result<Struck, i32> {
        static SEEN: OnceLock<Vec<AtomicU64>> = OnceLock::new();
        let faults = &Config::get().faults;
        let seen = SEEN.get_or_init(|| faults.iter().map(|_| AtomicU64::new(0)).collect());
        let mut struck = Vec::new();
        for (fault, seen) in faults.iter().zip(seen) {
            if !self.matches(fault) {
                continue;
            }
            let n = seen.fetch_add(1, Ordering::Relaxed);
            if n < fault.after || n - fault.after >= fault.times || !fault.first_time() {
                continue;
            }
            match fault.kind.as_str() {
                "hang" => loop {
                    std::thread::park();
                },
                "crash" => std::process::abort(),
                "error" => return Err(i32::try_from(fault.number).unwrap_or(999)),
                _ => struck.push(fault),
            }
        }
        Ok(Struck(struck))
    }
}

impl Struck {
    /// The fault of this kind, if it struck; its number, or `default` when none was given.
    pub(crate) fn number(&self, kind: &str, default: u64) -> Option<u64> {
        let fault = self.0.iter().find(|f| f.kind == kind)?;
        Some(if fault.number == 0 { default } else { fault.number })
    }

    pub(crate) fn has(&self, kind: &str) -> bool {
        self.number(kind, 0).is_some()
    }

    /// Times longer that the operation takes; the fault's number is a percentage.
    pub(crate) fn slowness(&self) -> f64 {
        self.number("slow", 200).unwrap_or(100) as f64 / 100.0
    }

    /// Nothing touches the data.
    pub(crate) fn clean(&self) -> bool {
        self.0.iter().all(|f| f.kind == "slow" || f.kind == "late")
    }
}

/// What `fault=error:N;call=NAME` and its kin make of a call.
pub(crate) fn at_call(name: &str) -> i32 {
    Config::get().at_call(name).unwrap_or(SUCCESS)
}
