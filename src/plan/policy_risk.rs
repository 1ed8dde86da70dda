//! Risks that come from the host's own policy rather than from a rule.

use super::{Change, Consent};
use crate::host::Host;
use crate::rules::Kind;

/// Adds `hardening-policy` where isolation is weakened beside a deliberate strict setting, and
/// `unattended-unlock` where a changed command line may keep a disk locked. Both need consent.
pub(super) fn add(host: &Host, change: &mut Change) {
    let weakens = change.risks.iter().any(|r| r == "dma-isolation" || r == "acs-isolation");
    if weakens && deliberate(host) {
        require(change, "hardening-policy");
        change.loses.push(
            "a deliberate strict setting on this command line (iommu.strict=1 or lockdown=)".to_owned(),
        );
    }
    let locked = host.isolation.unattended_unlock.value().is_some_and(|u| !u.is_empty());
    if change.kind == Kind::KernelCmdline && locked {
        require(change, "unattended-unlock");
    }
}

fn require(change: &mut Change, risk: &str) {
    if !change.risks.iter().any(|r| r == risk) {
        change.risks.push(risk.to_owned());
    }
    change.consent = Consent::Required;
}

fn deliberate(host: &Host) -> bool {
    host.kernel.cmdline.value().is_some_and(|line| {
        line.options
            .iter()
            .any(|o| (o.key == "iommu.strict" && o.value.as_deref() == Some("1")) || o.key == "lockdown")
    })
}
