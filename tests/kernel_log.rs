//! The kernel log of the present boot, from every form it is captured in.

mod common;

use common::Tree;
use peerfix::host::log::{KernelLog, LINE_LIMIT};
use peerfix::root::{Root, Why};

fn read(tree: &Tree) -> KernelLog {
    KernelLog::read(&Root::open(tree.path()).unwrap())
}

fn texts(log: &KernelLog) -> Vec<&str> {
    log.lines.iter().map(|l| l.text.as_str()).collect()
}

#[test]
fn a_whole_dmesg_is_complete_and_keeps_times_and_line_numbers() {
    let log = read(&Tree::new().file(
        "captured/dmesg.txt",
        "[    0.000000] Linux version 6.17.4 (builder@box)\n\n[    4.250000] pci 0000:41:00.0: BAR 1: assigned\n",
    ));
    assert_eq!(log.available.value().map(String::as_str), Some("captured/dmesg.txt"));
    assert_eq!(log.complete.value(), Some(&true));
    assert_eq!(texts(&log), ["Linux version 6.17.4 (builder@box)", "pci 0000:41:00.0: BAR 1: assigned"]);
    assert_eq!((log.lines[1].number, log.lines[1].seconds), (3, Some(4.25)));
}

#[test]
fn only_the_last_boot_counts() {
    for separator in ["-- Boot 0123456789abcdef0123456789abcdef --\n", "-- Reboot --\n", ""] {
        let text = format!(
            "Mar 01 08:00:00 box kernel: Linux version 6.17.3\n\
             Mar 01 08:00:01 box kernel: NVRM: API mismatch: the client has the version 1, but\n\
             {separator}Mar 02 08:00:00 box kernel: Linux version 6.17.4\n\
             Mar 02 08:00:01 box kernel: second boot\n"
        );
        let log = read(&Tree::new().file("captured/journal.txt", text));
        assert_eq!(texts(&log), ["Linux version 6.17.4", "second boot"]);
        assert_eq!(log.complete.value(), Some(&true));
    }
}

#[test]
fn a_boot_separator_alone_cuts_but_does_not_make_the_log_complete() {
    let log = read(&Tree::new().file(
        "captured/journal.txt",
        "Mar 01 08:00:00 box kernel: old\n-- Reboot --\nMar 02 08:00:00 box kernel: new\n",
    ));
    assert_eq!(texts(&log), ["new"]);
    assert_eq!(log.complete.value(), Some(&false));
}

#[test]
fn a_log_without_marker_is_one_boot_that_starts_late() {
    let log = read(&Tree::new().file("captured/dmesg.txt", "[ 99.000001] one\n[ 99.000002] two\n"));
    assert_eq!(texts(&log), ["one", "two"]);
    assert_eq!(log.complete.value(), Some(&false));
    assert!(log.complete.evidence()[0].text.contains("starts late"));
}

#[test]
fn the_journal_is_taken_when_only_it_is_complete() {
    let tree = Tree::new()
        .file("captured/dmesg.txt", "[ 99.000001] late\n")
        .file("captured/journal.txt", "Mar 02 08:00:00 box kernel: Linux version 6.17.4\n");
    assert_eq!(read(&tree).source(), "captured/journal.txt");
    let tree = tree.file("captured/journal.txt", "Mar 02 08:00:00 box kernel: also late\n");
    assert_eq!(read(&tree).source(), "captured/dmesg.txt");
}

#[test]
fn json_lines_of_the_journal_are_read() {
    let log = read(&Tree::new().file(
        "captured/journal.json",
        concat!(
            r#"{"_BOOT_ID":"a","_TRANSPORT":"kernel","MESSAGE":"of the boot before"}"#,
            "\n",
            r#"{"_BOOT_ID":"b","_TRANSPORT":"kernel","_SOURCE_MONOTONIC_TIMESTAMP":"0","MESSAGE":"Linux version 6.17.4"}"#,
            "\nnot json\n",
            r#"{"_BOOT_ID":"b","_TRANSPORT":"syslog","MESSAGE":"user space"}"#,
            "\n",
            r#"{"_BOOT_ID":"b","_TRANSPORT":"kernel","_SOURCE_MONOTONIC_TIMESTAMP":"2500000","MESSAGE":[98,97,100,255]}"#,
            "\n",
            r#"{"_BOOT_ID":"b","_TRANSPORT":"kernel","MESSAGE":"first row\nsecond row"}"#,
            "\n",
            r#"{"_BOOT_ID":"b","_TRANSPORT":"kernel","MESSAGE":null}"#,
            "\n",
        ),
    ));
    assert_eq!(texts(&log), ["Linux version 6.17.4", "bad\u{fffd}", "first row", "second row"]);
    assert_eq!((log.lines[1].number, log.lines[1].seconds), (5, Some(2.5)));
    assert_eq!(log.complete.value(), Some(&true));
}

#[test]
fn a_fault_line_that_the_journal_wrapped_is_whole_again() {
    let log = read(&Tree::new().file(
        "captured/journal.txt",
        "08:00:19  DMAR: [DMA Write NO_PASID] Request device [41:00.0]\n\
         \x20          fault addr 0xa1000\n\
         \x20          [fault reason 0x71] SM: not mapped\n\
         08:00:20  next\n",
    ));
    assert_eq!(
        texts(&log),
        [
            "DMAR: [DMA Write NO_PASID] Request device [41:00.0] fault addr 0xa1000 [fault reason 0x71] SM: not mapped",
            "next"
        ]
    );
}

#[test]
fn rows_that_continue_a_message_of_user_space_are_left_out_with_it() {
    let log = read(&Tree::new().file(
        "captured/journal.txt",
        "Mar 02 08:00:00 box python3[7]: traceback\n                NVRM: API mismatch\nMar 02 08:00:01 box kernel: x\n",
    ));
    assert_eq!(texts(&log), ["x"]);
}

#[test]
fn colours_and_carriage_returns_are_dropped() {
    let log = read(
        &Tree::new().file("captured/dmesg.txt", "\x1b[32m[    1.000000] \x1b[0m\x1b[33mDMAR\x1b[0m: x\r\n"),
    );
    assert_eq!(texts(&log), ["DMAR: x"]);
}

#[test]
fn bytes_that_are_no_text_and_endless_lines_are_not_fatal() {
    let mut bytes = b"[    0.000000] Linux version 6.17.4\n[    1.0] \xff\xfe\n[    2.0] ".to_vec();
    bytes.resize(10 << 20, b'x');
    bytes.extend_from_slice("\n[    3.0] after\n[    4.0] é".as_bytes());
    let log = read(&Tree::new().file("captured/dmesg.txt", bytes));
    assert_eq!(log.lines.len(), 5);
    assert!(log.lines.iter().all(|l| l.text.len() <= LINE_LIMIT));
    assert_eq!(log.lines[3].text, "after");
}

#[test]
fn what_cannot_be_read_is_told_apart() {
    let missing = read(&Tree::new().dir("proc"));
    assert_eq!(missing.available.reason().unwrap().why, Why::NotCaptured);
    assert!(missing.complete.is_unknown());
    let refused = read(
        &Tree::new()
            .file("captured/dmesg.txt", "dmesg: read kernel buffer failed: Operation not permitted\n"),
    );
    let reason = refused.available.reason().unwrap();
    assert_eq!((reason.why, reason.line), (Why::Permission, Some(1)));
    for empty in ["", "\n\n"] {
        let log = read(&Tree::new().file("captured/dmesg.txt", empty));
        assert_eq!(log.available.reason().unwrap().why, Why::Malformed);
    }
    let json = read(&Tree::new().file("captured/journal.json", "{\n"));
    assert_eq!(json.available.reason().unwrap().line, Some(1));
    let looped = read(&Tree::new().link("captured/dmesg.txt", "dmesg.txt"));
    assert_eq!(looped.available.reason().unwrap().why, Why::Unreadable);
}

#[test]
fn the_live_log_is_read_or_says_why_not() {
    let log = KernelLog::read(&Root::live());
    assert_eq!(log.available.value().is_some(), !log.lines.is_empty());
    assert!(!log.available.is_absent());
}
