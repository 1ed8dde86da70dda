//! A trial boot through GRUB, as a value: a copy of the entry that is running, in `custom.cfg`, chosen once through
//! `next_entry`. Everything that could make it stay, or strand the machine, refuses it here.

mod block;
mod copy;
mod ground;
mod loaded;
mod rehearsal;

pub use block::{entry_id, without_block};

use super::super::{Command, FileEdit, initramfs};
use super::menu::{Files, Menu, MenuEntry, linux};
use crate::format::grub_cfg::Statement;
use crate::format::kernel_cmdline::{comparable, kernel_words};
use crate::root::{Fact, Root};

/// Longest command line of x86 with its final NUL (`COMMAND_LINE_SIZE`, arch/x86/include/asm/setup.h).
const LONGEST: usize = 2048;

/// What a trial is to try.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Id of the change: digits, small letters, `-`.
    pub id: String,
    /// Words to add, as the kernel is to see them.
    pub add: Vec<String>,
    /// Words to leave out.
    pub remove: Vec<String>,
    /// The command line to find the entry of, when this boot is itself a trial: the line before it.
    pub line: Option<String>,
    /// Let the hardware watchdog restart a trial that hangs, where there is one.
    pub watchdog: bool,
}

/// A trial that can be armed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Id of the menu entry, as `next_entry` names it.
    pub entry: String,
    /// `custom.cfg` with the entry. Room for it is not judged here: whoever writes it writes and syncs a new file
    /// beside it first, and nothing has changed where that fails.
    pub custom: FileEdit,
    /// Program that lets GRUB's own parser read `custom.cfg` once it is written, before anything is chosen; none
    /// where it is not installed.
    pub check: Option<Command>,
    /// The environment block, relative to the root.
    pub grubenv: String,
    /// Words of the trial's command line, as the kernel will see them.
    pub words: Vec<String>,
    /// Those of them that the trial put there for itself: left out of comparisons. A word that the host has
    /// anyway is not among them.
    pub own_words: Vec<String>,
    /// File system that GRUB reads both files from.
    pub filesystem: Filesystem,
    /// Entry that is copied, `file:line`.
    pub copied_from: String,
}

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filesystem {
    /// Mount point, with its leading slash.
    pub mount: String,
    /// Type as in `/proc/mounts`.
    pub kind: String,
    /// Device.
    pub source: String,
}

/// Why no trial is armed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoTrial {
    /// File and line, or what else it is about.
    pub place: String,
    /// What was expected and what was found.
    pub reason: String,
    /// What a person can do, one command or sentence each.
    pub steps: Vec<String>,
    /// No state of this loader allows one, so no step helps (exit 6, else 3).
    pub unsupported: bool,
}

impl NoTrial {
    fn new(place: impl Into<String>, reason: impl Into<String>, steps: &[&str]) -> Self {
        let steps = steps.iter().map(|s| (*s).to_owned()).collect();
        Self { place: place.into(), reason: reason.into(), steps, unsupported: false }
    }

    /// Exit code of a command that was to arm it.
    pub fn exit_code(&self) -> u8 {
        if self.unsupported { 6 } else { 3 }
    }
}

impl std::fmt::Display for NoTrial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}; no trial is armed", self.place, self.reason)?;
        self.steps.iter().try_for_each(|step| write!(f, "\n  {step}"))
    }
}

/// Describes the trial of `wanted` on the host in `root`. Reads only.
///
/// # Errors
///
/// The reason, where a trial could not be taken back by a power cycle alone, or would not be what it claims.
pub fn describe(root: &Root, wanted: &Wanted) -> Result<Trial, NoTrial> {
    let entry_name = entry_id(&wanted.id).map_err(|reason| NoTrial::new("trial", reason, &[]))?;
    let config = loaded::config(root)?;
    let filesystem = ground::writable(root, &config.directory)?;
    let (grubenv, block) = ground::block(root, &config.directory)?;
    let custom = format!("{}/custom.cfg", config.directory);
    let before = ground::custom(root, &custom)?;
    let now = rehearsal::follow(&Files::new(root), &config.path, &block)?;
    if now.loader_entries {
        return Err(NoTrial {
            unsupported: true,
            ..NoTrial::new(config.path.clone(), "its entries come from loader entries (blscfg)", &[])
        });
    }
    let running = running(root, wanted)?;
    let source = now.default_entry().map_err(|reason| NoTrial::new(config.path.clone(), reason, &[]))?;
    same(source, &now, &running)?;
    present(&Files::new(root), &now, source)?;
    // Also where another program calls it; its words mean nothing to other initramfs.
    let dracut = initramfs::has_program(root, "dracut") || root.exists("usr/lib/dracut");
    let watchdog = wanted.watchdog && root.exists("sys/class/watchdog/watchdog0");
    let entry = copy::entry(source, &now, wanted, &own_words(&wanted.id, dracut, watchdog))?;
    let after = block::with_block(before.as_deref(), &wanted.id, &entry.text);
    let armed = block.set("next_entry", &entry_name).map_err(|reason| NoTrial::new(&grubenv, reason, &[]))?;
    rehearsal::Rehearsal { root, config: &config.path, custom: &custom, after: &after, entry: &entry_name }
        .run(&armed, source)?;
    // The loader gives the kernel its path too.
    let length = running.kernel.len() + entry.words.iter().map(|w| w.len() + 1).sum::<usize>() + 16;
    if length > LONGEST {
        let reason = format!("the command line would have {length} bytes, the kernel takes {LONGEST}");
        return Err(NoTrial::new(place(source), reason, &[]));
    }
    Ok(Trial {
        entry: entry_name,
        check: ground::script_check(root, &custom),
        custom: FileEdit { path: custom, before, after },
        grubenv,
        words: entry.words,
        own_words: entry.own_words,
        filesystem,
        copied_from: place(source),
    })
}

/// The kernel that the default entry starts, as GRUB names it (`/boot/vmlinuz-6.1.0-57-amd64`).
///
/// # Errors
///
/// It cannot be told.
pub fn default_kernel(root: &Root) -> Result<String, NoTrial> {
    let config = loaded::config(root)?;
    let (_, block) = ground::environment(root, &config.directory)?;
    let menu = rehearsal::follow(&Files::new(root), &config.path, &block)?;
    let refuse = |reason: String| NoTrial::new(config.path.clone(), reason, &[]);
    let entry = menu.default_entry().map_err(refuse)?;
    started(&menu, entry).map(|(kernel, _)| kernel).map_err(|reason| NoTrial::new(place(entry), reason, &[]))
}

/// Words that lead back when nobody can: reboot after a panic, no emergency shell of dracut that waits, and a watchdog
/// that systemd opens first thing (systemd(1), `systemd.watchdog_sec=`; an older one leaves the word alone).
fn own_words(id: &str, dracut: bool, watchdog: bool) -> Vec<String> {
    let mut words = vec![format!("peerfix.trial={id}"), "panic=30".to_owned()];
    if dracut {
        words.extend(["rd.shell=0", "rd.emergency=reboot"].map(str::to_owned));
    }
    if watchdog {
        words.push("systemd.watchdog_sec=60".to_owned());
    }
    words
}

fn place(entry: &MenuEntry) -> String {
    format!("{}:{}", entry.place.0, entry.place.1)
}

/// The running kernel as GRUB named it, and its words.
struct Running {
    kernel: String,
    words: Vec<String>,
}

fn running(root: &Root, wanted: &Wanted) -> Result<Running, NoTrial> {
    let line = match (&wanted.line, root.text("proc/cmdline")) {
        (Some(line), _) => line.clone(),
        (None, Fact::Known { value, .. }) => value,
        (None, Fact::Absent { .. }) => return Err(NoTrial::new("proc/cmdline", "is not there", &[])),
        (None, Fact::Unknown(unknown)) => {
            return Err(NoTrial::new("proc/cmdline", unknown.to_string(), &[]));
        }
    };
    let mut kernel = None;
    let mut words = Vec::new();
    for word in kernel_words(&line) {
        if let Some(path) = word.strip_prefix("BOOT_IMAGE=") {
            kernel = Some(without_device(path).to_owned());
        } else if !word.starts_with("vt.handoff=") {
            words.push(word);
        }
    }
    if let Some(trial) = words.iter().find(|w| w.starts_with("peerfix.trial=")) {
        let reason = format!("this boot is itself a trial ({trial})");
        return Err(NoTrial::new("proc/cmdline", reason, &["reboot, then try again"]));
    }
    let Some(kernel) = kernel else {
        return Err(NoTrial::new("proc/cmdline", "no BOOT_IMAGE=: GRUB did not start this kernel", &[]));
    };
    Ok(Running { kernel, words })
}

/// A path of GRUB without `(hd0,gpt2)`.
fn without_device(path: &str) -> &str {
    path.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(path, |(_, path)| path)
}

/// Kernel and words of an entry.
fn started(menu: &Menu, entry: &MenuEntry) -> Result<(String, Vec<String>), String> {
    let command = linux(entry).ok_or("does not start one kernel outside of conditions")?;
    let mut words = menu.kernel_words(command)?.into_iter();
    let kernel = words.next().ok_or("names no kernel")?;
    // Words behind `--` belong to init and are left out on the running line too.
    Ok((without_device(&kernel).to_owned(), words.take_while(|w| w != "--").collect()))
}

/// The default entry, which is the one to come back to, is the one that is running.
fn same(default: &MenuEntry, menu: &Menu, running: &Running) -> Result<(), NoTrial> {
    const FIRST: &str = "reboot into the default first";
    let refuse = |reason: String| Err(NoTrial::new(place(default), reason, &[FIRST]));
    let (kernel, words) = match started(menu, default) {
        Ok(found) => found,
        Err(reason) => return Err(NoTrial::new(place(default), format!("the default entry {reason}"), &[])),
    };
    if kernel != running.kernel {
        return refuse(format!("the default entry starts {kernel}, running is {}", running.kernel));
    }
    let comparable = |words: &[String]| words.iter().map(|w| comparable(w)).collect::<Vec<_>>();
    let (theirs, ours) = (comparable(&words), comparable(&running.words));
    if theirs == ours {
        return Ok(());
    }
    let only = |a: &[String], b: &[String]| {
        let list: Vec<&str> = a.iter().filter(|w| !b.contains(w)).map(String::as_str).collect();
        if list.is_empty() { "nothing".to_owned() } else { list.join(" ") }
    };
    let (only_theirs, only_ours) = (only(&theirs, &ours), only(&ours, &theirs));
    if only_theirs == "nothing" && only_ours == "nothing" {
        return refuse("the default entry has the running words in another order or number".to_owned());
    }
    refuse(format!(
        "the default entry is not what is running; only in the entry: {only_theirs}; only running: {only_ours}"
    ))
}

/// Kernel and initrds of the entry are where GRUB will look.
fn present(files: &Files<'_>, menu: &Menu, entry: &MenuEntry) -> Result<(), NoTrial> {
    for statement in &entry.block.statements {
        let Statement::Command(command) = statement else { continue };
        let Some(name) = command.words.first().and_then(crate::format::grub_cfg::Word::text) else {
            continue;
        };
        let (kernel, initrd) = (name.starts_with(b"linux"), name.starts_with(b"initrd"));
        if !kernel && !initrd {
            continue;
        }
        let last = if kernel { 2 } else { command.words.len() };
        for word in command.words.get(1..last).unwrap_or_default() {
            for value in menu.expand(word) {
                let path = value.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
                let Some(path) = path else {
                    let reason = "a path of it depends on what only GRUB knows";
                    return Err(NoTrial::new(place(entry), reason, &[]));
                };
                if files.host_path(&path).is_none() {
                    let what = if kernel { "kernel" } else { "initrd" };
                    let reason = format!("its {what} {path} is not there");
                    return Err(NoTrial::new(place(entry), reason, &["regenerate it, or grub.cfg"]));
                }
            }
        }
    }
    Ok(())
}
