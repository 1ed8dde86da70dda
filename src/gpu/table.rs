//! A table of C functions out of a shared library: opened by name at run time, every symbol checked, no panic,
//! and plain integers where C has enums (a newer library knows values that we do not).

/// Why a library cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The dynamic loader found none of the names.
    #[error("{}", tried.iter().map(|(_, why)| why.as_str()).collect::<Vec<_>>().join("; "))]
    Library {
        /// Names, and what the loader said of each.
        tried: Vec<(String, String)>,
    },
    /// The library is there and lacks a function: the driver is too old.
    #[error("{library} lacks {symbol}: the driver is too old")]
    Symbol {
        /// Name under which the library was opened.
        library: String,
        /// The function.
        symbol: &'static str,
    },
}

/// Declares a struct of function pointers with `open()`, which loads the first library found and binds all.
macro_rules! dl_api {
    (
        $(#[$meta:meta])*
        $vis:vis struct $table:ident from [$($soname:literal),+] {
            $(fn $field:ident = $symbol:literal ($($arg:ty),*) -> $ret:ty;)*
        }
    ) => {
        $(#[$meta])*
        $vis struct $table {
            $(pub(super) $field: unsafe extern "C" fn($($arg),*) -> $ret,)*
            _library: libloading::Library,
        }
        impl $table {
            /// Names of the functions, in order.
            #[cfg(test)]
            #[allow(dead_code)] // tables without a list to compare with
            pub(super) const SYMBOLS: &[&str] = &[$($symbol),*];

            /// Opens the library and binds every function.
            $vis fn open() -> Result<Self, $crate::gpu::LoadError> {
                use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
                let mut tried = Vec::new();
                for soname in [$($soname),+] {
                    // SAFETY: opening runs the library's initialisers; it is the vendor's driver library, loaded
                    // under its fixed name like any program that links it.
                    let library = match unsafe { Library::open(Some(soname), RTLD_NOW | RTLD_LOCAL) } {
                        Ok(library) => libloading::Library::from(library),
                        Err(error) => {
                            let why = std::error::Error::source(&error)
                                .map_or_else(|| error.to_string(), ToString::to_string);
                            tried.push((soname.to_owned(), why));
                            continue;
                        }
                    };
                    return Ok(Self {
                        $($field: {
                            // SAFETY: the type is that of the vendor's header for this symbol, and the pointer
                            // lives no longer than `_library` beside it.
                            *unsafe { library.get(concat!($symbol, "\0").as_bytes()) }.map_err(|_| {
                                $crate::gpu::LoadError::Symbol { library: soname.to_owned(), symbol: $symbol }
                            })?
                        },)*
                        _library: library,
                    });
                }
                Err($crate::gpu::LoadError::Library { tried })
            }
        }
    };
}
pub(super) use dl_api;
