//! Devices, contexts and handles of this process.

use crate::code::{INVALID_CONTEXT, INVALID_DEVICE, NOT_INITIALIZED, SUCCESS};
use crate::config::Config;
use crate::memory;
use crate::stream::Stream;
use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

/// The primary context of a device.
pub(crate) struct Context {
    pub(crate) handle: usize,
    /// Index by bus address, not CUDA's ordinal.
    pub(crate) device: usize,
    /// The error that ended the context; every later call returns it.
    pub(crate) error: AtomicI32,
    peers: Mutex<BTreeSet<usize>>,
    streams: Mutex<Vec<Arc<Stream>>>,
    null: Mutex<Option<Arc<Stream>>>,
    users: AtomicUsize,
}

/// Objects by the handle that the caller holds. Handles of different kinds never coincide.
pub(crate) struct Table<T> {
    kind: usize,
    next: AtomicUsize,
    items: LazyLock<Mutex<HashMap<usize, Arc<T>>>>,
}

impl<T> Table<T> {
    pub(crate) const fn new(kind: usize) -> Self {
        Self { kind, next: AtomicUsize::new(1), items: LazyLock::new(Mutex::default) }
    }

    pub(crate) fn add(&self, make: impl FnOnce(usize) -> T) -> usize {
        let handle = self.kind << 40 | self.next.fetch_add(1, Ordering::Relaxed) << 4;
        self.items.lock().unwrap().insert(handle, Arc::new(make(handle)));
        handle
    }

    pub(crate) fn get(&self, handle: usize) -> Option<Arc<T>> {
        self.items.lock().unwrap().get(&handle).cloned()
    }

    pub(crate) fn remove(&self, handle: usize) -> Option<Arc<T>> {
        self.items.lock().unwrap().remove(&handle)
    }
}

pub(crate) static INITIALISED: AtomicBool = AtomicBool::new(false);
static CONTEXTS: Table<Context> = Table::new(1);
static PRIMARY: Mutex<[usize; 32]> = Mutex::new([0; 32]);

thread_local! {
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// Index by bus address of CUDA's device `ordinal`.
pub(crate) fn device(ordinal: i32) -> Result<usize, i32> {
    if !INITIALISED.load(Ordering::Relaxed) {
        return Err(NOT_INITIALIZED);
    }
    let gpus = Config::get().gpus;
    let index = usize::try_from(ordinal).ok().filter(|i| *i < gpus).ok_or(INVALID_DEVICE)?;
    Ok(if Config::get().reversed { gpus - 1 - index } else { index })
}

/// CUDA's ordinal of a device.
pub(crate) fn ordinal(device: usize) -> i32 {
    let config = Config::get();
    (if config.reversed { config.gpus - 1 - device } else { device }) as i32
}

/// Takes hold of the primary context of a device.
pub(crate) fn retain(device: usize) -> usize {
    let mut primary = PRIMARY.lock().unwrap();
    if let Some(context) = CONTEXTS.get(primary[device]) {
        context.users.fetch_add(1, Ordering::Relaxed);
        return context.handle;
    }
    primary[device] = CONTEXTS.add(|handle| Context {
        handle,
        device,
        error: AtomicI32::new(SUCCESS),
        peers: Mutex::default(),
        streams: Mutex::default(),
        null: Mutex::default(),
        users: AtomicUsize::new(1),
    });
    if let Some(folder) = &Config::get().state {
        // NVML's process list lives in the other library; a file tells it.
        let _ = std::fs::write(folder.join(format!("gpu{device}.pid{}", std::process::id())), "");
    }
    primary[device]
}

/// Lets go of it; the last user's call ends it.
pub(crate) fn release(device: usize) -> i32 {
    let mut primary = PRIMARY.lock().unwrap();
    let Some(context) = CONTEXTS.get(primary[device]) else { return INVALID_CONTEXT };
    if context.users.fetch_sub(1, Ordering::Relaxed) == 1 {
        CONTEXTS.remove(context.handle);
        primary[device] = 0;
        memory::free_device(device);
        if let Some(folder) = &Config::get().state {
            let _ = std::fs::remove_file(folder.join(format!("gpu{device}.pid{}", std::process::id())));
        }
    }
    SUCCESS
}

/// Makes a context current to this thread; 0 for none.
pub(crate) fn set_current(handle: usize) -> i32 {
    if handle != 0 && CONTEXTS.get(handle).is_none() {
        return INVALID_CONTEXT;
    }
    CURRENT.set(handle);
    SUCCESS
}

/// The handle of the current context, 0 for none.
pub(crate) fn current_handle() -> usize {
    CURRENT.get()
}

/// The current context, if it lives and no error has ended it.
pub(crate) fn current() -> Result<Arc<Context>, i32> {
    if !INITIALISED.load(Ordering::Relaxed) {
        return Err(NOT_INITIALIZED);
    }
    let context = context(CURRENT.get()).ok_or(INVALID_CONTEXT)?;
    context.alive()?;
    Ok(context)
}

/// A context by its handle.
pub(crate) fn context(handle: usize) -> Option<Arc<Context>> {
    CONTEXTS.get(handle)
}

impl Context {
    pub(crate) fn alive(&self) -> Result<(), i32> {
        match self.error.load(Ordering::Acquire) {
            SUCCESS => Ok(()),
            code => Err(code),
        }
    }

    /// An error on the device ends the context; the first one stays.
    pub(crate) fn end(&self, code: i32) {
        let _ = self.error.compare_exchange(SUCCESS, code, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Access to the memory of `device` is enabled.
    pub(crate) fn reaches(&self, device: usize) -> bool {
        device == self.device || self.peers.lock().unwrap().contains(&device)
    }

    /// False when it was enabled before.
    pub(crate) fn enable(&self, device: usize) -> bool {
        self.peers.lock().unwrap().insert(device)
    }

    /// Peers to which access is enabled.
    pub(crate) fn peers(&self) -> usize {
        self.peers.lock().unwrap().len()
    }

    /// False when it was not enabled.
    pub(crate) fn disable(&self, device: usize) -> bool {
        self.peers.lock().unwrap().remove(&device)
    }

    pub(crate) fn add_stream(&self, stream: &Arc<Stream>) {
        self.streams.lock().unwrap().push(stream.clone());
    }

    pub(crate) fn drop_stream(&self, stream: &Arc<Stream>) {
        self.streams.lock().unwrap().retain(|s| !Arc::ptr_eq(s, stream));
    }

    pub(crate) fn streams(&self) -> Vec<Arc<Stream>> {
        let null = self.null.lock().unwrap().clone();
        self.streams.lock().unwrap().iter().cloned().chain(null).collect()
    }

    /// The legacy default stream.
    pub(crate) fn null(self: &Arc<Self>) -> Arc<Stream> {
        self.null.lock().unwrap().get_or_insert_with(|| Stream::start(self, true)).clone()
    }

    /// The default stream if anything was ever given to it.
    pub(crate) fn null_if_used(&self) -> Option<Arc<Stream>> {
        self.null.lock().unwrap().clone()
    }
}
