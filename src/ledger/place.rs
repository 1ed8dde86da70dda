//! Where a path of the target leads: directory by directory from the root, links read and followed inside
//! the root only, never by the kernel.

use super::dir::{Dir, is_dir, is_link};
use super::error::LedgerError;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path};

/// As many links as the kernel follows (`MAXSYMLINKS`, include/linux/namei.h).
const MAX_LINKS: u32 = 40;

/// The root that all paths are below.
#[derive(Debug)]
pub(super) struct Target {
    /// The directory that stands for `/`.
    pub(super) root: Dir,
    /// It is the running system's own `/`.
    pub(super) live: bool,
}

/// A file that is there, or could be made.
#[derive(Debug)]
pub(super) struct Place {
    /// The deepest directory on the way that exists.
    pub(super) dir: Dir,
    /// Directories to make below `dir`.
    pub(super) missing: Vec<String>,
    /// Last component; never a link when it exists.
    pub(super) name: String,
    /// Path below the root, links resolved.
    pub(super) real: String,
}

impl Place {
    /// The directories to make, as paths below the root.
    pub(super) fn missing_paths(&self) -> Vec<String> {
        let parts: Vec<&str> = self.real.split('/').collect();
        let existing = parts.len().saturating_sub(self.missing.len() + 1);
        (1..=self.missing.len())
            .map(|more| parts.iter().take(existing + more).copied().collect::<Vec<_>>().join("/"))
            .collect()
    }
}

impl Target {
    /// Opens the root at `path`, which must be canonical.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let canonical = std::fs::canonicalize(path)?;
        Ok(Self { live: canonical == Path::new("/"), root: Dir::root(&canonical)? })
    }

    /// Finds the place of `path` (relative to the root).
    pub(super) fn locate(&self, path: &str) -> Result<Place, LedgerError> {
        check(path).map_err(|reason| LedgerError::Request { path: path.to_owned(), reason })?;
        let refused = |reason: String| LedgerError::Refused { path: path.to_owned(), reason };
        self.walk(path).map_err(|lost| match lost {
            Lost::Refused(reason) => refused(reason),
            Lost::Io(at, error) if error.kind() == io::ErrorKind::PermissionDenied => {
                refused(format!("cannot look at {at}: {error} (run as root)"))
            }
            Lost::Io(at, error) => refused(format!("cannot look at {at}: {error}")),
        })
    }

    fn walk(&self, path: &str) -> Result<Place, Lost> {
        let root = self.root.again().map_err(|e| Lost::Io("/".to_owned(), e))?;
        let mut way = Way { dirs: vec![(root, String::new())] };
        let mut todo: Vec<Step> = steps(Path::new(path), false);
        let mut links = 0;
        while let Some(step) = todo.pop() {
            if step.name == ".." {
                if way.dirs.len() > 1 {
                    way.dirs.pop();
                } else if !self.live {
                    // The target's own kernel would stop at its root; a tool that follows it from outside
                    // would not. Nothing we are asked to edit looks like this by intent.
                    return Err(Lost::Refused("is reached by a link that leaves the root".to_owned()));
                }
                continue;
            }
            let name = utf8(&step.name)?;
            let here = way.path(&name);
            let io = |error| Lost::Io(format!("/{here}"), error);
            let last = todo.is_empty();
            match way.dir()?.stat(&name).map_err(io)? {
                Some(stat) if is_link(&stat) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(Lost::Refused("leads through too many symbolic links".to_owned()));
                    }
                    let to = way.dir()?.link(&name).map_err(io)?;
                    let to = Path::new(&to);
                    if to.is_absolute() {
                        way.dirs.truncate(1);
                    }
                    todo.extend(steps(to, true));
                    if todo.is_empty() {
                        return Err(Lost::Refused(format!("/{here} is a link to the root directory")));
                    }
                }
                Some(_) if last => return way.place(Vec::new(), name),
                Some(stat) if is_dir(&stat) => {
                    let next = way.dir()?.dir(&name).map_err(io)?;
                    way.dirs.push((next, name));
                }
                Some(_) => return Err(Lost::Refused(format!("/{here} is not a directory"))),
                None if step.from_link => {
                    return Err(Lost::Refused(format!(
                        "a link on the way leads to /{here}, which is not there"
                    )));
                }
                None => {
                    let mut rest = vec![name];
                    for step in todo.iter().rev() {
                        rest.push(utf8(&step.name)?);
                    }
                    let name = rest.pop().unwrap_or_default();
                    return way.place(rest, name);
                }
            }
        }
        Err(Lost::Refused("is a directory".to_owned()))
    }
}

/// Directories walked through, from the root.
struct Way {
    dirs: Vec<(Dir, String)>,
}

impl Way {
    fn dir(&self) -> Result<&Dir, Lost> {
        self.dirs.last().map(|(dir, _)| dir).ok_or_else(|| Lost::Refused("has no directory".to_owned()))
    }

    fn path(&self, name: &str) -> String {
        let parents = self.dirs.iter().skip(1).map(|(_, name)| name.as_str());
        parents.chain([name]).collect::<Vec<_>>().join("/")
    }

    fn place(mut self, missing: Vec<String>, name: String) -> Result<Place, Lost> {
        let mut real = self.path("");
        for part in missing.iter().chain([&name]) {
            if !real.is_empty() && !real.ends_with('/') {
                real.push('/');
            }
            real.push_str(part);
        }
        let (dir, _) = self.dirs.pop().ok_or_else(|| Lost::Refused("has no directory".to_owned()))?;
        Ok(Place { dir, missing, name, real })
    }
}

enum Lost {
    Refused(String),
    Io(String, io::Error),
}

struct Step {
    name: OsString,
    /// It stands in the target of a link, not in the path asked for.
    from_link: bool,
}

/// Components in reverse, ready to pop.
fn steps(path: &Path, from_link: bool) -> Vec<Step> {
    let mut steps: Vec<Step> = path
        .components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(Step { name: name.to_owned(), from_link }),
            Component::ParentDir => Some(Step { name: OsString::from(".."), from_link }),
            _ => None,
        })
        .collect();
    steps.reverse();
    steps
}

fn utf8(name: &OsStr) -> Result<String, Lost> {
    let text = name.to_str().map(str::to_owned);
    text.ok_or_else(|| Lost::Refused(format!("leads through {}, which is not UTF-8", name.display())))
}

/// A path of an operation: relative, of plain components.
fn check(path: &str) -> Result<(), String> {
    let plain = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains('\0');
    if path.split('/').all(plain) {
        Ok(())
    } else {
        Err("expected a path relative to the root, of plain components (etc/default/grub)".to_owned())
    }
}
