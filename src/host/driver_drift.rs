//! Configured module options against what the loaded modules run with.

use super::Host;
use super::modprobe::ModuleOption;
use crate::root::{Evidence, Fact, Root, Unknown, Why};
use schemars::JsonSchema;
use serde::Serialize;

/// Drift between modprobe.d, the loaded modules and userspace.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct DriverDrift {
    /// Options in force in modprobe.d whose loaded value is another.
    pub not_loaded: Fact<Vec<NotLoaded>>,
    /// Options of a loaded module that the module does not define.
    pub unknown_parameters: Fact<Vec<ModuleOption>>,
    /// NVIDIA module against userspace (and Fabric Manager), in words; absent when they agree. A vendor's
    /// suffix behind the numbers does not count.
    pub version_mismatch: Fact<String>,
}

/// One option that is configured and not running.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NotLoaded {
    /// `module.parameter`.
    pub parameter: String,
    /// `module.parameter=value` as configured.
    pub word: String,
    /// Configured value.
    pub configured: String,
    /// Value of the loaded module.
    pub running: String,
    /// `file:line`.
    pub place: String,
}

impl DriverDrift {
    /// Compares; only modules that are loaded are compared.
    pub fn read(root: &Root, host: &Host) -> Self {
        Self {
            not_loaded: compare(root, host),
            unknown_parameters: unknown(root, host),
            version_mismatch: versions(host),
        }
    }
}

/// The value that a loaded module runs with; absent when the module is not loaded or does not show it.
fn running(root: &Root, host: &Host, option: &ModuleOption) -> Fact<String> {
    if option.module != "nvidia" {
        return root.line(&source(option));
    }
    match (&host.nvidia.parameters, option.name.strip_prefix("NVreg_")) {
        (Fact::Known { value, evidence }, Some(name)) => match value.iter().find(|p| p.name == name) {
            Some(live) => Fact::from_lines(live.value.clone(), Vec::new()),
            None => Fact::Absent { evidence: evidence.clone() },
        },
        (Fact::Unknown(unknown), Some(_)) => Fact::Unknown(unknown.clone()),
        _ => Fact::absent(source(option)),
    }
}

fn compare(root: &Root, host: &Host) -> Fact<Vec<NotLoaded>> {
    let options = match &host.modprobe.options {
        Fact::Known { value, .. } => value,
        Fact::Absent { evidence } => return Fact::Absent { evidence: evidence.clone() },
        Fact::Unknown(u) => return Fact::Unknown(u.clone()),
    };
    let ours = |module: &str| matches!(module, "nvidia" | "nvidia_uvm" | "nvidia_drm" | "amdgpu");
    let mut found = Vec::new();
    let mut evidence = Vec::new();
    let mut open: Option<Unknown> = None;
    for option in options.iter().filter(|o| o.in_force && ours(&o.module) && o.file != "proc/cmdline") {
        let running = match running(root, host, option) {
            Fact::Known { value, .. } => value,
            Fact::Absent { .. } => continue,
            Fact::Unknown(unknown) => {
                open = open.or(Some(unknown));
                continue;
            }
        };
        if same(&option.value, &running) {
            continue;
        }
        let parameter = format!("{}.{}", option.module, option.name);
        evidence.push(Evidence::at(
            option.file.clone(),
            usize::try_from(option.line).unwrap_or_default(),
            format!("{parameter}={}; the loaded module has {running:?}", option.value),
        ));
        evidence.push(Evidence::new(source(option), format!("{}: {running}", plain_name(option))));
        found.push(NotLoaded {
            word: format!("{parameter}={}", option.value),
            parameter,
            configured: option.value.clone(),
            running,
            place: format!("{}:{}", option.file, option.line),
        });
    }
    match open {
        // What was found stands; nothing found beside a value that could not be read is no pass.
        Some(unknown) if found.is_empty() => Fact::Unknown(unknown),
        _ => Fact::from_lines(found, evidence),
    }
}

/// The file that shows the loaded value.
fn source(option: &ModuleOption) -> String {
    if option.module == "nvidia" {
        "proc/driver/nvidia/params".to_owned()
    } else {
        format!("sys/module/{}/parameters/{}", option.module, option.name)
    }
}

/// The name as `/proc/driver/nvidia/params` prints it.
fn plain_name(option: &ModuleOption) -> &str {
    option.name.strip_prefix("NVreg_").unwrap_or(&option.name)
}

/// Equal as the kernel would read both: numbers in any base, booleans in any spelling, else the text without
/// blanks and quotes.
fn same(configured: &str, running: &str) -> bool {
    let plain = |text: &str| text.chars().filter(|c| !c.is_whitespace() && *c != '"').collect::<String>();
    let (x, y) = (plain(configured), plain(running));
    if x == y {
        return true;
    }
    let number = |text: &str| match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => match text {
            "Y" | "y" | "on" => Some(1),
            "N" | "n" | "off" => Some(0),
            _ => text.parse().ok(),
        },
    };
    // A 32-bit parameter set to -1 is printed as 4294967295.
    matches!((number(&x), number(&y)), (Some(x), Some(y)) if x == y || x & 0xffff_ffff == y & 0xffff_ffff)
}

fn unknown(root: &Root, host: &Host) -> Fact<Vec<ModuleOption>> {
    let options = match &host.modprobe.options {
        Fact::Known { value, .. } => value,
        Fact::Absent { evidence } => return Fact::Absent { evidence: evidence.clone() },
        Fact::Unknown(u) => return Fact::Unknown(u.clone()),
    };
    let mut found = Vec::new();
    let mut evidence = Vec::new();
    let mut open: Option<Unknown> = None;
    for option in options.iter().filter(|o| !o.name.is_empty()) {
        let defined = match option.module.as_str() {
            "nvidia" => {
                if let Fact::Unknown(unknown) = &host.nvidia.parameters {
                    open = open.or(Some(unknown.clone()));
                }
                nvidia_defines(host, &option.name)
            }
            // These modules export every parameter in sysfs (mode is never 0).
            "amdgpu" | "nvidia_uvm" | "vfio_pci" => sysfs_defines(root, &option.module, &option.name),
            _ => None,
        };
        let logged = format!("{}.{}", option.module, option.name);
        let refused = host
            .faults
            .unknown_parameters
            .value()
            .is_some_and(|list| list.iter().any(|p| p.replace('-', "_") == logged.replace('-', "_")));
        if defined == Some(false) || refused {
            evidence.push(Evidence::at(
                option.file.clone(),
                usize::try_from(option.line).unwrap_or_default(),
                format!("{} has no parameter {}", option.module, option.name),
            ));
            found.push(option.clone());
        }
    }
    match open {
        Some(unknown) if found.is_empty() => Fact::Unknown(unknown),
        _ => Fact::from_lines(found, evidence),
    }
}

/// Whether the loaded NVIDIA branch defines a parameter; its names are case-sensitive.
fn nvidia_defines(host: &Host, name: &str) -> Option<bool> {
    let live = host.nvidia.parameters.value()?;
    if live.is_empty() {
        return None;
    }
    let plain = name.strip_prefix("NVreg_")?;
    Some(live.iter().any(|p| p.name == plain))
}

fn sysfs_defines(root: &Root, module: &str, name: &str) -> Option<bool> {
    let names = root.list(&format!("sys/module/{module}/parameters"));
    names.value().map(|names| names.iter().any(|n| n == name))
}

fn versions(host: &Host) -> Fact<String> {
    const PATH: &str = "proc/driver/nvidia/version";
    let module = match &host.nvidia.version {
        Fact::Known { value, .. } => value,
        Fact::Absent { evidence } => return Fact::Absent { evidence: evidence.clone() },
        Fact::Unknown(Unknown { path, detail, .. }) => {
            return Fact::unknown(path, Why::Derived, detail);
        }
    };
    let mut evidence = host.nvidia.version.evidence().to_vec();
    let mut words = Vec::new();
    let mut compared = false;
    for (name, fact) in [
        ("userspace", &host.nvidia.userspace_version),
        ("Fabric Manager", &host.nvidia.fabric_manager_version),
    ] {
        if let Fact::Known { value, evidence: lines } = fact {
            compared |= name == "userspace";
            if numbers(value) != numbers(module) {
                evidence.extend(lines.iter().cloned());
                words.push(format!("{name} is {value}, the loaded module {module}"));
            }
        }
    }
    if !words.is_empty() {
        return Fact::from_lines(words.join("; "), evidence);
    }
    if compared {
        Fact::Absent { evidence }
    } else {
        Fact::unknown(PATH, Why::Derived, "the userspace version is not known")
    }
}

/// The dotted numbers at the start: `595.71.05-aorus.5` is `595.71.05`.
fn numbers(version: &str) -> &str {
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(version.len());
    version[..end].trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::{numbers, same};

    #[test]
    fn values_compare_as_the_kernel_reads_them() {
        assert!(same("0x3", "3"));
        assert!(same("1", "Y"));
        assert!(same("-1", "4294967295"));
        assert!(same("ForceP2P=0x11; RMForceP2PType=1", "\"ForceP2P=0x11;RMForceP2PType=1\""));
        assert!(!same("ForceP2P=0x11", ""));
    }

    #[test]
    fn a_vendor_suffix_is_no_other_version() {
        assert_eq!(numbers("595.71.05-vendor.2"), "595.71.05");
        assert_eq!(numbers("580.95.05"), "580.95.05");
    }
}
