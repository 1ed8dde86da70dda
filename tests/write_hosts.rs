//! The two captured hosts that ship as files: written from the builders, and checked against them.
//!
//! After a change of a builder: `cargo test --test write_hosts -- --ignored write_the_shipped_hosts`.

mod common;

use common::{hosts, inspect};
use std::path::{Path, PathBuf};

/// Name below `tests/hosts` and the builder of it.
const SHIPPED: [hosts::Host; 2] = [("z890-translated", hosts::z890), ("x99-r9700", hosts::x99)];

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
        inspect::copy(make().leaving_out(&LEFT_OUT).path(), &to);
    }
}

/// Name and maker of a host.
type Named = (&'static str, fn() -> common::Tree);

/// Hosts that scripts under `tests/vm` ask for by name.
const ON_REQUEST: [Named; 3] =
    [("z890", hosts::z890), ("turin-stock", hosts::turin_stock), ("x99", hosts::x99)];

/// `PEERFIX_HOST=turin-stock PEERFIX_TO=DIR cargo test --test write_hosts -- --ignored one_host`
#[test]
#[ignore = "writes a tree for scripts"]
fn write_one_host() {
    let (Ok(name), Ok(to)) = (std::env::var("PEERFIX_HOST"), std::env::var("PEERFIX_TO")) else { return };
    let (_, make) = ON_REQUEST.iter().find(|(known, _)| *known == name).expect("a host of ON_REQUEST");
    inspect::copy(make().path(), Path::new(&to));
}

#[test]
fn the_shipped_hosts_are_what_the_builders_make() {
    for (name, make) in SHIPPED {
        let tree = make().leaving_out(&LEFT_OUT);
        let (made, shipped) = (inspect::content(tree.path()), inspect::content(&home(name)));
        let differs =
            made.iter().find(|l| !shipped.contains(l)).or(shipped.iter().find(|l| !made.contains(l)));
        assert_eq!(differs, None, "{name}: write it again with -- --ignored");
    }
}
