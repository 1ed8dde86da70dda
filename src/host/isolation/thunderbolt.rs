//! Thunderbolt and USB4: attached devices and domains (Documentation/ABI/testing/sysfs-bus-thunderbolt).

use crate::root::{Evidence, Fact, Root, Why};

const PATH: &str = "sys/bus/thunderbolt/devices";

/// Attached devices and domains.
///
/// `sys/bus` without `thunderbolt` means that no such controller has a driver; a tree without `sys/bus` says
/// nothing.
pub(super) fn read(root: &Root) -> (Fact<Vec<String>>, Fact<Vec<String>>) {
    let names = match root.list(PATH) {
        Fact::Known { value, .. } => value,
        Fact::Absent { .. } if root.is_live() || root.exists("sys/bus") => {
            let none =
                || Fact::known(Vec::new(), Evidence::new(PATH, "not there: no Thunderbolt controller"));
            return (none(), none());
        }
        Fact::Absent { .. } => {
            let unknown = || Fact::unknown(PATH, Why::NotCaptured, "sys/bus was not captured");
            return (unknown(), unknown());
        }
        Fact::Unknown(reason) => return (Fact::Unknown(reason.clone()), Fact::Unknown(reason)),
    };
    let devices: Vec<String> = names.iter().filter(|n| is_attached(n)).map(|n| described(root, n)).collect();
    let domains: Vec<String> = names.into_iter().filter(|n| n.starts_with("domain")).collect();
    let evidence = |found: &[String]| {
        if found.is_empty() {
            vec![Evidence::new(PATH, "none")]
        } else {
            found.iter().map(|name| Evidence::new(PATH, name.as_str())).collect()
        }
    };
    let (of_devices, of_domains) = (evidence(&devices), evidence(&domains));
    (Fact::from_lines(devices, of_devices), Fact::from_lines(domains, of_domains))
}

/// `DOMAIN-ROUTE` with a route other than 0. Retimers (`0-0:1.1`) and services of a host at the other end
/// (`0-1.0`) are no devices.
fn is_attached(name: &str) -> bool {
    name.split_once('-').is_some_and(|(domain, route)| {
        !domain.is_empty()
            && domain.bytes().all(|b| b.is_ascii_digit())
            && !route.is_empty()
            && route.bytes().all(|b| b.is_ascii_hexdigit())
            && route.bytes().any(|b| b != b'0')
    })
}

/// `0-1 (Vendor Device)`
fn described(root: &Root, name: &str) -> String {
    let part = |attribute: &str| root.line(&format!("{PATH}/{name}/{attribute}")).value().cloned();
    let words: Vec<String> =
        [part("vendor_name"), part("device_name")].into_iter().flatten().filter(|w| !w.is_empty()).collect();
    if words.is_empty() { name.to_owned() } else { format!("{name} ({})", words.join(" ")) }
}
