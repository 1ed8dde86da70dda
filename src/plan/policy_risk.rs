//! Risks that come from the host's own policy rather than from a rule.

use super::{Change, Site};
use crate::host::cmdline::Cmdline;
use crate::rules::Kind;

/// Adds `hardening-policy` where isolation is weakened beside a deliberate strict setting, and
/// `unattended-unlock` where a changed command line may keep a disk locked. Both need consent.
pub(super) fn add(site: Site<'_>, change: &mut Change) {
    let weakens = change.risks.iter().any(|r| r == "dma-isolation" || r == "acs-isolation");
    if weakens && let Some(word) = deliberate(site) {
        change.require("hardening-policy");
        change.loses.push(format!("a deliberate strict setting on the command line ({word})"));
    }
    if change.kind == Kind::KernelCmdline && site.host.isolation.unlock.needs_consent() {
        change.require("unattended-unlock");
    }
}

/// The strict setting on the running command line, or on the one of the next boot.
fn deliberate(site: Site<'_>) -> Option<String> {
    let running = site.host.kernel.cmdline.value().cloned();
    let configured = site.boot.configured.value().map(|words| Cmdline::parse(&words.join(" ")));
    running.into_iter().chain(configured).flat_map(|line| line.options).find_map(|option| {
        let strict = option.key == "iommu.strict" && option.value.as_deref() == Some("1");
        (strict || option.key == "lockdown").then_some(option.word)
    })
}
