//! The ground a trial stands on: whether GRUB can write its environment block there, and the two files.

use super::super::super::{Command, initramfs};
use super::{Filesystem, NoTrial, block};
use crate::format::{grub_cfg, grubenv::Grubenv};
use crate::root::{Fact, Root, TEXT_LIMIT};

/// File systems that GRUB reports plain disk sectors of, so that it can write a block of a file in place.
const WRITABLE: [&str; 6] = ["ext2", "ext3", "ext4", "vfat", "msdos", "xfs"];

/// Directories of scripts that run when a kernel or the boot loader's configuration changes.
const WRITERS: [&str; 7] = [
    "etc/grub.d",
    "etc/kernel/postinst.d",
    "etc/kernel/postrm.d",
    "etc/kernel/install.d",
    "etc/initramfs/post-update.d",
    "usr/share/kernel/postinst.d",
    "usr/lib/kernel/install.d",
];

/// The file system of `directory`, if GRUB can write on it.
pub(super) fn writable(root: &Root, directory: &str) -> Result<Filesystem, NoTrial> {
    let mut found = mounted(root, directory)?;
    if found.source == "/dev/root"
        && let Some(device) = root_device(root, &found.mount)
    {
        found.source = device;
    }
    let refuse = |why: &str| {
        let reason =
            format!("{why}, where GRUB cannot clear next_entry: the trial would repeat at every boot");
        Err(NoTrial::new(format!("{directory}/grubenv"), reason, &[]))
    };
    if !WRITABLE.contains(&found.kind.as_str()) {
        return refuse(&format!("is on {} ({})", found.kind, found.mount));
    }
    let Some(name) = found.source.strip_prefix("/dev/") else {
        return refuse(&format!("is on {}, which is no disk", found.source));
    };
    if let Some(mapped) = name.strip_prefix("mapper/").or_else(|| name.starts_with("dm-").then_some(name)) {
        let uuid = mapping(root, mapped).unwrap_or_default();
        let kind = match uuid.split_once('-').map_or("", |(kind, _)| kind) {
            // GRUB sees the disk below.
            "mpath" => return Ok(found),
            part if part.starts_with("part") && uuid.contains("-mpath-") => return Ok(found),
            "LVM" => "LVM",
            "CRYPT" => "an encrypted volume",
            _ => "the device mapper",
        };
        return refuse(&format!("is on {kind} ({})", found.source));
    }
    // LVM also shows as /dev/GROUP/VOLUME.
    if name.contains('/') {
        return refuse(&format!("is on {}, a volume of LVM or the like", found.source));
    }
    for (prefix, what) in
        [("md", "MD"), ("bcache", "bcache"), ("loop", "a loop device"), ("root", "/dev/root")]
    {
        if name.starts_with(prefix) {
            return refuse(&format!("is on {what} ({})", found.source));
        }
    }
    Ok(found)
}

/// The device behind `/dev/root`, the name that a kernel without initramfs gives it: by number.
fn root_device(root: &Root, mount: &str) -> Option<String> {
    let text = root.text("proc/1/mountinfo");
    let mut lines = text.value()?.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    // 21 1 254:1 / / rw,relatime - ext4 /dev/root rw (Documentation/filesystems/proc.rst)
    let fields = lines.find(|fields| fields.get(4) == Some(&mount) && fields.contains(&"/dev/root"))?;
    let device = root.link_name(&format!("sys/dev/block/{}", fields.get(2)?));
    device.value().map(|name| format!("/dev/{name}"))
}

/// The mount that holds a directory of the host.
pub(super) fn mounted(root: &Root, directory: &str) -> Result<Filesystem, NoTrial> {
    const PATH: &str = "proc/mounts";
    let text = match root.text(PATH) {
        Fact::Known { value, .. } => value,
        Fact::Absent { .. } => return Err(NoTrial::new(PATH, "is not there", &[])),
        Fact::Unknown(unknown) => return Err(NoTrial::new(PATH, unknown.to_string(), &[])),
    };
    let wanted = format!("/{}/", directory.trim_matches('/'));
    let mut best: Option<Filesystem> = None;
    for line in text.lines() {
        let mut fields = line.split(' ').map(unescaped);
        let (Some(source), Some(mount), Some(kind)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let inside = format!("{}/", mount.trim_end_matches('/'));
        let longest = best.as_ref().map_or(0, |b| b.mount.len());
        // The last mount on a place hides those before it. An automount shows itself as well.
        if kind != "autofs" && wanted.starts_with(&inside) && mount.len() >= longest {
            best = Some(Filesystem { mount, kind, source });
        }
    }
    let mut found = best.ok_or_else(|| NoTrial::new(PATH, format!("no mount holds /{directory}"), &[]))?;
    // What a kernel without an initrd calls the device that it mounted itself.
    if found.source == "/dev/root"
        && let Some(name) = numbered(root, &found.mount)
    {
        found.source = format!("/dev/{name}");
    }
    Ok(found)
}

/// Name of the device of a mount, by its number in mountinfo (proc_pid_mountinfo(5), third and fifth field).
fn numbered(root: &Root, mount: &str) -> Option<String> {
    let text = root.text("proc/self/mountinfo");
    let mut numbers = text.value()?.lines().filter_map(|line| {
        let mut fields = line.split(' ');
        let number = fields.nth(2)?;
        (unescaped(fields.nth(1)?) == mount).then_some(number)
    });
    root.link_name(&format!("sys/dev/block/{}", numbers.next_back()?)).value().cloned()
}

/// `\040` and its like.
fn unescaped(field: &str) -> String {
    ["\\040= ", "\\011=\t", "\\012=\n", "\\134=\\"]
        .iter()
        .filter_map(|pair| pair.split_once('='))
        .fold(field.to_owned(), |text, (code, real)| text.replace(code, real))
}

/// UUID of a mapping, whose prefix names its kind (drivers/md/dm-sysfs.c).
fn mapping(root: &Root, name: &str) -> Option<String> {
    let devices = root.list("sys/class/block");
    let devices = devices.value()?.iter().filter(|d| d.starts_with("dm-"));
    devices
        .filter(|d| {
            d.as_str() == name
                || root.line(&format!("sys/class/block/{d}/dm/name")).value().is_some_and(|n| n == name)
        })
        .find_map(|d| root.line(&format!("sys/class/block/{d}/dm/uuid")).value().cloned())
}

/// The environment block beside the configuration: there, whole, and nothing chosen.
pub(super) fn block(root: &Root, directory: &str) -> Result<(String, Grubenv), NoTrial> {
    let (path, block) = environment(root, directory)?;
    match block.get("next_entry").filter(|v| !v.is_empty()) {
        None => Ok((path, block)),
        Some(other) => {
            let other = String::from_utf8_lossy(&other).into_owned();
            let clear = format!("reboot, or: grub-editenv /{path} unset next_entry");
            Err(NoTrial::new(path, format!("the next boot is already chosen: {other}"), &[&clear]))
        }
    }
}

/// The environment block beside the configuration: there and whole.
pub(super) fn environment(root: &Root, directory: &str) -> Result<(String, Grubenv), NoTrial> {
    let path = format!("{directory}/grubenv");
    no_link(root, &path)?;
    let create = format!("grub-editenv /{path} create");
    let refuse = |reason: String, step: &str| Err(NoTrial::new(path.clone(), reason, &[step]));
    let bytes = match root.bytes(&path, TEXT_LIMIT) {
        Fact::Known { value, .. } => value,
        Fact::Absent { .. } => return refuse("is not there".to_owned(), &create),
        Fact::Unknown(unknown) => return refuse(unknown.to_string(), ""),
    };
    match Grubenv::parse(&bytes) {
        Err(reason) => refuse(reason, &create),
        Ok(block) => Ok((path, block)),
    }
}

/// The bytes of custom.cfg, if it may be added to.
pub(super) fn custom(root: &Root, path: &str) -> Result<Option<Vec<u8>>, NoTrial> {
    no_link(root, path)?;
    let refuse = |reason: String, steps: &[&str]| Err(NoTrial::new(path, reason, steps));
    let before = match root.bytes(path, TEXT_LIMIT) {
        Fact::Known { value, .. } => Some(value),
        Fact::Absent { .. } => None,
        Fact::Unknown(unknown) => return refuse(unknown.to_string(), &[]),
    };
    if let Some(bytes) = &before {
        if let Some(id) = block::armed(bytes) {
            return refuse(format!("the trial of change {id} is armed"), &["peerfix revert last"]);
        }
        if let Err(trouble) = grub_cfg::parse(bytes) {
            return refuse(format!("cannot be followed: {trouble}"), &["correct it (grub-script-check)"]);
        }
    }
    for directory in WRITERS {
        for name in root.list(directory).value().into_iter().flatten() {
            let script = format!("{directory}/{name}");
            let text = root.bytes(&script, TEXT_LIMIT);
            let text =
                String::from_utf8_lossy(text.value().map(Vec::as_slice).unwrap_or_default()).into_owned();
            if let Some(line) = text.lines().position(writes_custom) {
                let reason = format!("{script}:{} writes it, and would lose the trial", line + 1);
                return refuse(reason, &[]);
            }
        }
    }
    Ok(before)
}

/// A line of a shell script that makes or replaces custom.cfg.
fn writes_custom(line: &str) -> bool {
    let line = line.trim_start();
    let verbs = ["tee ", "cp ", "mv ", "install ", "ln ", "sed -i"];
    !line.starts_with('#')
        && line.contains("custom.cfg")
        && (line.contains('>') || verbs.iter().any(|verb| line.contains(verb)))
}

fn no_link(root: &Root, path: &str) -> Result<(), NoTrial> {
    match root.link(path) {
        Fact::Known { value, .. } => {
            let reason = format!("is a symbolic link to {value}, which GRUB may follow elsewhere");
            Err(NoTrial::new(path, reason, &["put a file in its place"]))
        }
        _ => Ok(()),
    }
}

/// GRUB's own parser over `custom`.
pub(super) fn script_check(root: &Root, custom: &str) -> Option<Command> {
    let mut known = ["grub-script-check", "grub2-script-check"].into_iter();
    let program = known.find(|program| initramfs::has_program(root, program))?;
    let argv = vec![program.to_owned(), format!("/{custom}")];
    Some(Command { argv, why: "GRUB's own parser must take the entry".to_owned() })
}
