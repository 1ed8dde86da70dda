//! GRUB's environment block is read and written byte for byte as `grub-editenv` does it.

use peerfix::format::grubenv::{Grubenv, SIZE};
use std::process::Command;

fn editenv(args: &[&str]) -> Option<bool> {
    Command::new("grub-editenv").args(args).status().ok().map(|s| s.success())
}

#[test]
fn a_variable_is_set_changed_and_taken_out_as_grub_editenv_does_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("grubenv");
    let file = path.to_str().unwrap();
    if editenv(&[file, "create"]) != Some(true) {
        eprintln!("skipped: grub-editenv is not installed");
        return;
    }
    let mut ours = Grubenv::parse(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(ours.bytes().len(), SIZE);
    let steps = [
        ("saved_entry", Some("gnulinux-advanced>Debian, with Linux 6.1")),
        ("next_entry", Some("peerfix-trial-0007")),
        ("saved_entry", Some("0")),
        ("strange", Some("a\\b=c\nd#")),
        ("next_entry", Some("")),
        ("next_entry", Some("a longer value than before")),
        ("saved_entry", None),
        ("missing", None),
        ("next_entry", None),
    ];
    for (name, value) in steps {
        let theirs = if let Some(value) = value {
            ours = ours.set(name, value).unwrap();
            editenv(&[file, "set", &format!("{name}={value}")])
        } else {
            ours = ours.unset(name);
            editenv(&[file, "unset", name])
        };
        assert_eq!(theirs, Some(true), "{name}");
        assert_eq!(std::fs::read(&path).unwrap(), ours.bytes(), "{name} {value:?}");
    }
    assert_eq!(ours.get("strange").unwrap(), b"a\\b=c\nd#");
}

#[test]
fn a_full_block_takes_what_grub_editenv_takes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("grubenv");
    let file = path.to_str().unwrap();
    for length in 985..=1000 {
        let value = "v".repeat(length);
        let ours = Grubenv::empty().set("x", &value);
        if editenv(&[file, "create"]) != Some(true) {
            return;
        }
        // Newer versions write a second line of comment.
        if std::fs::read(&path).unwrap() != Grubenv::empty().bytes() {
            return;
        }
        let theirs = editenv(&[file, "set", &format!("x={value}")]).unwrap();
        assert_eq!(ours.is_ok(), theirs, "{length}");
    }
}

#[test]
fn what_grub_would_not_take_is_refused_with_its_reason() {
    let empty = Grubenv::empty();
    for (bytes, reason) in [
        (Vec::new(), "found 0"),
        (b"# GRUB Environment Block\n".to_vec(), "1024 bytes"),
        (vec![b'#'; SIZE], "first line"),
        (vec![0xff; SIZE], "first line"),
        ([&empty.bytes()[..1023], b"x"].concat(), "no end"),
        (vec![b'a'; 10 << 20], "expected 1024"),
    ] {
        let error = Grubenv::parse(&bytes).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn the_first_line_of_a_name_counts_and_comments_do_not() {
    let text = b"# GRUB Environment Block\n# WARNING: next_entry=no\nnext_entry=one\nnext_entry=two\n";
    let mut bytes = text.to_vec();
    bytes.resize(SIZE, b'#');
    let block = Grubenv::parse(&bytes).unwrap();
    assert_eq!(block.get("next_entry").unwrap(), b"one");
    assert_eq!(block.variables().len(), 2);
    assert_eq!(block.unset("next_entry").get("next_entry").unwrap(), b"two");
}
