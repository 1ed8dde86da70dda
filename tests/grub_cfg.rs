//! GRUB script is parsed as GRUB parses it, and every range stands where it says.

mod common;

use common::grub::Menu;
use peerfix::format::grub_cfg::{Command, Part, Statement, Word, parse};
use proptest::prelude::*;
use std::ops::Range;

/// Scripts that grub-script-check of GRUB 2.06 takes.
const TAKEN: &[&str] = &[
    "if true; then echo; fi\n",
    "menuentry a { b }\n",
    "menuentry 'x' { set a=b; }\n",
    "function f { a; }\na\n",
    "echo case do then fi\n",
    "for x in a b; do echo $x; done\n",
    "for x in a b\ndo\n echo $x\ndone\n",
    "for x in ; do a; done\n",
    "while a; do b; done\n",
    "until a\ndo\nb\ndone\n",
    "echo 'a\nb'\n",
    "echo \"a\\\nb\"\n",
    "# don't\necho a\n",
    "#don't\necho a\n",
    "echo #don't\n",
    "a { b; }\n",
    "if a\nthen\nb\nelif c\nthen d\nelse\n e\nfi\n",
    "if a;\nthen b;\nfi\n",
    "a ;\n",
    "a ; # x\n",
    "a\\\nb\n",
    "\\\na\n",
    "\\\n[[\n",
    "a {\\\n}\n",
    "echo ${x}$1$@$#$?$*${?}\n",
    "echo a",
    "! a\n",
    "if ! a; then b; fi\n",
    "a=b x='a b'\n",
    "menuentry a --id b {\n\n\tlinux /x\n\n\n}\n",
    "submenu 'x' {\n menuentry 'y' {\n a # b\n }\n}\n",
    "echo \\\n\n",
    "echo a\r\n",
    "time\n",
];

/// Scripts that it does not take.
const REFUSED: &[&str] = &[
    "echo a$\n",
    "echo \"a$\"\n",
    "echo ${x\n",
    ";\n",
    "a;;b\n",
    "a\n;\n",
    "if true; then fi\n",
    "if a; ; then b; fi\n",
    "if a\n;then b\nfi\n",
    "if a; then b; fi c\n",
    "if a; then function f { a; }; fi\n",
    "menuentry a { }\n",
    "menuentry a {\n}\n",
    "menuentry 'x' { ; }\n",
    "function f { a }\na\n",
    "function 1f { a; }\na\n",
    "function if { a; }\na\n",
    "for 1 in a; do b; done\n",
    "for x a; do b; done\n",
    "echo a & b\n",
    "echo a > b\n",
    "a && b\n",
    "case x\n",
    "[[ a\n",
    "a [[ b ]]\n",
    "in\n",
    "{ a; }\n",
    "a { b; } c\n",
    "a }\n",
    "}\n",
    "a\\",
    "# a \\\n}\n",
    "echo a#'\n",
    "#don't\necho a'\n",
];

#[test]
fn what_grub_takes_is_taken_and_nothing_else() {
    for text in TAKEN {
        parse(text.as_bytes()).unwrap_or_else(|trouble| panic!("{text:?}: {trouble}"));
    }
    for text in REFUSED {
        assert!(parse(text.as_bytes()).is_err(), "{text:?}");
    }
    // GRUB knows these words, and they are not followed here.
    assert!(parse(b"echo $\"x\"\n").unwrap_err().reason.contains("translated"));
    assert!(parse(b"echo a\rb\n").is_err() && parse(b"echo \0\n").is_err());
}

/// What GRUB's own program says; none where it is not installed.
fn grub_takes(text: &[u8]) -> Option<bool> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("grub.cfg");
    std::fs::write(&path, text).unwrap();
    let run = std::process::Command::new("grub-script-check").arg(&path).output();
    run.ok().map(|out| out.status.success())
}

#[test]
fn grub_agrees() {
    for (texts, expected) in [(TAKEN, true), (REFUSED, false)] {
        for text in texts {
            match grub_takes(text.as_bytes()) {
                Some(taken) => assert_eq!(taken, expected, "{text:?}"),
                None => return eprintln!("skipped: grub-script-check is not installed"),
            }
        }
    }
}

/// Every word and block in order, with the commands they belong to.
fn ranges(statements: &[Statement], words: &mut Vec<Word>) {
    for command in statements.iter().flat_map(Statement::commands) {
        words.extend(command.words.iter().cloned());
        if let Some(block) = &command.block {
            ranges(&block.statements, words);
        }
    }
}

fn covers(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Ranges are in order, inside of each other as what they stand for is, and hold what was read.
fn hold(bytes: &[u8], statements: &[Statement]) {
    for command in statements.iter().flat_map(Statement::commands) {
        let Command { range, words, block } = command;
        assert!(range.end <= bytes.len() && words.iter().all(|w| covers(range, &w.range)));
        assert!(words.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start));
        for word in words {
            // A word stands for itself: read alone, it is the same.
            let alone = parse(&[b"x ", &bytes[word.range.clone()]].concat()).unwrap();
            let Statement::Command(alone) = &alone[0] else { panic!() };
            assert_eq!(alone.words[1].parts, word.parts);
        }
        if let Some(block) = block {
            assert!(covers(range, &block.range));
            assert_eq!((bytes[block.range.start - 1], bytes[block.range.end]), (b'{', b'}'));
            hold(bytes, &block.statements);
        }
    }
    // Between the words stands nothing that GRUB would see.
    let mut words = Vec::new();
    ranges(statements, &mut words);
    words.sort_by_key(|w| w.range.start);
    let mut at = 0;
    let mut rebuilt = Vec::new();
    for word in &words {
        rebuilt.extend_from_slice(&bytes[at..word.range.start]);
        rebuilt.extend_from_slice(&bytes[word.range.clone()]);
        at = word.range.end;
    }
    rebuilt.extend_from_slice(&bytes[at..]);
    assert_eq!(rebuilt, bytes);
}

#[test]
fn generated_menus_are_read_in_full() {
    for menu in [Menu::debian(), Menu::ubuntu()] {
        let text = menu.text();
        let statements = parse(text.as_bytes()).unwrap();
        hold(text.as_bytes(), &statements);
        let mut words = Vec::new();
        ranges(&statements, &mut words);
        assert!(words.len() > 300);
        assert!(
            words.iter().any(|w| w.parts == [Part::Variable { name: "saved_entry".into(), quoted: true }])
                || { words.iter().any(|w| w.is("prev_saved_entry")) }
        );
    }
}

/// Text made of what scripts are made of.
fn script() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(vec![
            " ", " ", "\n", "\n", ";", "\t", "{", "}", "a", "bc", "'x y'", "\"q $v\"", "$v", "${v}", "\\ ", "\\\n",
            "#c", "=", "\r\n",
        ]),
        4 => prop::sample::select(vec![
            "if ", "; then ", "\nfi\n", "else ", "elif ", "for i in a; do ", "; done\n", "while ", "until ",
            "function f {\n", "\n}\n", "menuentry 'm' {\n", "set x=1\n", "[ -z x ]", "echo ",
        ]),
        1 => prop::sample::select(vec!["'", "\"", "$", "\\", "&", "|", "<", "[[", "case ", "in ", "$\"", "é", "\u{7f}"]),
    ];
    prop::collection::vec(piece, 0..25).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        if let Ok(statements) = parse(&bytes) {
            hold(&bytes, &statements);
        }
    }

    #[test]
    fn any_script_is_read_or_refused_as_grub_does(text in script()) {
        let found = parse(text.as_bytes());
        if let Ok(statements) = &found {
            hold(text.as_bytes(), statements);
        }
        // A script without commands is refused by the program, which looks for use.
        let whole = format!("{text}\necho\n");
        let (found, taken) = (parse(whole.as_bytes()), grub_takes(whole.as_bytes()));
        if let Some(taken) = taken
            && !whole.contains("$\"")
        {
            prop_assert_eq!(found.is_ok(), taken, "{:?}: {:?}", whole, found.err());
        }
    }
}
