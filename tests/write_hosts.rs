//! The two captured hosts that ship as files: written from the builders, and checked against them.
//!
//! After a change of a builder: `cargo test --test write_hosts -- --ignored`.

mod common;

use common::{Tree, hosts, inspect};
use std::path::{Path, PathBuf};

/// Name below `tests/hosts` and the builder of it.
const SHIPPED: [(&str, fn() -> Tree); 2] = [("z890-translated", hosts::z890), ("x99-r9700", hosts::x99)];

/// Attributes that a capture may lack: nothing is judged by them, and a smaller tree is easier to look at.
const LEFT_OUT: [&str; 7] = [
    "reserved_regions",
    "consistent_dma_mask_bits",
    "secondary_bus_number",
    "subordinate_bus_number",
    "aer_rootport_total_err_cor",
    "aer_rootport_total_err_nonfatal",
    "aer_rootport_total_err_fatal",
];

/// What the builder makes, as it ships.
fn captured(make: fn() -> Tree) -> Tree {
    let tree = make();
    let mut folders = vec![tree.path().to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else if LEFT_OUT.iter().any(|name| entry.file_name() == *name) {
                std::fs::remove_file(entry.path()).unwrap();
            }
        }
    }
    tree
}

fn home(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts").join(name)
}

#[test]
#[ignore = "writes into the source tree"]
fn write_the_shipped_hosts() {
    for (name, make) in SHIPPED {
        let to = home(name);
        if to.exists() {
            std::fs::remove_dir_all(&to).unwrap();
        }
        inspect::copy(captured(make).path(), &to);
    }
}

#[test]
fn the_shipped_hosts_are_what_the_builders_make() {
    for (name, make) in SHIPPED {
        let tree = captured(make);
        let (made, shipped) = (inspect::content(tree.path()), inspect::content(&home(name)));
        let differs = made.iter().find(|l| !shipped.contains(l)).or(shipped.iter().find(|l| !made.contains(l)));
        assert_eq!(differs, None, "{name}: write it again with -- --ignored");
    }
}
