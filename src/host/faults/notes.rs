//! Single lines that decide a fact each: API mismatch, AER ownership, unknown parameters, KFD's refusals.

use super::requester::parse_bdf;
use crate::host::log::LogLine;
use std::collections::BTreeMap;

/// Features of PCI Express that `_OSC` grants; a list with none of them speaks of something else (CXL).
const PCIE: [&str; 6] = ["PCIeHotplug", "SHPCHotplug", "PME", "PCIeCapability", "LTR", "DPC"];

/// What was seen.
#[derive(Default)]
pub(super) struct Notes<'a> {
    mismatch: Option<&'a LogLine>,
    reloaded: Option<&'a LogLine>,
    aer_refused: Option<&'a LogLine>,
    aer_granted: Option<&'a LogLine>,
    parameters: BTreeMap<String, &'a LogLine>,
    refusals: BTreeMap<String, &'a LogLine>,
}

impl<'a> Notes<'a> {
    pub(super) fn line(&mut self, line: &'a LogLine) {
        let text = line.text.as_str();
        if text.contains("NVRM: API mismatch") {
            self.mismatch = Some(line);
            self.reloaded = None;
        } else if text.starts_with("NVRM: loading") {
            self.reloaded = Some(line);
        } else if let Some((_, osc)) = text.split_once("_OSC: ") {
            match owns_aer(osc) {
                Some(true) => {
                    self.aer_granted.get_or_insert(line);
                }
                Some(false) => {
                    self.aer_refused.get_or_insert(line);
                }
                None => {}
            }
        } else if let Some(name) = unknown_parameter(text) {
            self.parameters.entry(name).or_insert(line);
        } else if let Some(pair) = refusal(text) {
            self.refusals.entry(pair).or_insert(line);
        }
    }

    /// A mismatch that no later load of the module ended.
    pub(super) fn api_mismatch(&self) -> Option<(bool, &'a LogLine)> {
        let line = self.mismatch?;
        Some(self.reloaded.map_or((true, line), |reloaded| (false, reloaded)))
    }

    /// AER withheld from Linux on any host bridge.
    pub(super) fn aer_not_owned(&self) -> Option<(bool, &'a LogLine)> {
        self.aer_refused.map(|line| (true, line)).or(self.aer_granted.map(|line| (false, line)))
    }

    pub(super) fn unknown_parameters(&self) -> Vec<(String, &'a LogLine)> {
        self.parameters.iter().map(|(name, line)| (name.clone(), *line)).collect()
    }

    pub(super) fn kfd_refusals(&self) -> Vec<(String, &'a LogLine)> {
        self.refusals.iter().map(|(pair, line)| (pair.clone(), *line)).collect()
    }
}

/// What an `_OSC` line says about AER (drivers/acpi/pci_root.c); `None` when nothing.
fn owns_aer(text: &str) -> Option<bool> {
    let features = || {
        let (_, inside) = text.split_once('[')?;
        Some(inside.split(']').next()?.split_ascii_whitespace().collect::<Vec<_>>())
    };
    if text.starts_with("platform does not support [") {
        return features()?.contains(&"AER").then_some(false);
    }
    if text.starts_with("OS now controls [") {
        let features = features()?;
        return PCIE.iter().any(|f| features.contains(f)).then(|| features.contains(&"AER"));
    }
    let refused =
        ["platform retains control of PCIe features", "not requesting OS control", "not requesting control"];
    refused.iter().any(|words| text.starts_with(words)).then_some(false)
}

/// `MODULE: unknown parameter 'NAME' ignored` (kernel/module/main.c).
fn unknown_parameter(text: &str) -> Option<String> {
    let (module, rest) = text.split_once(": unknown parameter '")?;
    let (name, _) = rest.split_once("' ignored")?;
    let plain = |t: &str| !t.is_empty() && !t.contains(char::is_whitespace);
    (plain(module) && plain(name)).then(|| format!("{module}.{name}"))
}

/// `amdgpu TARGET: …PCIe P2P access from peer device INITIATOR is not supported by the chipset`.
fn refusal(text: &str) -> Option<String> {
    let (before, rest) = text.split_once("PCIe P2P access from peer device ")?;
    let (initiator, rest) = rest.split_once(' ')?;
    if !rest.starts_with("is not supported by the chipset") {
        return None;
    }
    let target = before.split(' ').find_map(|word| parse_bdf(word.trim_end_matches(':')))?;
    Some(format!("{target}<-{}", parse_bdf(initiator)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ownership_of_aer_follows_the_grant() {
        for (text, expected) in [
            ("platform does not support [SHPCHotplug AER LTR]", Some(false)),
            ("platform does not support [SHPCHotplug LTR]", None),
            ("OS now controls [PCIeHotplug PME AER PCIeCapability]", Some(true)),
            ("OS now controls [PCIeHotplug PME PCIeCapability]", Some(false)),
            ("OS now controls [CXLMemErrorReporting]", None),
            ("OS supports [ExtendedConfig ASPM ClockPM Segments MSI EDR HPX-Type3]", None),
            ("platform retains control of PCIe features (AE_ERROR)", Some(false)),
        ] {
            assert_eq!(owns_aer(text), expected, "{text}");
        }
    }

    #[test]
    fn parameters_and_refusals_are_named() {
        assert_eq!(
            unknown_parameter("nvidia: unknown parameter 'NVreg_Whatever' ignored").as_deref(),
            Some("nvidia.NVreg_Whatever")
        );
        assert_eq!(unknown_parameter("odd words: unknown parameter 'x' ignored"), None);
        assert_eq!(
            refusal("amdgpu 0000:83:00.0: amdgpu: PCIe P2P access from peer device 0000:43:00.0 is not supported by the chipset")
                .as_deref(),
            Some("0000:83:00.0<-0000:43:00.0")
        );
        assert_eq!(refusal("PCIe P2P access from peer device x is not supported by the chipset"), None);
    }
}
