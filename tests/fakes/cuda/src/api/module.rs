//! Modules, functions and launches.

use super::{answer, put};
use crate::code::{INVALID_HANDLE, INVALID_VALUE, NOT_FOUND};
use crate::kernels::{self, KNOWN, Launch};
use crate::ptx::{self, Entry};
use crate::stream::Stream;
use crate::world::{self, Context, Table};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::Arc;

struct Module {
    context: Arc<Context>,
    entries: Vec<Entry>,
}

struct Function {
    context: Arc<Context>,
    entry: Entry,
}

static MODULES: Table<Module> = Table::new(4);
static FUNCTIONS: Table<Function> = Table::new(5);

/// `CU_JIT_ERROR_LOG_BUFFER` and its size among the options of the JIT compiler.
fn log(count: c_uint, options: *const c_int, values: *const *mut c_void, text: &str) {
    let mut buffer: *mut u8 = std::ptr::null_mut();
    let mut room = 0;
    for i in 0..count as usize {
        // SAFETY: the caller gives `count` options and values.
        let (option, value) = unsafe { (*options.add(i), *values.add(i)) };
        match option {
            5 => buffer = value.cast(),
            6 => room = value as usize,
            _ => {}
        }
    }
    if buffer.is_null() || room == 0 {
        return;
    }
    let n = text.len().min(room - 1);
    // SAFETY: the caller gives a buffer of `room` bytes.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), buffer, n);
        *buffer.add(n) = 0;
    }
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleLoadDataEx(
    module: *mut usize,
    image: *const c_char,
    count: c_uint,
    options: *const c_int,
    values: *const *mut c_void,
) -> c_int {
    answer("cuModuleLoadDataEx", || {
        let context = world::current()?;
        if image.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: PTX is given as a string that ends with NUL.
        let text = unsafe { CStr::from_ptr(image) }.to_string_lossy();
        let entries = ptx::parse(&text).map_err(|(code, why)| {
            log(count, options, values, &why);
            code
        })?;
        put(module, MODULES.add(|_| Module { context, entries }))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleLoadData(module: *mut usize, image: *const c_char) -> c_int {
    cuModuleLoadDataEx(module, image, 0, std::ptr::null(), std::ptr::null())
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleUnload(module: usize) -> c_int {
    answer("cuModuleUnload", || MODULES.remove(module).map(|_| ()).ok_or(INVALID_HANDLE))
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleGetFunction(function: *mut usize, module: usize, name: *const c_char) -> c_int {
    answer("cuModuleGetFunction", || {
        let module = MODULES.get(module).ok_or(INVALID_HANDLE)?;
        // SAFETY: the caller gives a string.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        let entry = module.entries.iter().find(|e| e.name == name).cloned().ok_or(NOT_FOUND)?;
        let Some((_, sizes)) = KNOWN.iter().find(|(known, _)| *known == name) else {
            eprintln!("fake libcuda: no host code stands for {name}");
            std::process::abort();
        };
        if entry.parameters != *sizes {
            eprintln!("fake libcuda: {name} takes {:?} bytes, its host code {sizes:?}", entry.parameters);
            std::process::abort();
        }
        put(function, FUNCTIONS.add(|_| Function { context: module.context.clone(), entry }))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuLaunchKernel(
    function: usize,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared: c_uint,
    stream: usize,
    parameters: *const *const c_void,
    extra: *const *const c_void,
) -> c_int {
    answer("cuLaunchKernel", || {
        let current = world::current()?;
        let function = FUNCTIONS.get(function).ok_or(INVALID_HANDLE)?;
        let stream = Stream::of(stream, &current)?;
        if !Arc::ptr_eq(&function.context, &stream.context) || !Arc::ptr_eq(&current, &stream.context) {
            return Err(INVALID_HANDLE);
        }
        let threads = u64::from(block_x) * u64::from(block_y) * u64::from(block_z);
        let blocks = u64::from(grid_x) * u64::from(grid_y) * u64::from(grid_z);
        if !(1..=1024).contains(&threads) || blocks == 0 || shared > 48 << 10 || !extra.is_null() {
            return Err(INVALID_VALUE);
        }
        let sizes = &function.entry.parameters;
        if parameters.is_null() && !sizes.is_empty() {
            return Err(INVALID_VALUE);
        }
        let read = |(i, size): (usize, &usize)| {
            // SAFETY: the caller gives a pointer to a value of its size for every parameter.
            unsafe {
                let at = *parameters.add(i);
                if *size == 4 {
                    u64::from(at.cast::<u32>().read_unaligned())
                } else {
                    at.cast::<u64>().read_unaligned()
                }
            }
        };
        let launch = Launch {
            name: function.entry.name.clone(),
            blocks,
            parameters: sizes.iter().enumerate().map(read).collect(),
        };
        stream.give(Box::new(move |start| kernels::run(&current, &launch, start)));
        Ok(())
    })
}
