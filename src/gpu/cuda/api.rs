//! The functions of `libcuda.so.1` (cuda.h), with `CUresult` and handles as plain integers and pointers.

use crate::gpu::table::dl_api;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// `CUcontext`, `CUstream`, `CUevent`, `CUmodule`, `CUfunction`.
pub(super) type Handle = *mut c_void;

dl_api! {
    /// Functions of the driver API.
    pub(super) struct Api from ["libcuda.so.1"] {
        fn init = "cuInit" (c_uint) -> c_int;
        fn driver_version = "cuDriverGetVersion" (*mut c_int) -> c_int;
        fn error_name = "cuGetErrorName" (c_int, *mut *const c_char) -> c_int;
        fn error_string = "cuGetErrorString" (c_int, *mut *const c_char) -> c_int;
        fn device_count = "cuDeviceGetCount" (*mut c_int) -> c_int;
        fn device = "cuDeviceGet" (*mut c_int, c_int) -> c_int;
        fn device_name = "cuDeviceGetName" (*mut c_char, c_int, c_int) -> c_int;
        fn device_uuid = "cuDeviceGetUuid" (*mut [u8; 16], c_int) -> c_int;
        fn total_memory = "cuDeviceTotalMem_v2" (*mut usize, c_int) -> c_int;
        fn attribute = "cuDeviceGetAttribute" (*mut c_int, c_int, c_int) -> c_int;
        fn bus_id = "cuDeviceGetPCIBusId" (*mut c_char, c_int, c_int) -> c_int;
        fn can_access_peer = "cuDeviceCanAccessPeer" (*mut c_int, c_int, c_int) -> c_int;
        fn retain = "cuDevicePrimaryCtxRetain" (*mut Handle, c_int) -> c_int;
        fn release = "cuDevicePrimaryCtxRelease_v2" (c_int) -> c_int;
        fn set_current = "cuCtxSetCurrent" (Handle) -> c_int;
        fn synchronize = "cuCtxSynchronize" () -> c_int;
        fn enable_peer = "cuCtxEnablePeerAccess" (Handle, c_uint) -> c_int;
        fn disable_peer = "cuCtxDisablePeerAccess" (Handle) -> c_int;
        fn memory_info = "cuMemGetInfo_v2" (*mut usize, *mut usize) -> c_int;
        fn alloc = "cuMemAlloc_v2" (*mut u64, usize) -> c_int;
        fn free = "cuMemFree_v2" (u64) -> c_int;
        fn host_alloc = "cuMemHostAlloc" (*mut *mut c_void, usize, c_uint) -> c_int;
        fn host_free = "cuMemFreeHost" (*mut c_void) -> c_int;
        fn host_pointer = "cuMemHostGetDevicePointer_v2" (*mut u64, *mut c_void, c_uint) -> c_int;
        fn copy_peer = "cuMemcpyPeerAsync" (u64, Handle, u64, Handle, usize, Handle) -> c_int;
        fn copy_local = "cuMemcpyDtoDAsync_v2" (u64, u64, usize, Handle) -> c_int;
        fn copy_to_host = "cuMemcpyDtoHAsync_v2" (*mut c_void, u64, usize, Handle) -> c_int;
        fn copy_to_device = "cuMemcpyHtoDAsync_v2" (u64, *const c_void, usize, Handle) -> c_int;
        fn stream_create = "cuStreamCreate" (*mut Handle, c_uint) -> c_int;
        fn stream_destroy = "cuStreamDestroy_v2" (Handle) -> c_int;
        fn stream_synchronize = "cuStreamSynchronize" (Handle) -> c_int;
        fn stream_wait = "cuStreamWaitEvent" (Handle, Handle, c_uint) -> c_int;
        fn event_create = "cuEventCreate" (*mut Handle, c_uint) -> c_int;
        fn event_destroy = "cuEventDestroy_v2" (Handle) -> c_int;
        fn event_record = "cuEventRecord" (Handle, Handle) -> c_int;
        fn event_synchronize = "cuEventSynchronize" (Handle) -> c_int;
        fn event_elapsed = "cuEventElapsedTime" (*mut f32, Handle, Handle) -> c_int;
        fn module_load = "cuModuleLoadDataEx" (*mut Handle, *const c_void, c_uint, *mut c_int, *mut *mut c_void) -> c_int;
        fn module_function = "cuModuleGetFunction" (*mut Handle, Handle, *const c_char) -> c_int;
        fn launch = "cuLaunchKernel" (Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void) -> c_int;
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_documented_symbols_are_those_bound() {
        assert_eq!(super::Api::SYMBOLS, crate::gpu::kernels::SYMBOLS);
    }
}
