//! Function tables of the GPU libraries, opened at run time, and memory of other devices, mapped. Every `unsafe` of the
//! program lives here.
#![allow(unsafe_code)]

pub mod cuda;
pub mod kernels;
pub mod nccl;
pub mod nvml;
pub mod p2pmem;
mod table;

pub use table::LoadError;
