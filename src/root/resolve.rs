//! Path resolution inside a captured tree: every link is followed as if the tree were `/`.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// As many links as the kernel follows (`MAXSYMLINKS`, include/linux/namei.h).
const MAX_LINKS: u32 = 40;

/// Resolves `path` below `base` without ever leaving `base`; absolute links and `..` stop at `base`.
///
/// Returns the path relative to `base`, free of links. `follow_last` false leaves a final link alone.
pub(super) fn resolve(base: &Path, path: &Path, follow_last: bool) -> io::Result<PathBuf> {
    let mut todo: Vec<OsString> = components(path);
    let mut done = PathBuf::new();
    let mut links = 0;
    while let Some(part) = todo.pop() {
        if part == ".." {
            done.pop();
            continue;
        }
        let next = done.join(&part);
        let last = todo.is_empty();
        match std::fs::symlink_metadata(base.join(&next)) {
            Ok(meta) if meta.is_symlink() && (!last || follow_last) => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(io::Error::other("too many levels of symbolic links"));
                }
                let target = std::fs::read_link(base.join(&next))?;
                if target.is_absolute() {
                    done = PathBuf::new();
                }
                todo.extend(components(&target));
            }
            Ok(_) => done = next,
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// The normal and parent components in reverse, ready to pop.
fn components(path: &Path) -> Vec<OsString> {
    let mut parts: Vec<OsString> = path
        .components()
        .filter_map(|c| match c {
            Component::Normal(part) => Some(part.to_owned()),
            Component::ParentDir => Some(OsString::from("..")),
            _ => None,
        })
        .collect();
    parts.reverse();
    parts
}
