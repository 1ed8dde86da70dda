//! NCCL, where it is installed: one communicator for each GPU, all in this process.

use super::cuda::{Buffer, Context, Stream};
use super::table::dl_api;
use std::ffi::{CStr, c_char, c_int, c_void};

type Handle = *mut c_void;

/// `ncclUint64` of nccl.h.
const UINT64: c_int = 5;
/// `ncclSum` of nccl.h.
const SUM: c_int = 0;

dl_api! {
    /// Functions of nccl.h, with `ncclResult_t` as a plain integer.
    struct Api from ["libnccl.so.2"] {
        fn version = "ncclGetVersion" (*mut c_int) -> c_int;
        fn error_string = "ncclGetErrorString" (c_int) -> *const c_char;
        fn init_all = "ncclCommInitAll" (*mut Handle, c_int, *const c_int) -> c_int;
        fn abort = "ncclCommAbort" (Handle) -> c_int;
        fn group_start = "ncclGroupStart" () -> c_int;
        fn group_end = "ncclGroupEnd" () -> c_int;
        fn all_reduce = "ncclAllReduce" (u64, u64, usize, c_int, c_int, Handle, Handle) -> c_int;
    }
}

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call}: {what}")]
pub struct NcclError {
    call: &'static str,
    what: String,
}

/// One rank of an all-reduce.
pub struct Rank<'a> {
    /// Summed.
    pub send: &'a Buffer,
    /// Takes the sum.
    pub receive: &'a Buffer,
    /// Stream of the GPU that owns both.
    pub stream: &'a Stream,
}

/// A communicator for each of some GPUs, in their order.
pub struct Nccl {
    api: Api,
    communicators: Vec<Handle>,
}

impl Nccl {
    /// Communicators for these GPUs; none where the library is not installed.
    pub fn open(contexts: &[&Context]) -> Option<Result<Self, NcclError>> {
        let api = Api::open().ok()?;
        let devices: Vec<c_int> = contexts.iter().map(|context| context.device().ordinal).collect();
        let mut nccl = Self { api, communicators: vec![std::ptr::null_mut(); devices.len()] };
        let count = c_int::try_from(devices.len()).unwrap_or(0);
        // SAFETY: stores `count` handles; both arrays hold that many.
        let code = unsafe { (nccl.api.init_all)(nccl.communicators.as_mut_ptr(), count, devices.as_ptr()) };
        Some(match nccl.check("ncclCommInitAll", code) {
            Ok(()) => Ok(nccl),
            Err(error) => {
                nccl.communicators.clear();
                Err(error)
            }
        })
    }

    /// `2.28.9`.
    pub fn version(&self) -> Option<String> {
        let mut code = 0;
        // SAFETY: stores one integer.
        (unsafe { (self.api.version)(&raw mut code) } == 0)
            .then(|| format!("{}.{}.{}", code / 10_000, code / 100 % 100, code % 100))
    }

    /// Queues one all-reduce of `words` 64-bit words: sums modulo 2^64, one rank for each communicator.
    pub fn all_reduce(&self, ranks: &[Rank<'_>], words: u64) -> Result<(), NcclError> {
        let fits = ranks.iter().all(|rank| words * 8 <= rank.send.bytes().min(rank.receive.bytes()));
        let (true, Ok(words)) = (fits && ranks.len() == self.communicators.len(), usize::try_from(words))
        else {
            return Err(NcclError { call: "ncclAllReduce", what: "ranks and buffers do not fit".to_owned() });
        };
        // SAFETY: no arguments.
        self.check("ncclGroupStart", unsafe { (self.api.group_start)() })?;
        let mut result = Ok(());
        for (rank, communicator) in ranks.iter().zip(&self.communicators) {
            // SAFETY: both buffers hold that many words, and live until their contexts are synchronised; the
            // stream belongs to the communicator's GPU.
            let code = unsafe {
                (self.api.all_reduce)(
                    rank.send.address(),
                    rank.receive.address(),
                    words,
                    UINT64,
                    SUM,
                    *communicator,
                    rank.stream.handle(),
                )
            };
            result = result.and(self.check("ncclAllReduce", code));
        }
        // SAFETY: ends the group begun above.
        result.and(self.check("ncclGroupEnd", unsafe { (self.api.group_end)() }))
    }

    fn check(&self, call: &'static str, code: c_int) -> Result<(), NcclError> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: takes any code, returns a static text or null.
        let text = unsafe { (self.api.error_string)(code) };
        let words = if text.is_null() {
            "no words for it".to_owned()
        } else {
            // SAFETY: not null, terminated by NUL, never freed.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        };
        Err(NcclError { call, what: format!("{words} ({code})") })
    }
}

impl Drop for Nccl {
    fn drop(&mut self) {
        for communicator in &self.communicators {
            // SAFETY: made once, ended once; aborting needs no other rank.
            let _ = unsafe { (self.api.abort)(*communicator) };
        }
    }
}
