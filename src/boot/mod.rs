//! Boot loaders: which one boots this host, what command line is configured for the next boot, and how an
//! edit of it is made. Never writes: an edit is a value that `plan` puts into operations.

use crate::host::Host;
use crate::root::{Fact, Root};
use schemars::JsonSchema;
use serde::Serialize;

/// Boot configuration of one host, as rules see it.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Boot {
    /// The loader that boots this host: `grub-debian`, `grub-bls`, `grub`, `kernelstub`, `systemd-boot`,
    /// `proxmox`, `ostree`, `nixos`, ...; absent when no loader configuration was found.
    pub loader: Fact<String>,
    /// Other loaders whose configuration is present.
    pub others: Vec<String>,
    /// Words that the loader's configuration gives the next boot (default entry), in order, as the kernel
    /// will see them.
    pub configured: Fact<Vec<String>>,
    /// Every place that sets words, effective or not.
    pub places: Vec<Place>,
    /// Places that something later overrides, or files that the active loader does not read.
    pub shadowed: Vec<Shadow>,
    /// Words that matter (IOMMU, PCI, ASPM, NVIDIA, amdgpu) configured for the next boot and not running.
    pub not_running: Fact<Vec<String>>,
    /// Configured words that do nothing or contradict each other.
    pub words: Fact<Vec<crate::host::words::WordVerdict>>,
    /// Words that matter, running and not configured for the next boot.
    pub not_configured: Fact<Vec<String>>,
}

/// One place that sets command line words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Place {
    /// File relative to the root.
    pub file: String,
    /// Line from 1.
    pub line: i64,
    /// Variable or key (`GRUB_CMDLINE_LINUX_DEFAULT`, `options`, `kernel_options`).
    pub variable: String,
    /// Words it sets; empty for a dynamic value.
    pub words: Vec<String>,
    /// This place reaches the next boot's command line.
    pub effective: bool,
    /// The value is computed (`$(…)`, `$x` other than its own name) and cannot be edited safely.
    pub dynamic: bool,
}

/// A setting that has no effect because something else decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Shadow {
    /// File relative to the root.
    pub file: String,
    /// Line from 1.
    pub line: i64,
    /// The line.
    pub text: String,
    /// What decides instead: `etc/default/grub.d/50-cloudimg-settings.cfg:9`, `tuned`, `kernelstub`.
    pub by: String,
    /// Words that matter and are lost by it.
    pub lost: Vec<String>,
}

/// A file that an edit replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEdit {
    /// Path relative to the root.
    pub path: String,
    /// Bytes now; none when the file is new.
    pub before: Option<Vec<u8>>,
    /// Bytes afterwards.
    pub after: Vec<u8>,
}

/// A program to run after an edit, inside the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// What it does.
    pub why: String,
}

/// An edit of the configured command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    /// Files; empty when every wanted word already stands there (then only the commands are outstanding).
    pub files: Vec<FileEdit>,
    /// Programs that make it effective.
    pub commands: Vec<Command>,
    /// The whole command line of the next boot afterwards, as far as the loader's configuration gives it.
    pub effective: Vec<String>,
}

/// Why no edit is made, and what a person can do instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// File and line that cannot be edited (`etc/default/grub:6`), or the loader's name.
    pub place: String,
    /// What was expected and what was found.
    pub reason: String,
    /// Manual steps, one command or sentence each.
    pub manual: Vec<String>,
    /// This program does not edit this loader at all (exit 6), rather than this file as it is (exit 3).
    pub unsupported: bool,
}

impl Boot {
    /// Reads the boot configuration of `root`; the running command line comes from `host`.
    pub fn read(root: &Root, host: &Host) -> Self {
        let _ = (root, host);
        Self::default()
    }
}

/// Plans adding and removing words on the configured command line: additions once, removals where the word
/// stands, every other byte kept.
pub fn edit(root: &Root, boot: &Boot, add: &[String], remove: &[String]) -> Result<Edit, Refusal> {
    let _ = (root, boot, add, remove);
    Err(Refusal { place: String::new(), reason: String::new(), manual: Vec::new(), unsupported: true })
}

/// The program that rebuilds the initramfs of this distribution, recognised from files in `root`.
pub fn initramfs(root: &Root) -> Option<Command> {
    let _ = root;
    None
}

/// Plans setting module options (`module.parameter`, value) and removing words
/// (`module.parameter`, or `nvidia.NVreg_RegistryDwords=KEY` for one registry key).
pub fn modprobe_edit(root: &Root, wanted: &[(String, String)], remove: &[String]) -> Result<Edit, Refusal> {
    let _ = (root, wanted, remove);
    Err(Refusal { place: String::new(), reason: String::new(), manual: Vec::new(), unsupported: true })
}
