//! modprobe.d as kmod reads it: precedence of directories, masked files, options in force and lost.

mod files;
mod kcmdline;
mod lines;
mod live;
mod params;

pub use live::live_bool;

use super::cmdline::Cmdline;
use crate::root::{Evidence, Fact, Root, Unknown};
use schemars::JsonSchema;
use serde::Serialize;

/// Directories in falling precedence (libkmod `default_config_paths`).
pub const DIRECTORIES: [&str; 5] =
    ["etc/modprobe.d", "run/modprobe.d", "usr/local/lib/modprobe.d", "usr/lib/modprobe.d", "lib/modprobe.d"];

/// Module configuration.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Modprobe {
    /// Every `module.parameter=value` of unmasked files and of the command line, in the order that kmod
    /// applies them (last wins). With an unknown command line these are the options of the files alone.
    pub options: Fact<Vec<ModuleOption>>,
    /// `blacklist` lines, `modprobe.blacklist=` and the kernel's own `module_blacklist=`: modules.
    pub blacklist: Fact<Vec<ModuleLine>>,
    /// `install` and `remove` lines.
    pub installs: Fact<Vec<ModuleLine>>,
    /// `softdep` lines.
    pub softdeps: Fact<Vec<ModuleLine>>,
    /// Lines that kmod would not understand, and files it could not open.
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

/// What the files and the command line hold, in the order that kmod applies it.
#[derive(Default)]
struct Config {
    options: Vec<ModuleOption>,
    blacklist: Vec<ModuleLine>,
    installs: Vec<ModuleLine>,
    softdeps: Vec<ModuleLine>,
    malformed: Vec<ModuleLine>,
}

impl Modprobe {
    /// Reads all directories and the command line.
    ///
    /// A file that may not be read makes the lists unknown, because any option could stand there. A line that
    /// is no UTF-8 or no directive is named in `malformed`, and the rest is still read.
    pub fn read(root: &Root, cmdline: &Fact<Cmdline>) -> Self {
        let listing = files::list(root);
        let mut config = Config::default();
        let mut evidence = listing.evidence;
        let mut unknown = listing.unknown;
        for path in &listing.paths {
            match root.bytes(path, files::LIMIT) {
                Fact::Known { value, .. } => {
                    lines::read(&mut config, path, &value);
                    evidence.push(Evidence::new(path.clone(), "read"));
                }
                other => files::unreadable(root, path, other, &mut config.malformed, &mut unknown),
            }
        }
        if let Fact::Known { value, .. } = cmdline {
            kcmdline::read(&mut config, value);
        }
        judge_in_force(&mut config.options);
        Self {
            options: fact(config.options, &evidence, unknown.as_ref()),
            blacklist: fact(config.blacklist, &evidence, unknown.as_ref()),
            installs: fact(config.installs, &evidence, unknown.as_ref()),
            softdeps: fact(config.softdeps, &evidence, unknown.as_ref()),
            malformed: config.malformed,
        }
    }
}

fn fact<T>(list: Vec<T>, evidence: &[Evidence], unknown: Option<&Unknown>) -> Fact<Vec<T>> {
    match unknown {
        Some(reason) => Fact::Unknown(reason.clone()),
        None => Fact::from_lines(list, evidence.to_vec()),
    }
}

/// The kernel sets a parameter anew for each assignment, so the last one stays (kernel/params.c).
fn judge_in_force(options: &mut [ModuleOption]) {
    let mut winners: std::collections::HashMap<(String, String), String> = std::collections::HashMap::new();
    for option in options.iter_mut().rev() {
        // `parameq` compares `-` and `_` alike and is case-sensitive.
        let key = (option.module.clone(), option.name.replace('-', "_"));
        if let Some(winner) = winners.get(&key) {
            option.in_force = false;
            option.shadowed_by.clone_from(winner);
        } else {
            option.in_force = true;
            option.shadowed_by = String::new();
            winners.insert(key, format!("{}:{}", option.file, option.line));
        }
    }
}

/// A module name as kmod compares it.
fn underscores(name: &str) -> String {
    name.replace('-', "_")
}
