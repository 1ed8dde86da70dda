//! Function tables of the GPU libraries, opened at run time. Every `unsafe` of the program lives here.
#![allow(unsafe_code)]

pub mod cuda;
pub mod kernels;
pub mod nccl;
pub mod nvml;
mod table;

pub use table::LoadError;
