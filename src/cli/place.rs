//! Which place a command reads and writes: `--host` for facts, `--root` for configuration and state.

use super::exit::Failure;
use crate::plan::quote;
use crate::root::Root;
use std::path::Path;

/// Where facts and configuration come from.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Hardware and the running kernel.
    pub(super) hardware: Root,
    /// Configuration.
    pub(super) config: Root,
    /// In words, for the report.
    pub(super) words: String,
    /// The options that name the place in the next command.
    pub(super) option: String,
    /// The same for commands that take state alone (`revert`).
    pub(super) root_option: String,
}

impl Place {
    /// For reading: `--host` is the whole host; `--root` moves the configuration.
    pub(super) fn reading(host: Option<&Path>, root: Option<&Path>) -> Result<Self, Failure> {
        let hardware = match (host, root) {
            (Some(path), _) => Root::open(path).map_err(Failure::usage)?,
            (None, Some(root)) if !is_slash(root) => Root::target(root).map_err(Failure::usage)?,
            (None, _) => Root::live(),
        };
        let config = match root {
            Some(root) => Root::target(root).map_err(Failure::usage)?,
            None => hardware.clone(),
        };
        let name = |option: &str, path: Option<&Path>| match path {
            Some(path) => format!(" --{option} {}", quote(&path.display().to_string())),
            None => String::new(),
        };
        let root_option = name("root", root);
        let option = format!("{}{root_option}", name("host", host));
        let words = match (host, root) {
            (Some(path), _) => format!("captured tree {}", path.display()),
            (None, Some(path)) => format!("target {}", path.display()),
            (None, None) => "this machine".to_owned(),
        };
        Ok(Self { hardware, config, words, option, root_option })
    }

    /// For writing: facts of another host never decide what is written to this machine.
    pub(super) fn writing(host: Option<&Path>, root: Option<&Path>) -> Result<Self, Failure> {
        let place = Self::reading(host, root)?;
        if !place.hardware.is_live() && place.config.is_live() {
            return Err(Failure::usage(
                "--host names another host, and the changes would be written to this machine: name the target with --root DIR",
            ));
        }
        if host.is_some() && root.is_none() && !place.config.is_live() {
            return Err(Failure::usage(
                "a captured tree is read only: name the target to write to with --root DIR",
            ));
        }
        Ok(place)
    }
}

fn is_slash(path: &Path) -> bool {
    std::fs::canonicalize(path).is_ok_and(|p| p == Path::new("/"))
}
