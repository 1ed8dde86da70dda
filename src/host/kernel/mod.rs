//! The running kernel: release, command line, configuration, lockdown, boot id.

mod config;

pub use config::KernelConfig;

use super::cmdline::Cmdline;
use super::presence::{absent_beside, always_made, not_captured};
use crate::root::{Evidence, Fact, Root};
use schemars::JsonSchema;
use serde::Serialize;

/// Facts of the running kernel.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Kernel {
    /// `proc/sys/kernel/osrelease`, or the release in `proc/version`: `6.12.48-amd64`.
    pub release: Fact<String>,
    /// `[major, minor]` of the release as `major * 1000 + minor`: 6.12 is 6012.
    pub version: Fact<i64>,
    /// `proc/cmdline`.
    pub cmdline: Fact<Cmdline>,
    /// `CONFIG_` symbols that rules look at.
    pub config: KernelConfig,
    /// The bracketed word of `sys/kernel/security/lockdown`: none, integrity, confidentiality.
    pub lockdown: Fact<String>,
    /// `proc/sys/kernel/random/boot_id`.
    pub boot_id: Fact<String>,
    /// Current word of `sys/module/pcie_aspm/parameters/policy`.
    pub aspm_policy: Fact<String>,
}

impl Kernel {
    /// Reads the kernel's facts.
    pub fn read(root: &Root) -> Self {
        let release = release(root);
        Self {
            version: version(&release),
            cmdline: cmdline(root),
            config: KernelConfig::read(root, &release),
            lockdown: lockdown(root),
            boot_id: always_made(root, root.line("proc/sys/kernel/random/boot_id"))
                .parse(|text| not_empty(text)),
            aspm_policy: aspm_policy(root),
            release,
        }
    }
}

/// The release, from either of the two files that hold it.
pub(super) fn release(root: &Root) -> Fact<String> {
    let direct = root.line("proc/sys/kernel/osrelease").parse(|text| not_empty(text));
    if direct.value().is_some() {
        return direct;
    }
    let other = root.line("proc/version").parse(|text| release_in_version(text));
    // A broken file is named before a missing one.
    if other.value().is_some() || direct.is_absent() && other.is_unknown() {
        return other;
    }
    always_made(root, direct)
}

/// `Linux version RELEASE (builder@host) …` (init/version.c).
fn release_in_version(text: &str) -> Result<String, String> {
    text.strip_prefix("Linux version ")
        .and_then(|rest| rest.split_whitespace().next())
        .map(str::to_owned)
        .ok_or_else(|| "expected \"Linux version RELEASE …\"".to_owned())
}

/// `major * 1000 + minor` of a release.
pub(super) fn version(release: &Fact<String>) -> Fact<i64> {
    release.clone().parse(|text| {
        let mut parts = text.splitn(3, '.');
        let mut number = || leading_number(parts.next().unwrap_or_default());
        match (number(), number()) {
            (Some(major), Some(minor)) if minor < 1000 && major < 1000 => Ok(major * 1000 + minor),
            _ => Err(format!("expected a release such as 6.12.48, found {text:?}")),
        }
    })
}

fn leading_number(text: &str) -> Option<i64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text.get(..digits)?.parse().ok()
}

fn cmdline(root: &Root) -> Fact<Cmdline> {
    match always_made(root, root.text("proc/cmdline")) {
        Fact::Known { value, .. } => {
            let line = Cmdline::parse(&value);
            let evidence = Evidence::at("proc/cmdline", 1, line.text.clone());
            Fact::known(line, evidence)
        }
        Fact::Absent { evidence } => Fact::Absent { evidence },
        Fact::Unknown(reason) => Fact::Unknown(reason),
    }
}

fn lockdown(root: &Root) -> Fact<String> {
    let path = "sys/kernel/security/lockdown";
    let fact = root.line(path).parse(|text| bracketed(text));
    if !fact.is_absent() {
        return fact;
    }
    // Kernels without the lockdown LSM lack the file; so does a host whose securityfs is not mounted, which
    // proves nothing. Any other file in the directory shows that it is mounted.
    match root.list("sys/kernel/security") {
        Fact::Known { value, .. } if !value.is_empty() => fact,
        _ => not_captured(root, path, "securityfs shows no file"),
    }
}

fn aspm_policy(root: &Root) -> Fact<String> {
    let path = "sys/module/pcie_aspm/parameters/policy";
    absent_beside(root, "sys/module/pcie_aspm/parameters", root.line(path).parse(|text| bracketed(text)))
}

fn not_empty(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("the first line is empty".to_owned()) } else { Ok(text.to_owned()) }
}

/// The word in brackets of a choice list: `none [integrity] confidentiality`.
fn bracketed(text: &str) -> Result<String, String> {
    let word = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(word, _)| word.trim());
    match word {
        Some(word) if !word.is_empty() => Ok(word.to_owned()),
        _ => Err(format!("expected a list with the current word in brackets, found {text:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_needs_two_numbers() {
        let of = |text: &str| version(&Fact::known(text.to_owned(), Evidence::new("x", ""))).value().copied();
        assert_eq!(of("6.12.48-amd64"), Some(6012));
        assert_eq!(of("7.3-rc1"), Some(7003));
        assert_eq!(of("5.4.0-150-generic"), Some(5004));
        for odd in ["6", "six.twelve", ".", "6.", "99999999999999999999.1", "6.12345"] {
            assert_eq!(of(odd), None, "{odd}");
        }
    }
}
