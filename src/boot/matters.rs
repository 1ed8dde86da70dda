//! Words that decide about GPU transfers, and how the configured and the running line differ in them.

use crate::format::kernel_cmdline::{comparable, key};
use crate::host::cmdline::Cmdline;
use crate::root::{Fact, Why};
use std::collections::BTreeSet;

/// True for words of options that this program judges: IOMMU, PCI, ASPM and port power, VFIO, lockdown, and
/// parameters of the NVIDIA and amdgpu modules.
pub(super) fn matters(word: &str) -> bool {
    let key = key(word);
    let exact = ["iommu", "intel_iommu", "amd_iommu", "pci", "pcie_port_pm", "pcie_acs_override", "lockdown"];
    if exact.contains(&key.as_str()) {
        return true;
    }
    let module = key.split_once('.').map(|(module, _)| module);
    key.starts_with("pcie_aspm")
        || key.starts_with("vfio")
        || key.starts_with("iommu.")
        || module.is_some_and(|m| m == "amdgpu" || m.starts_with("nvidia"))
}

/// The words of `list` that matter.
pub(super) fn that_matter(list: &[String]) -> Vec<String> {
    list.iter().filter(|w| matters(w)).cloned().collect()
}

/// The words of `list` that matter and do not stand in `other`.
pub(super) fn missing_from(list: &[String], other: &[String]) -> Vec<String> {
    // Each word once: a word found missing joins those that are there.
    let mut there: BTreeSet<String> = other.iter().map(|w| comparable(w)).collect();
    that_matter(list).into_iter().filter(|word| there.insert(comparable(word))).collect()
}

/// Words that matter in `left` and not in `right`; known only when both lines are.
pub(super) fn difference(left: &Fact<Vec<String>>, right: &Fact<Vec<String>>) -> Fact<Vec<String>> {
    match (left, right) {
        (Fact::Known { value: l, evidence }, Fact::Known { value: r, evidence: e }) => {
            Fact::from_lines(missing_from(l, r), evidence.iter().chain(e).cloned().collect())
        }
        (Fact::Unknown(u), _) | (_, Fact::Unknown(u)) => {
            Fact::unknown(u.path.clone(), Why::Derived, u.to_string())
        }
        (Fact::Absent { evidence }, _) | (_, Fact::Absent { evidence }) => {
            Fact::Absent { evidence: evidence.clone() }
        }
    }
}

/// The words of the running line; words after `--` belong to init.
pub(super) fn running(cmdline: &Fact<Cmdline>) -> Fact<Vec<String>> {
    cmdline.as_ref().map(|c| crate::format::kernel_cmdline::kernel_words(&c.text))
}

#[cfg(test)]
mod tests {
    use super::{matters, missing_from};

    #[test]
    fn only_options_that_are_judged_matter() {
        for word in [
            "iommu=pt",
            "iommu.strict=0",
            "intel-iommu=off",
            "amd_iommu=on",
            "pci=realloc",
            "pcie_aspm.policy=x",
            "pcie_aspm=off",
            "nvidia-drm.modeset=1",
            "nvidia_uvm.uvm_disable_hmm=1",
            "amdgpu.pcie_p2p=1",
            "lockdown=integrity",
            "vfio-pci.ids=10de:1",
            "vfio_iommu_type1.x=1",
            "pcie_port_pm=off",
        ] {
            assert!(matters(word), "{word}");
        }
        for word in
            ["quiet", "root=UUID=x", "pcie_ports=native", "iommux=1", "mitigations=off", "video=nvidia.x"]
        {
            assert!(!matters(word), "{word}");
        }
    }

    #[test]
    fn dash_and_underscore_are_one_key() {
        let list = |w: &[&str]| w.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        assert!(missing_from(&list(&["intel-iommu=off"]), &list(&["intel_iommu=off"])).is_empty());
        assert_eq!(missing_from(&list(&["iommu=pt", "quiet"]), &list(&["iommu=off"])), ["iommu=pt"]);
    }
}
