//! The device code of one context, and its typed launches.

use super::api::Handle;
use super::{Context, CudaError, Stream};
use crate::gpu::kernels::{self, Kernel};
use std::collections::BTreeMap;
use std::ffi::{CString, c_int, c_void};

/// `CU_JIT_ERROR_LOG_BUFFER` and `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`.
const JIT_ERROR_LOG: c_int = 5;
const JIT_ERROR_LOG_BYTES: c_int = 6;
const LOG_BYTES: usize = 4096;

/// One parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arg {
    /// 32 bits.
    U32(u32),
    /// 64 bits, addresses too.
    U64(u64),
}

impl Arg {
    fn bytes(self) -> u8 {
        match self {
            Self::U32(_) => 4,
            Self::U64(_) => 8,
        }
    }
}

/// Blocks and threads of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Blocks.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
}

impl Grid {
    /// One thread.
    pub const ONE: Self = Self { blocks: 1, threads: 1 };
}

/// The loaded kernels of one context.
pub struct Kernels {
    context: Context,
    functions: BTreeMap<&'static str, Handle>,
}

// SAFETY: function handles may be used from any thread.
unsafe impl Send for Kernels {}

impl Kernels {
    /// Compiles and loads the device code. The system-scope part is left out on GPUs that are too old for it.
    pub fn load(context: &Context) -> Result<Self, CudaError> {
        let mut loaded = Self { context: context.clone(), functions: BTreeMap::new() };
        loaded.module(kernels::PLAIN, false)?;
        if context.device().capability.0 >= kernels::SYSTEM_MAJOR {
            loaded.module(kernels::SYSTEM, true)?;
        }
        Ok(loaded)
    }

    /// The kernels of system scope are there.
    pub fn has_system(&self) -> bool {
        self.functions.contains_key(kernels::PRODUCE.name)
    }

    fn module(&mut self, ptx: &str, system: bool) -> Result<(), CudaError> {
        self.context.enter()?;
        let api = self.context.api();
        let text = CString::new(ptx.trim_end_matches('\0')).map_err(|_| CudaError::Nonsense {
            call: "cuModuleLoadDataEx",
            what: "a NUL inside the device code".to_owned(),
        })?;
        let mut log = vec![0u8; LOG_BYTES];
        let mut options = [JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES];
        // The size is passed in the pointer itself (cuda.h, CUjit_option).
        let mut values: [*mut c_void; 2] =
            [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(LOG_BYTES - 1)];
        let mut module = std::ptr::null_mut();
        // SAFETY: the text is NUL terminated; options and values have two entries each and outlive the call.
        let code = unsafe {
            (api.module_load)(
                &raw mut module,
                text.as_ptr().cast(),
                2,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        api.check("cuModuleLoadDataEx", code).map_err(|error| with_log(error, &log))?;
        // The module lives as long as its context.
        for kernel in kernels::ALL.iter().filter(|kernel| kernel.system == system) {
            let name = CString::new(kernel.name).unwrap_or_default();
            let mut function = std::ptr::null_mut();
            // SAFETY: the module is loaded, the name is NUL terminated.
            let code = unsafe { (api.module_function)(&raw mut function, module, name.as_ptr()) };
            api.check("cuModuleGetFunction", code)?;
            self.functions.insert(kernel.name, function);
        }
        Ok(())
    }

    /// Launches `kernel` in `stream`. The parameters are checked against the kernel's list.
    pub fn launch(&self, stream: &Stream, kernel: Kernel, grid: Grid, args: &[Arg]) -> Result<(), CudaError> {
        let wrong = |what: String| CudaError::Nonsense { call: "cuLaunchKernel", what };
        let function = *self
            .functions
            .get(kernel.name)
            .ok_or_else(|| wrong(format!("{} is not loaded on this GPU", kernel.name)))?;
        if args.len() != kernel.parameters.len()
            || args.iter().zip(kernel.parameters).any(|(arg, bytes)| arg.bytes() != *bytes)
        {
            return Err(wrong(format!("{} takes parameters of {:?} bytes", kernel.name, kernel.parameters)));
        }
        // Little endian: the low half of a 64-bit slot is the 32-bit value.
        let mut slots: Vec<u64> = args
            .iter()
            .map(|arg| match arg {
                Arg::U32(value) => u64::from(*value),
                Arg::U64(value) => *value,
            })
            .collect();
        let mut pointers: Vec<*mut c_void> =
            slots.iter_mut().map(|slot| std::ptr::from_mut(slot).cast()).collect();
        self.context.enter()?;
        let api = self.context.api();
        // SAFETY: the function has exactly these parameters (checked above), which the driver copies before it
        // returns; the addresses among them belong to live buffers of the caller.
        let code = unsafe {
            (api.launch)(
                function,
                grid.blocks.max(1),
                1,
                1,
                grid.threads.max(1),
                1,
                1,
                0,
                stream.handle(),
                pointers.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        api.check("cuLaunchKernel", code)
    }
}

/// The error with what the driver's compiler wrote.
fn with_log(error: CudaError, log: &[u8]) -> CudaError {
    let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
    let text = String::from_utf8_lossy(log.get(..end).unwrap_or_default());
    match error {
        CudaError::Call { call, code, name } if !text.trim().is_empty() => {
            CudaError::Call { call, code, name: format!("{name}; {}", text.trim()) }
        }
        other => other,
    }
}
