//! Disks that unlock by themselves or from afar, and may not after a change of command line or boot entry.

use super::gather::{Gather, not_captured};
use crate::root::{Evidence, Fact, Root};

/// Keys that let a remote user into the initramfs to unlock.
const REMOTE_KEYS: [&str; 4] = [
    "etc/dropbear/initramfs/authorized_keys",
    "etc/dropbear-initramfs/authorized_keys",
    "etc/initramfs-tools/root/.ssh/authorized_keys",
    "etc/dropbear/root_key",
];

/// Files that hold command lines: the running one, and what the next boots get.
const COMMAND_LINES: [&str; 3] = ["proc/cmdline", "etc/kernel/cmdline", "etc/default/grub"];

/// Reads crypttab, command lines, dracut's configuration and the keys of an initramfs ssh server. An
/// installed but unused clevis is no finding.
pub(super) fn read(root: &Root) -> Fact<Vec<String>> {
    let mut gather = Gather::default();
    if !root.exists("etc") {
        gather.unread(not_captured("etc", "disk unlock is read from etc/crypttab and its like"));
    }
    let encrypted = crypttab(root, &mut gather);
    for path in COMMAND_LINES {
        if let Some(text) = gather.text(root, path) {
            command_lines(path, &text, encrypted, &mut gather);
        }
    }
    let mut dracut: Vec<String> = vec!["etc/dracut.conf".to_owned()];
    dracut.extend(gather.files(root, "etc/dracut.conf.d", ".conf").into_iter().map(|(path, _)| path));
    for path in dracut {
        if let Some(text) = gather.text(root, &path) {
            command_lines(&path, &text, encrypted, &mut gather);
            for (number, line) in lines(&text) {
                for word in ["clevis", "tang", "tpm2-tss"].into_iter().filter(|w| has_word(line, w)) {
                    gather.add(format!("{word} in the initramfs"), Evidence::at(path.as_str(), number, line));
                }
            }
        }
    }
    for path in REMOTE_KEYS {
        if let Some(text) = gather.text(root, path)
            && let Some((number, _)) = lines(&text).next()
        {
            gather.add(
                "remote unlock: an ssh server in the initramfs",
                Evidence::at(path, number, "a key is allowed to log in"),
            );
        }
    }
    for (path, words) in [
        ("var/lib/systemd/pcrlock.json", "TPM policy of systemd-pcrlock"),
        ("var/lib/snapd/device/fde", "TPM-backed disk encryption of snapd"),
    ] {
        if root.exists(path) {
            gather.add(words, Evidence::new(path, "is there"));
        }
    }
    gather.finish("etc/crypttab", "no unattended unlock is configured")
}

/// Volumes that the TPM or a script opens; true when any volume is listed or the file cannot be read.
fn crypttab(root: &Root, gather: &mut Gather) -> bool {
    const PATH: &str = "etc/crypttab";
    let Some(text) = gather.text(root, PATH) else { return root.exists(PATH) };
    let mut any = false;
    for (number, line) in lines(&text) {
        any = true;
        let mut fields = line.split_ascii_whitespace();
        let volume = fields.next().unwrap_or_default();
        let options = fields.nth(2).unwrap_or_default();
        for option in options.split(',') {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            let scripted = key == "keyscript" && ["tpm", "clevis", "tang"].iter().any(|w| value.contains(w));
            if key == "tpm2-device" || scripted {
                gather.add(format!("{volume} unlocks by {option}"), Evidence::at(PATH, number, line));
            }
        }
    }
    any
}

/// TPM unlock and a network in the initramfs, as words of a command line (or of a file that holds one).
fn command_lines(path: &str, text: &str, encrypted: bool, gather: &mut Gather) {
    for (number, line) in lines(text) {
        let words: Vec<&str> =
            line.split(|c: char| c.is_ascii_whitespace() || matches!(c, '"' | '\'')).collect();
        let any = |prefix: &str| words.iter().any(|w| w.starts_with(prefix));
        let evidence = || Evidence::at(path, number, line);
        if words.iter().any(|w| w.contains("luks.options=") && w.contains("tpm2-device=")) {
            gather.add("the TPM unlocks a disk (rd.luks.options)", evidence());
        }
        let network = words.iter().any(|w| matches!(*w, "rd.neednet" | "rd.neednet=1"));
        let luks = encrypted || any("rd.luks") || any("luks.");
        if network && any("ip=") && luks {
            gather.add("network in the initramfs beside an encrypted disk (rd.neednet, ip=)", evidence());
        }
    }
}

/// Lines that are not empty and no comments, with their number.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// `word` stands between characters that are no part of a module's name.
fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'))
        .any(|w| w == word || w.strip_prefix(word).is_some_and(|rest| rest.starts_with('-')))
}
