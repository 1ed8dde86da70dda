//! Config space: port type, ACS, Resizable BAR and ASPM, with every length that a capture can have.

mod common;

use common::Tree;
use peerfix::host::pci::{self, PciDevice};
use peerfix::root::{Root, Why};
use proptest::prelude::*;

const DEVICE: &str = "sys/devices/pci0000:00/0000:00:01.0";

/// Config space under construction.
struct Config(Vec<u8>);

impl Config {
    /// 4096 bytes with a PCI Express capability of a port type at 0x40, and no extended capability.
    fn express(port_type: u16) -> Self {
        let mut config = Self(vec![0; 4096]);
        config.word(0x00, 0x8086).word(0x06, 0x0010);
        config.0[0x34] = 0x40;
        config.word(0x40, 0x8010).word(0x42, port_type << 4 | 2);
        config.word(0x80, 0x0005);
        config
    }

    fn word(&mut self, at: usize, value: u16) -> &mut Self {
        self.0[at..at + 2].copy_from_slice(&value.to_le_bytes());
        self
    }

    fn dword(&mut self, at: usize, value: u32) -> &mut Self {
        self.0[at..at + 4].copy_from_slice(&value.to_le_bytes());
        self
    }

    fn extended(&mut self, at: usize, id: u32, next: u32) -> &mut Self {
        self.dword(at, id | 1 << 16 | next << 20)
    }

    fn cut(mut self, length: usize) -> Self {
        self.0.truncate(length);
        self
    }

    fn device(&self) -> PciDevice {
        self.beside(&[])
    }

    fn beside(&self, files: &[(&str, &str)]) -> PciDevice {
        let tree = Tree::new()
            .link("sys/bus/pci/devices/0000:00:01.0", "../../../devices/pci0000:00/0000:00:01.0")
            .file(&format!("{DEVICE}/class"), "0x060400\n")
            .file(&format!("{DEVICE}/config"), &self.0);
        let tree = files.iter().fold(tree, |tree, (path, text)| tree.file(path, text));
        pci::read(&Root::open(tree.path()).unwrap()).value().unwrap()[0].clone()
    }
}

/// A root port with ACS behind an AER capability.
fn port_with_acs(control: u16) -> Config {
    let mut config = Config::express(4);
    config.extended(0x100, 0x01, 0x148).extended(0x148, 0x0d, 0x220);
    config.word(0x14c, 0x5f).word(0x14e, control);
    config.extended(0x220, 0x19, 0);
    config
}

#[test]
fn port_types_are_named() {
    for (number, name) in [
        (0, "endpoint"),
        (1, "legacy-endpoint"),
        (4, "root-port"),
        (5, "upstream-port"),
        (6, "downstream-port"),
        (7, "pcie-to-pci"),
        (9, "rc-integrated"),
        (10, "rc-event"),
    ] {
        assert_eq!(Config::express(number).device().port_type.value().unwrap(), name);
    }
    assert_eq!(Config::express(3).device().port_type.reason().unwrap().why, Why::Malformed);
}

#[test]
fn acs_redirect_is_request_completion_or_egress() {
    for (control, redirect) in
        [(0x1d, true), (0x11, false), (0x04, true), (0x08, true), (0x20, true), (0x53, false), (0, false)]
    {
        let device = port_with_acs(control).device();
        let acs = device.acs.value().unwrap();
        assert_eq!((acs.control, acs.redirect), (i64::from(control), redirect));
    }
    let device = port_with_acs(0x1d).device();
    assert!(device.acs.evidence()[0].text.contains("0x001d"));
}

#[test]
fn a_whole_config_space_without_acs_has_none() {
    assert!(Config::express(4).device().acs.is_absent());
    let mut open = Config::express(4);
    open.dword(0x100, u32::MAX);
    assert!(open.device().acs.is_absent(), "nobody decodes the extended space");
}

#[test]
fn the_first_64_bytes_say_that_root_is_needed() {
    let device = port_with_acs(0x1d).cut(64).device();
    for reason in [device.acs.reason(), device.port_type.reason(), device.aspm_enabled.reason()] {
        let reason = reason.unwrap();
        assert_eq!(reason.why, Why::Permission);
        assert!(reason.detail.contains("needs root"));
    }
}

#[test]
fn without_extended_space_the_port_type_is_known_and_acs_is_not() {
    let device = port_with_acs(0x1d).cut(256).device();
    assert_eq!(device.port_type.value().unwrap(), "root-port");
    assert_eq!(device.acs.reason().unwrap().why, Why::NotCaptured);
}

#[test]
fn a_conventional_function_has_neither() {
    for length in [64, 256] {
        let mut config = Config(vec![0; length]);
        config.word(0, 0x1234);
        let device = config.device();
        assert!(device.port_type.is_absent() && device.acs.is_absent() && device.resizable.is_absent());
    }
    let mut config = Config(vec![0; 256]);
    config.word(0, 0x1234).word(6, 0x10).word(0x40, 0x0001);
    config.0[0x34] = 0x40;
    assert!(config.device().acs.is_absent(), "power management alone is conventional");
}

#[test]
fn loops_and_nonsense_end_with_a_reason() {
    let mut ring = Config::express(4);
    ring.word(0x40, 0x4001);
    assert_eq!(ring.device().port_type.reason().unwrap().why, Why::Malformed);
    let mut ring = Config::express(4);
    ring.extended(0x100, 0x01, 0x140).extended(0x140, 0x03, 0x100);
    let device = ring.device();
    assert_eq!(device.acs.reason().unwrap().why, Why::Malformed);
    assert_eq!(device.port_type.value().unwrap(), "root-port");
    let mut low = Config::express(4);
    low.extended(0x100, 0x01, 0x40);
    assert_eq!(low.device().acs.reason().unwrap().why, Why::Malformed);
}

#[test]
fn a_device_that_fell_off_the_bus_is_unknown() {
    let device = Config(vec![0xff; 4096]).device();
    assert_eq!(device.acs.reason().unwrap().why, Why::Unreadable);
    assert!(device.acs.reason().unwrap().detail.contains("does not answer"));
}

#[test]
fn a_virtual_function_has_no_ids_and_is_alive() {
    let mut config = Config::express(0);
    config.dword(0, u32::MAX);
    assert_eq!(config.device().port_type.value().unwrap(), "endpoint");
}

#[test]
fn odd_lengths_are_malformed() {
    for length in [0, 63, 1000] {
        let device = port_with_acs(0x1d).cut(length).device();
        let found = length == 1000;
        assert_eq!(device.acs.value().is_some(), found, "what stands before the cut counts");
    }
    assert_eq!(Config(vec![0; 63]).device().acs.reason().unwrap().why, Why::Malformed);
    assert_eq!(Config(vec![0; 10 << 20]).device().acs.reason().unwrap().why, Why::Malformed);
}

#[test]
fn aspm_is_the_link_control_register() {
    assert_eq!(Config::express(4).device().aspm_enabled.value(), Some(&false));
    let mut config = Config::express(4);
    config.word(0x50, 0x0042);
    assert_eq!(config.device().aspm_enabled.value(), Some(&true));
    assert!(Config::express(9).device().aspm_enabled.is_absent(), "no link inside the root complex");
}

#[test]
fn link_files_of_a_pci_express_function_are_not_absent_but_not_captured() {
    let link = Config::express(4).device().link;
    assert_eq!(link.width.reason().unwrap().why, Why::NotCaptured);
    assert!(Config(vec![0; 256]).device().link.width.is_absent(), "conventional");
}

#[test]
fn link_files_serve_where_the_register_cannot_be_read() {
    let short = Config::express(4).cut(64);
    let path = format!("{DEVICE}/link/l1_aspm");
    assert_eq!(short.beside(&[(&path, "1\n")]).aspm_enabled.value(), Some(&true));
    assert_eq!(short.beside(&[(&path, "0\n")]).aspm_enabled.value(), Some(&false));
    assert!(short.beside(&[(&path, "maybe\n")]).aspm_enabled.is_unknown());
}

fn resizable(sizes: u32, control: u32) -> Config {
    let mut config = Config::express(0);
    config.extended(0x100, 0x15, 0).dword(0x104, sizes).dword(0x108, control);
    config
}

#[test]
fn resizable_sizes_come_from_the_capability() {
    // BAR 1, one entry, 64 MiB to 16 GiB.
    let device = resizable(0x0007_fc00, 1 | 1 << 5).device();
    let found = &device.resizable.value().unwrap()[0];
    assert_eq!((found.bar, found.largest, found.sizes.len()), (1, 16 << 30, 9));
    assert_eq!(found.sizes[0], 64 << 20);
    assert!(Config::express(0).device().resizable.is_absent());
}

#[test]
fn the_kernel_files_come_before_the_capability() {
    let file = format!("{DEVICE}/resource1_resize");
    let device = resizable(0x10, 1 | 1 << 5).beside(&[(&file, "0000000000007fc0\n")]);
    let found = &device.resizable.value().unwrap()[0];
    assert_eq!((found.bar, found.largest), (1, 16 << 30));
    let bad = resizable(0x10, 1 | 1 << 5).beside(&[(&file, "lots\n")]);
    assert_eq!(bad.resizable.reason().unwrap().why, Why::Malformed);
    let beyond = resizable(0x10, 1 | 1 << 5).beside(&[(&file, "ffffffffffffffff\n")]);
    assert_eq!(beyond.resizable.reason().unwrap().why, Why::Malformed);
}

#[test]
fn a_kernel_that_makes_resize_files_settles_it_without_root() {
    let short = Config::express(0).cut(64);
    assert_eq!(short.device().resizable.reason().unwrap().why, Why::Permission);
    let release = ("proc/sys/kernel/osrelease", "6.8.0-31-generic\n");
    assert!(short.beside(&[release]).resizable.is_absent());
    let older = ("proc/sys/kernel/osrelease", "5.15.0-91-generic\n");
    assert!(short.beside(&[older]).resizable.is_unknown());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn no_bytes_are_a_failure(mut bytes in proptest::collection::vec(any::<u8>(), 0..600), status in any::<bool>()) {
        if let Some(byte) = bytes.get_mut(6) {
            *byte = u8::from(status) << 4;
        }
        let device = Config(bytes).device();
        prop_assert_eq!(device.bdf, "0000:00:01.0");
    }
}
