//! How one volume is opened, by its options and by the tokens in its header.

use super::Volume;
use super::configured::Configured;
use crate::format::clevis::Pin;
use crate::format::luks2::{Header, Token};
use crate::root::{Evidence, Fact, Root, Unknown, Why};

/// Registers that neither the kernel's command line nor the choice of an entry changes: firmware, its settings, option
/// ROMs, Secure Boot state, shim's keys, the volume's own (UAPI Linux TPM PCR registry). 4, 5, 8, 9, 11 and 12 measure
/// loaders, entries, kernels, initrds and command lines, and 10 holds 8 and 9 (IMA's boot aggregate).
const STEADY: [i64; 9] = [0, 1, 2, 3, 6, 7, 13, 14, 15];

/// What a way needs, the least harmed by a changed boot first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Way {
    /// Nothing that a changed boot changes.
    Free,
    /// The network.
    Network,
    /// Registers that measure the boot, or that are not known.
    Measured,
    /// Not known.
    Unknown,
    /// A person.
    Person,
}

/// Registers of the TPM that a key is sealed to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Registers {
    /// The TPM has no part in it.
    NoTpm,
    /// These, or none.
    Of(Vec<i64>),
    /// Which ones is not known.
    Unknown,
}

impl Registers {
    fn from(list: Option<Vec<i64>>) -> Self {
        list.map_or(Self::Unknown, Self::Of)
    }

    /// Of two keys that are both needed.
    fn with(self, other: &Self) -> Self {
        match (self, other) {
            (Self::NoTpm, other) => other.clone(),
            (own, Self::NoTpm) => own,
            (Self::Of(a), Self::Of(b)) => Self::Of([a.as_slice(), b].concat()),
            _ => Self::Unknown,
        }
    }
}

/// What the host has to open volumes with.
pub(super) struct Setting {
    /// A TPM is there, as far as that is known.
    tpm: bool,
    /// The initramfs is one of initramfs-tools, which knows no tokens of systemd.
    initramfs_tools: bool,
    /// clevis has its part in the initramfs.
    clevis: bool,
}

impl Setting {
    pub(super) fn read(root: &Root) -> Self {
        let tpms = root.list("sys/class/tpm");
        let none = tpms.value().is_some_and(Vec::is_empty) || (root.is_live() && tpms.is_absent());
        let dracut = root.exists("usr/bin/dracut") || root.exists("usr/lib/dracut");
        let initramfs_tools = root.exists("usr/share/initramfs-tools") && !dracut;
        let hook = root.exists("usr/share/initramfs-tools/hooks/clevis");
        Self { tpm: !none, initramfs_tools, clevis: !initramfs_tools || hook }
    }
}

/// A way, as it was found.
pub(super) struct Choice {
    pub(super) way: Way,
    words: String,
    pcrs: Registers,
    /// Why it is not known.
    pub(super) unread: Option<Unknown>,
    pub(super) evidence: Vec<Evidence>,
}

impl Choice {
    pub(super) fn of(way: Way, words: &str, evidence: Evidence) -> Self {
        Self { way, words: words.to_owned(), pcrs: Registers::NoTpm, unread: None, evidence: vec![evidence] }
    }

    /// What stands in the way of a changed boot; none when nothing does, or when that is not known.
    /// `afar`: an ssh server in the initramfs takes a passphrase too.
    pub(super) fn trouble(&self, name: &str, afar: bool) -> Option<String> {
        let Self { words, .. } = self;
        match self.way {
            Way::Free | Way::Unknown => None,
            Way::Network => Some(format!("{name}: {words}, which needs the network in the initramfs")),
            Way::Measured if self.pcrs == Registers::Unknown => Some(format!("{name}: {words}")),
            Way::Measured => Some(format!("{name}: {words}, which a changed boot changes")),
            Way::Person if afar => Some(format!(
                "{name}: {words} at each boot, at the console or through ssh into the initramfs"
            )),
            Way::Person => Some(format!("{name}: {words} at each boot")),
        }
    }

    /// Unlocks by hand that one trial needs: there and back, or in the trial alone.
    pub(super) fn unlocks(&self) -> i64 {
        match self.way {
            Way::Person => 2,
            Way::Measured => 1,
            Way::Free | Way::Network | Way::Unknown => 0,
        }
    }

    pub(super) fn volume(&self, configured: &Configured) -> Volume {
        let evidence = self.evidence.first().unwrap_or(&configured.evidence);
        let unknown = Unknown {
            path: self.unread.as_ref().map_or_else(|| evidence.source.clone(), |reason| reason.path.clone()),
            line: self.unread.as_ref().and_then(|reason| reason.line),
            why: Why::Derived,
            detail: self.unread.as_ref().map_or_else(|| self.words.clone(), |reason| reason.detail.clone()),
        };
        let known = self.way != Way::Unknown;
        let breaks_known = known && !(self.way == Way::Measured && self.pcrs == Registers::Unknown);
        let says = |known: bool, value: bool| {
            if known { Fact::known(value, evidence.clone()) } else { Fact::Unknown(unknown.clone()) }
        };
        Volume {
            name: configured.name.clone(),
            device: configured.device.clone(),
            mechanism: says(known, true).map(|_| self.words.clone()),
            pcrs: match &self.pcrs {
                Registers::Of(pcrs) => Fact::known(pcrs.clone(), evidence.clone()),
                Registers::NoTpm if known => Fact::Absent { evidence: vec![evidence.clone()] },
                Registers::NoTpm | Registers::Unknown => Fact::Unknown(unknown.clone()),
            },
            can_break: says(breaks_known, matches!(self.way, Way::Network | Way::Measured)),
            network: self.way == Way::Network,
            by_hand: says(known, self.way == Way::Person),
        }
    }
}

/// What key file and options alone decide.
pub(super) fn by_options(volume: &Configured) -> Option<Choice> {
    let has = |name: &str| volume.option(name).is_some();
    let choice = |way, words: &str| Some(Choice::of(way, words, volume.evidence.clone()));
    if let Some(script) = volume.option("keyscript") {
        let name = script.rsplit('/').next().unwrap_or_default().to_owned();
        if ["tpm", "clevis", "tang"].iter().any(|w| script.contains(w)) {
            let words = format!("keyscript={script}, whose registers are not known");
            return Some(Choice {
                pcrs: Registers::Unknown,
                ..Choice::of(Way::Measured, &words, volume.evidence.clone())
            });
        }
        return match name.as_str() {
            "decrypt_derived" | "passdev" => choice(Way::Free, &format!("key script {name}")),
            "decrypt_keyctl" | "decrypt_gnupg" | "decrypt_gnupg-sc" | "decrypt_opensc" | "decrypt_ssl" => {
                choice(Way::Person, &format!("a passphrase or card for {name}"))
            }
            _ => {
                let unread = Unknown {
                    path: volume.evidence.source.clone(),
                    line: volume.evidence.line,
                    why: Why::Derived,
                    detail: format!("what keyscript={script} asks for is not known"),
                };
                let unknown = Choice::of(Way::Unknown, "a script", volume.evidence.clone());
                Some(Choice { unread: Some(unread), ..unknown })
            }
        };
    }
    match volume.key.as_deref() {
        Some("/dev/urandom" | "/dev/random" | "/dev/hw_random") => choice(Way::Free, "random key"),
        // The file holds a key that is sealed in the TPM, to register 7 unless told otherwise.
        Some(_) if has("tpm2-device") => {
            let pcrs = match volume.option("tpm2-pcrs") {
                None => Some(vec![7]),
                Some(text) => text.split('+').filter(|t| !t.is_empty()).map(|t| t.parse().ok()).collect(),
            };
            let (way, words) = sealed(pcrs.as_deref(), "key file");
            Some(Choice { pcrs: Registers::from(pcrs), ..Choice::of(way, &words, volume.evidence.clone()) })
        }
        _ if has("fido2-device") || has("pkcs11-uri") => choice(Way::Person, "a security token"),
        Some(_) => choice(Way::Free, "key file"),
        None if ["plain", "tcrypt", "tcrypt-hidden", "tcrypt-system", "bitlk"].iter().any(|t| has(t)) => {
            choice(Way::Person, "passphrase")
        }
        None => None,
    }
}

/// What the tokens of a header decide: of several ways the one that is harmed least; a passphrase opens it always.
pub(super) fn by_header(
    root: &Root,
    setting: &Setting,
    volume: &Configured,
    path: &str,
    header: &Header,
) -> Choice {
    let passphrase = |why: &str| {
        let words = if why.is_empty() { "passphrase".to_owned() } else { format!("passphrase ({why})") };
        Choice::of(
            Way::Person,
            &words,
            Evidence::new(path, format!("LUKS{}, no token that helps", header.version)),
        )
    };
    if header.version == 1 {
        if root.exists("usr/bin/clevis") {
            let detail = "version 1 keeps the tokens of clevis elsewhere: clevis luks list -d DEVICE";
            let reason =
                Unknown { path: path.to_owned(), line: None, why: Why::Derived, detail: detail.to_owned() };
            return without_header(volume, reason);
        }
        return passphrase("");
    }
    let mut best: Option<Choice> = None;
    for (id, token) in &header.tokens {
        let (way, words, pcrs) = by_token(setting, volume, token);
        if best.as_ref().is_some_and(|best| best.way <= way) {
            continue;
        }
        let checked = if header.verified { "" } else { " (checksum not compared)" };
        let evidence = vec![Evidence::new(path, format!("token {id}: {words}{checked}"))];
        let unread = (way == Way::Unknown).then(|| Unknown {
            path: path.to_owned(),
            line: None,
            why: Why::Derived,
            detail: format!("token {id}: {words}"),
        });
        best = Some(Choice { way, words, pcrs, unread, evidence });
    }
    best.unwrap_or_else(|| {
        passphrase(if volume.option("tpm2-device").is_some() { "no key in the TPM" } else { "" })
    })
}

/// Without a header the registers are not known, nor whether a token is there at all.
pub(super) fn without_header(volume: &Configured, reason: Unknown) -> Choice {
    let evidence = volume.evidence.clone();
    if volume.option("tpm2-device").is_some() {
        let words = format!("TPM, registers not known ({reason})");
        return Choice { pcrs: Registers::Unknown, ..Choice::of(Way::Measured, &words, evidence) };
    }
    let words = format!("not known ({reason})");
    Choice { unread: Some(reason), ..Choice::of(Way::Unknown, &words, evidence) }
}

type Found = (Way, String, Registers);

fn by_token(setting: &Setting, volume: &Configured, token: &Token) -> Found {
    let person = |words: &str| (Way::Person, words.to_owned(), Registers::NoTpm);
    match token {
        Token::Tpm2 { .. } if !setting.tpm => person("passphrase (there is no TPM)"),
        Token::Tpm2 { .. } if volume.early && setting.initramfs_tools => {
            person("passphrase (initramfs-tools opens no token of systemd)")
        }
        Token::Tpm2 { pin: true, .. } => person("a PIN for the TPM"),
        Token::Tpm2 { pcrlock: true, pcrs, .. } => {
            (Way::Measured, "TPM, measurements of systemd-pcrlock".to_owned(), Registers::from(pcrs.clone()))
        }
        Token::Tpm2 { pcrs, signed, .. } => {
            let pcrs = pcrs.clone().zip(signed.clone()).map(|(own, signed)| [own, signed].concat());
            let (way, words) = sealed(pcrs.as_deref(), "systemd-tpm2");
            (way, words, Registers::from(pcrs))
        }
        Token::Clevis(_) if volume.early && !setting.clevis => {
            person("passphrase (clevis has no part in the initramfs)")
        }
        Token::Clevis(pin) => by_pin(setting, pin),
        Token::Device(kind) => person(&format!("a security token ({kind})")),
        Token::Recovery => person("a recovery key"),
        Token::Other(kind) => (Way::Unknown, format!("a token of type {kind:?}"), Registers::NoTpm),
    }
}

fn by_pin(setting: &Setting, pin: &Pin) -> Found {
    match pin {
        Pin::Tpm2 { .. } if !setting.tpm => {
            (Way::Person, "passphrase (there is no TPM)".to_owned(), Registers::NoTpm)
        }
        Pin::Tpm2 { pcrs } => {
            let (way, words) = sealed(pcrs.as_deref(), "clevis");
            (way, words, Registers::from(pcrs.clone()))
        }
        Pin::Tang => (Way::Network, "Tang (clevis)".to_owned(), Registers::NoTpm),
        Pin::Sss { threshold, pins } => {
            let mut found: Vec<Found> = pins.iter().map(|pin| by_pin(setting, pin)).collect();
            found.sort_by_key(|(way, ..)| *way);
            // So many are needed: the worst of the best decides.
            let Some((way, ..)) = threshold.checked_sub(1).and_then(|last| found.get(last)) else {
                return (Way::Unknown, "shares of clevis that do not add up".to_owned(), Registers::NoTpm);
            };
            let words: Vec<&str> = found.iter().map(|(_, words, _)| words.as_str()).collect();
            let pcrs = found.iter().fold(Registers::NoTpm, |all, (.., own)| all.with(own));
            (*way, format!("{threshold} of {}", words.join(" and ")), pcrs)
        }
        Pin::Other(name) => {
            (Way::Unknown, format!("a pin of clevis that is not known ({name})"), Registers::NoTpm)
        }
    }
}

/// A key in the TPM.
fn sealed(pcrs: Option<&[i64]>, by: &str) -> (Way, String) {
    let list = |pcrs: &[i64]| pcrs.iter().map(i64::to_string).collect::<Vec<_>>().join(" and ");
    match pcrs {
        None => (Way::Measured, format!("TPM, registers that cannot be read ({by})")),
        Some([]) => (Way::Free, format!("TPM, no register ({by})")),
        Some(pcrs) => {
            let way = if pcrs.iter().all(|pcr| STEADY.contains(pcr)) { Way::Free } else { Way::Measured };
            let word = if pcrs.len() == 1 { "register" } else { "registers" };
            (way, format!("TPM, {word} {} ({by})", list(pcrs)))
        }
    }
}
