//! A `libcuda.so.1` with host memory behind it and faults to switch on (`PEERFIX_FAKE`).
//!
//! Same symbols, same error codes, contexts per device, a thread per stream. Device time is modelled: each
//! operation takes what its bytes take at the configured rates, and events report that time.

mod api;
mod clock;
#[path = "../../config.rs"]
mod config;
mod fault;
mod kernels;
mod memory;
mod ptx;
mod stream;
mod transfer;
mod view;
mod world;

/// Result codes of the driver API (`cuda.h`, `enum cudaError_enum`).
mod code {
    pub(crate) const SUCCESS: i32 = 0;
    pub(crate) const INVALID_VALUE: i32 = 1;
    pub(crate) const OUT_OF_MEMORY: i32 = 2;
    pub(crate) const NOT_INITIALIZED: i32 = 3;
    pub(crate) const NO_DEVICE: i32 = 100;
    pub(crate) const INVALID_DEVICE: i32 = 101;
    pub(crate) const INVALID_CONTEXT: i32 = 201;
    pub(crate) const NO_BINARY_FOR_GPU: i32 = 209;
    pub(crate) const PEER_ACCESS_UNSUPPORTED: i32 = 217;
    pub(crate) const INVALID_PTX: i32 = 218;
    pub(crate) const UNSUPPORTED_PTX_VERSION: i32 = 222;
    pub(crate) const INVALID_HANDLE: i32 = 400;
    pub(crate) const NOT_FOUND: i32 = 500;
    pub(crate) const NOT_READY: i32 = 600;
    pub(crate) const ILLEGAL_ADDRESS: i32 = 700;
    pub(crate) const PEER_ACCESS_ALREADY_ENABLED: i32 = 704;
    pub(crate) const PEER_ACCESS_NOT_ENABLED: i32 = 705;
    pub(crate) const TOO_MANY_PEERS: i32 = 711;
    pub(crate) const MISALIGNED_ADDRESS: i32 = 716;
    pub(crate) const LAUNCH_FAILED: i32 = 719;
}
