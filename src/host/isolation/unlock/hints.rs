//! What tells of an unattended unlock without naming a volume.

use super::super::gather::Gather;
use super::configured::{COMMAND_LINES, lines};
use crate::root::{Evidence, Fact, Root};

/// Keys that let a remote user into the initramfs to unlock.
const REMOTE_KEYS: [&str; 4] = [
    "etc/dropbear/initramfs/authorized_keys",
    "etc/dropbear-initramfs/authorized_keys",
    "etc/initramfs-tools/root/.ssh/authorized_keys",
    "etc/dropbear/root_key",
];

/// Servers in the initramfs that somebody may log in to.
pub(super) fn remote(root: &Root, encrypted: bool) -> Fact<Vec<String>> {
    let mut found = Gather::default();
    for path in REMOTE_KEYS {
        if let Some(text) = found.text(root, path)
            && encrypted
            && lines(&text).next().is_some()
        {
            found.add("an ssh server in the initramfs", Evidence::new(path, "a key is allowed to log in"));
        }
    }
    found.finish("etc/dropbear", "no ssh server in the initramfs was found")
}

/// Adds what counts for the host as a whole, and, where no header has said how a volume opens (`undecided`), what may
/// belong to one. `volumes`: one is known. `encrypted`: there may be one.
pub(super) fn add(root: &Root, gather: &mut Gather, volumes: bool, encrypted: bool, undecided: bool) {
    const SNAPD: &str = "var/lib/snapd/device/fde";
    const PCRLOCK: &str = "var/lib/systemd/pcrlock.json";
    if root.exists(SNAPD) {
        gather.add(
            "TPM-backed disk encryption of snapd, which a changed boot changes",
            Evidence::new(SNAPD, "is there"),
        );
    }
    if !encrypted || !undecided {
        return;
    }
    if root.exists(PCRLOCK) {
        gather.add(
            "TPM policy of systemd-pcrlock, which a changed boot changes",
            Evidence::new(PCRLOCK, "is there"),
        );
    }
    for path in COMMAND_LINES {
        if let Some(text) = gather.text(root, path) {
            network(path, &text, volumes, gather);
        }
    }
    let mut dracut: Vec<String> = vec!["etc/dracut.conf".to_owned()];
    dracut.extend(gather.files(root, "etc/dracut.conf.d", ".conf").into_iter().map(|(path, _)| path));
    for path in dracut {
        let Some(text) = gather.text(root, &path) else { continue };
        network(&path, &text, volumes, gather);
        for (number, line) in lines(&text) {
            for word in ["clevis", "tang", "tpm2-tss"].into_iter().filter(|w| has_word(line, w)) {
                gather.add(format!("{word} in the initramfs"), Evidence::at(path.as_str(), number, line));
            }
        }
    }
    if let Fact::Known { value, evidence } = remote(root, encrypted)
        && !value.is_empty()
    {
        let place = evidence.into_iter().next().unwrap_or_else(|| Evidence::new("etc/dropbear", ""));
        gather.add("remote unlock: an ssh server in the initramfs", place);
    }
}

/// A network in the initramfs for a root that LUKS words speak of.
fn network(path: &str, text: &str, volumes: bool, gather: &mut Gather) {
    for (number, line) in lines(text) {
        let words: Vec<&str> =
            line.split(|c: char| c.is_ascii_whitespace() || matches!(c, '"' | '\'')).collect();
        let any = |prefix: &str| words.iter().any(|w| w.starts_with(prefix));
        let wanted = words.iter().any(|w| matches!(*w, "rd.neednet" | "rd.neednet=1"));
        if wanted && any("ip=") && (any("rd.luks") || any("luks.") || volumes) {
            gather.add(
                "network in the initramfs beside an encrypted disk (rd.neednet, ip=)",
                Evidence::at(path, number, line),
            );
        }
    }
}

/// `word` stands between characters that are no part of a module's name.
fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'))
        .any(|w| w == word || w.strip_prefix(word).is_some_and(|rest| rest.starts_with('-')))
}
