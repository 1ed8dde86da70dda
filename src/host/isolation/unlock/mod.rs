//! How the encrypted volumes of this host are opened at boot, and what of that a changed command line or boot entry
//! stands in the way of.

mod configured;
mod hints;
mod mapped;
mod way;

use super::gather::{Gather, not_captured};
use crate::format::luks2;
use crate::root::{Evidence, Fact, Root, Unknown, Why};
use configured::Configured;
use mapped::Mapped;
use schemars::JsonSchema;
use serde::Serialize;
use way::{Choice, Setting, Way};

/// Unlock of encrypted volumes.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Unlock {
    /// Volumes that are opened at boot: those of crypttab and of `rd.luks` words, and what holds the root file
    /// system. Unknown when one of these places cannot be read.
    pub volumes: Fact<Vec<Volume>>,
    /// Ways into the initramfs from afar (dropbear), in words.
    pub remote: Fact<Vec<String>>,
    /// What may keep a volume locked in a trial boot, in words: registers of the TPM that a changed boot changes, a
    /// network that must come up, a person at each boot. Empty when every volume opens by itself whatever the
    /// command line.
    pub trouble: Fact<Vec<String>>,
    /// How often at most somebody unlocks a volume by hand for one trial, in its own boot and on the way back.
    pub trial_unlocks: Fact<i64>,
}

/// A volume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Volume {
    /// Name of the mapping.
    pub name: String,
    /// Device as it is configured (`UUID=…`), or the one below the mapping.
    pub device: String,
    /// How it is opened, in words: `TPM, register 7 (systemd-tpm2)`, `Tang (clevis)`, `passphrase`. Of several
    /// ways the one that a changed boot harms least.
    pub mechanism: Fact<String>,
    /// Registers of the TPM that the key is sealed to; absent when the TPM has no part in it.
    pub pcrs: Fact<Vec<i64>>,
    /// A changed command line or boot entry can keep it from opening by itself: a register measures it, or the
    /// network must come up. Unknown when the mechanism or its registers are.
    pub can_break: Fact<bool>,
    /// The network must come up in the initramfs.
    pub network: bool,
    /// A person is needed at each boot.
    pub by_hand: Fact<bool>,
}

impl Unlock {
    /// Reads crypttab, command lines, mappings, headers of volumes (root, live; a tree may hold `dev/…` as regular
    /// files), dracut's configuration and the keys of an initramfs ssh server.
    pub(super) fn read(root: &Root) -> Self {
        let mut places = Gather::default();
        if !root.exists("etc") {
            places.unread(not_captured("etc", "disk unlock is read from etc/crypttab and its like"));
        }
        let mapped = Mapped::read(root);
        let configured = configured::read(root, &mapped, &mut places);
        let setting = Setting::read(root);
        let encrypted = !configured.is_empty() || !mapped.known;
        let remote = hints::remote(root, encrypted);
        let afar = remote.value().is_some_and(|ways| !ways.is_empty());
        let mut trouble = Gather::default();
        let mut volumes = Vec::new();
        let mut by_hand = 0;
        let mut undecided = false;
        for volume in configured {
            let choice = opened(root, &mapped, &setting, &volume);
            if let Some(words) = choice.trouble(&volume.name, afar) {
                trouble.add(words, volume.evidence.clone());
            }
            undecided |= choice.way == Way::Unknown;
            by_hand += choice.unlocks();
            match &choice.unread {
                Some(reason) => trouble.unread(reason.clone()),
                None => choice.evidence.iter().for_each(|e| trouble.note(e.clone())),
            }
            volumes.push((choice.volume(&volume), volume.evidence));
        }
        let any = !volumes.is_empty();
        hints::add(root, &mut trouble, any, encrypted, undecided || !any);
        trouble.unread_of(&places);
        let trial_unlocks = match trouble.first_unread() {
            Some(reason) => Fact::Unknown(reason),
            None => Fact::known(by_hand, Evidence::new("etc/crypttab", "unlocks by hand, there and back")),
        };
        Self {
            volumes: known_volumes(volumes, &places),
            remote,
            trouble: trouble.finish("etc/crypttab", "no volume that a changed boot could keep locked"),
            trial_unlocks,
        }
    }

    /// True when a changed command line needs the risk `unattended-unlock` accepted: a volume may stay locked, or
    /// there is one and how it opens is not known.
    pub fn needs_consent(&self) -> bool {
        match &self.trouble {
            Fact::Known { value, .. } => !value.is_empty(),
            Fact::Unknown(unknown) => {
                let volumes = self.volumes.value().is_some_and(|volumes| !volumes.is_empty());
                volumes || !matches!(unknown.why, Why::NotCaptured | Why::Derived)
            }
            Fact::Absent { .. } => false,
        }
    }
}

fn known_volumes(volumes: Vec<(Volume, Evidence)>, places: &Gather) -> Fact<Vec<Volume>> {
    match places.first_unread() {
        Some(reason) if volumes.is_empty() => Fact::Unknown(reason),
        _ if volumes.is_empty() => {
            Fact::known(Vec::new(), Evidence::new("etc/crypttab", "no volume is opened at boot"))
        }
        _ => {
            let (volumes, evidence) = volumes.into_iter().unzip();
            Fact::from_lines(volumes, evidence)
        }
    }
}

/// How one volume is opened.
fn opened(root: &Root, mapped: &Mapped, setting: &Setting, volume: &Configured) -> Choice {
    if let Some(choice) = way::by_options(volume) {
        return choice;
    }
    let key = format!("etc/cryptsetup-keys.d/{}.key", volume.name);
    if root.exists(&key) {
        return Choice::of(Way::Free, "key file", Evidence::new(key, "is there"));
    }
    match header(root, mapped, volume) {
        Ok((path, header)) => way::by_header(root, setting, volume, &path, &header),
        Err(reason) => way::without_header(volume, reason),
    }
}

/// The header of a volume, with the path it was read from.
fn header(root: &Root, mapped: &Mapped, volume: &Configured) -> Result<(String, luks2::Header), Unknown> {
    let detached = volume.option("header").filter(|path| path.starts_with('/'));
    let below = mapped.device_of(&volume.name).map(|device| format!("dev/{device}"));
    let named = configured::path(detached.as_deref().unwrap_or(&volume.device));
    let tries = [detached.as_ref().and(named.clone()), below, named];
    let path = tries.into_iter().flatten().find(|path| root.exists(path));
    let path = path.ok_or_else(|| {
        not_captured(&format!("the header of {}", volume.device), "its tokens say how it is opened")
    })?;
    match root.head(&path, luks2::LARGEST) {
        Fact::Known { value, .. } => match luks2::parse(&value) {
            Ok(header) => Ok((path, header)),
            Err(detail) => Err(Unknown { path, line: None, why: Why::Malformed, detail }),
        },
        Fact::Absent { .. } => Err(not_captured(&path, "")),
        Fact::Unknown(reason) => Err(reason),
    }
}
