//! Lossless parse and edit, one file per format. Pure: bytes in, bytes out.

pub mod diff;
