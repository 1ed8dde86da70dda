//! Names of devices by their ids.

mod common;

use common::Tree;
use peerfix::host::names::{Names, hwdb_name};
use peerfix::root::{Root, Why};

const IDS: &str = "# list\n1002  Maker One\n\t2bb3  Wrong vendor\n10de  NVIDIA Corporation\n\t2bb2  Older Board\n\
                   \t2bb3  Test Board [Model 5]\n\t\t10de 204b  A subsystem\n\n8086  Intel Corporation\n\t2bb4  Bridge\n";

#[test]
fn vendor_and_device_are_named_from_the_list_of_the_tree() {
    for path in ["usr/share/misc/pci.ids", "usr/share/hwdata/pci.ids"] {
        let tree = Tree::new().dir("etc").file(path, IDS);
        let root = Root::open(tree.path()).unwrap();
        let name = hwdb_name(&root, 0x10de, 0x2bb3);
        assert_eq!(name.value().unwrap(), "NVIDIA Corporation Test Board [Model 5]");
        assert_eq!((name.evidence()[0].source.as_str(), name.evidence()[0].line), (path, Some(6)));
        let names = Names::new(&root);
        assert!(names.device(0x10de, 0x2bb4).is_absent(), "another vendor's number");
        assert!(names.device(0x1234, 0x1111).is_absent());
        assert!(names.device(-1, 1 << 40).is_absent());
    }
}

#[test]
fn without_a_list_a_name_is_unknown() {
    let tree = Tree::new().dir("etc");
    let name = hwdb_name(&Root::open(tree.path()).unwrap(), 0x10de, 0x2bb3);
    assert_eq!(name.reason().unwrap().why, Why::NotCaptured);
}

#[test]
fn a_list_in_another_encoding_still_serves() {
    let tree = Tree::new().dir("etc").file("usr/share/misc/pci.ids", b"10de  Mak\xe9r\n\t0001  Board\n");
    let name = hwdb_name(&Root::open(tree.path()).unwrap(), 0x10de, 1);
    assert!(name.value().unwrap().ends_with("Board"));
}
