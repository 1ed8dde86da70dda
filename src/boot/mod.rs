//! Boot loaders: which one boots this host, what command line is configured for the next boot, and how an
//! edit of it is made. Never writes: an edit is a value that `plan` puts into operations.

mod bls;
mod entries;
mod family;
mod grub;
mod initramfs;
mod kernelstub;
mod manual;
mod matters;
pub mod modprobe;
mod nixos;
mod ostree;
mod owner;
mod proxmox;
mod reach;
mod recognise;
mod systemd_boot;
mod tuned;

pub use grub::trial as grub_trial;
pub use modprobe::modprobe_edit;

use crate::host::Host;
use crate::host::cmdline::Cmdline;
use crate::root::{Fact, Root};
use recognise::Loader;
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
}

/// What a loader's module reads.
#[derive(Clone, Debug, Default)]
struct Reading {
    configured: Fact<Vec<String>>,
    places: Vec<Place>,
    shadowed: Vec<Shadow>,
}

impl Boot {
    /// Reads the boot configuration of `root`; the running command line comes from `host`.
    pub fn read(root: &Root, host: &Host) -> Self {
        let recognition = recognise::recognise(root);
        let tuned = tuned::read(root);
        let running = matters::running(&host.kernel.cmdline);
        let mut reading = match &recognition.active {
            Fact::Known { value, .. } => read_loader(root, *value, tuned.as_ref()),
            Fact::Absent { evidence } => {
                Reading { configured: Fact::Absent { evidence: evidence.clone() }, ..Reading::default() }
            }
            Fact::Unknown(unknown) => {
                Reading { configured: Fact::Unknown(unknown.clone()), ..Reading::default() }
            }
        };
        if let Some(active) = recognition.active.value() {
            for other in &recognition.others {
                set_aside(root, *other, *active, &mut reading);
            }
            if let (Some(tuned), Some(configured)) = (&tuned, reading.configured.value()) {
                reading.shadowed.extend(tuned_shadow(root, tuned, configured));
            }
        }
        let line = reading.configured.clone().map(|words| Cmdline::parse(&words.join(" ")));
        let words = host.judge_words(&line);
        Self {
            loader: recognition.active.map(|l| l.name().to_owned()),
            others: recognition.others.iter().map(|l| l.name().to_owned()).collect(),
            not_running: matters::difference(&reading.configured, &running),
            not_configured: matters::difference(&running, &reading.configured),
            configured: reading.configured,
            places: reading.places,
            shadowed: reading.shadowed,
            words,
        }
    }

    /// False where this program only prints the steps for the loader, or found none.
    pub fn editable(&self) -> bool {
        let loader = self.loader.value().and_then(|name| Loader::named(name));
        matches!(loader, Some(Loader::GrubDebian | Loader::Grub | Loader::Kernelstub))
    }
}

fn read_loader(root: &Root, loader: Loader, tuned: Option<&tuned::Tuned>) -> Reading {
    match loader {
        Loader::GrubDebian | Loader::Grub => grub::read(root, tuned),
        Loader::GrubBls => bls::read(root, tuned),
        Loader::Kernelstub => kernelstub::read(root),
        Loader::SystemdBoot => systemd_boot::read(root),
        Loader::Proxmox => proxmox::read(root),
        Loader::Ostree => ostree::read(root),
        Loader::Nixos => nixos::read(root),
    }
}

/// What the configuration of a loader sets that does not boot this host: places without effect, and shadows
/// where the words are not known to be configured anyway.
fn set_aside(root: &Root, other: Loader, active: Loader, reading: &mut Reading) {
    let known = reading.configured.value().cloned();
    for place in read_loader(root, other, None).places {
        if reading.places.iter().any(|p| (&p.file, p.line) == (&place.file, place.line)) {
            continue;
        }
        if let (true, Some(configured)) = (place.effective && !place.words.is_empty(), &known) {
            reading.shadowed.push(Shadow {
                file: place.file.clone(),
                line: place.line,
                text: line_text(root, &place.file, place.line),
                by: active.name().to_owned(),
                lost: matters::missing_from(&place.words, configured),
            });
        }
        reading.places.push(Place { effective: false, ..place });
    }
}

/// A line (from 1) of a file; empty when it cannot be read again.
fn line_text(root: &Root, file: &str, line: i64) -> String {
    let bytes = root.bytes(file, crate::root::TEXT_LIMIT);
    let bytes = bytes.value().map(Vec::as_slice).unwrap_or_default();
    let text = bytes.split(|b| *b == b'\n').nth(usize::try_from(line - 1).unwrap_or(usize::MAX));
    String::from_utf8_lossy(text.unwrap_or_default()).trim().to_owned()
}

/// Words of a tuned profile that do not reach the line, for example because a fragment overwrites the variable
/// that tuned has added its own to.
fn tuned_shadow(root: &Root, tuned: &tuned::Tuned, configured: &[String]) -> Option<Shadow> {
    let lost = matters::missing_from(&tuned.words, configured);
    if lost.is_empty() {
        return None;
    }
    let by = if root.exists(tuned::SCRIPT) {
        "the loader's configuration, which does not take up $tuned_params".to_owned()
    } else {
        format!("the missing {}", tuned::SCRIPT)
    };
    Some(Shadow {
        file: tuned::FILE.to_owned(),
        line: i64::try_from(tuned.line).unwrap_or(i64::MAX),
        text: line_text(root, tuned::FILE, i64::try_from(tuned.line).unwrap_or(1)),
        by,
        lost,
    })
}

/// Plans adding and removing words on the configured command line: additions once, removals where the word
/// stands, every other byte kept.
///
/// Refused where a line cannot be followed, where a word belongs to another program (tuned), and for loaders
/// whose edit is not automated; the refusal then holds the exact commands.
pub fn edit(root: &Root, boot: &Boot, add: &[String], remove: &[String]) -> Result<Edit, Refusal> {
    let loader = match &boot.loader {
        Fact::Known { value, .. } => value.as_str(),
        Fact::Absent { .. } => return Err(no_loader("no configuration of a known boot loader", add, remove)),
        Fact::Unknown(unknown) => return Err(no_loader(&unknown.to_string(), add, remove)),
    };
    let edit = match Loader::named(loader) {
        Some(Loader::GrubDebian | Loader::Grub) => grub::edit(root, tuned::read(root).as_ref(), add, remove),
        Some(Loader::Kernelstub) => kernelstub::edit(root, add, remove),
        Some(Loader::GrubBls) => Err(bls::refuse(root, add, remove)),
        Some(Loader::SystemdBoot) => Err(systemd_boot::refuse(root, add, remove)),
        Some(Loader::Proxmox) => Err(proxmox::refuse(root, add, remove)),
        Some(Loader::Ostree) => Err(ostree::refuse(add, remove)),
        Some(Loader::Nixos) => Err(nixos::refuse(add, remove)),
        None => Err(no_loader(&format!("`{loader}` is not a loader known here"), add, remove)),
    };
    reach::checked(edit?, add, remove)
}

fn no_loader(reason: &str, add: &[String], remove: &[String]) -> Refusal {
    let mut steps = Vec::new();
    if !add.is_empty() {
        steps.push(format!(
            "with the tools of this system, add to the kernel command line: {}",
            add.join(" ")
        ));
    }
    if !remove.is_empty() {
        steps.push(format!("with the tools of this system, take out of it: {}", remove.join(" ")));
    }
    Refusal { place: "boot loader".to_owned(), reason: reason.to_owned(), manual: steps }
}

/// The program that rebuilds the initramfs of this distribution, recognised from files in `root`.
pub fn initramfs(root: &Root) -> Option<Command> {
    initramfs::rebuild(root)
}
