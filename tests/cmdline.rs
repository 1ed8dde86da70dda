//! The command line, split as the kernel splits it.

use peerfix::host::cmdline::Cmdline;
use proptest::prelude::*;

fn words(text: &str) -> Vec<String> {
    Cmdline::parse(text).words
}

#[test]
fn words_end_at_blanks_and_the_final_newline_is_no_part_of_the_last_one() {
    let line = Cmdline::parse("BOOT_IMAGE=/vmlinuz root=/dev/sdq3\t ro   iommu=pt\n");
    assert_eq!(line.words, ["BOOT_IMAGE=/vmlinuz", "root=/dev/sdq3", "ro", "iommu=pt"]);
    assert!(line.has("iommu=pt"));
    assert_eq!(line.text, "BOOT_IMAGE=/vmlinuz root=/dev/sdq3\t ro   iommu=pt");
}

#[test]
fn quotes_hold_blanks_around_the_value_or_around_the_whole_word() {
    let line = Cmdline::parse("dyndbg=\"file pci.c +p\" \"snd.note=a b\" tail");
    assert_eq!(line.words, ["dyndbg=\"file pci.c +p\"", "\"snd.note=a b\"", "tail"]);
    assert_eq!(line.last("dyndbg"), Some(Some("file pci.c +p")));
    assert_eq!(line.last("snd.note"), Some(Some("a b")));
    assert_eq!(line.last("tail"), Some(None));
}

#[test]
fn the_last_word_wins() {
    let line = Cmdline::parse("iommu=pt quiet iommu=nopt");
    assert_eq!(line.last("iommu"), Some(Some("nopt")));
    assert!(line.has("iommu=pt"), "the word still stands there");
}

#[test]
fn dash_and_underscore_are_alike_in_keys_only() {
    let line = Cmdline::parse("intel-iommu=on module.some-key=a-b");
    assert!(line.has("intel_iommu=on"));
    assert!(line.has("module.some_key=a-b"));
    assert!(!line.has("module.some_key=a_b"));
    assert_eq!(line.last("intel-iommu"), Some(Some("on")));
}

#[test]
fn values_are_lists_at_commas() {
    let line = Cmdline::parse("pci=realloc,noats,hpmmioprefsize=1G");
    assert_eq!(line.options[0].list, ["realloc", "noats", "hpmmioprefsize=1G"]);
    assert!(line.has_item("pci", "noats"));
    assert!(!line.has("pci=noats"), "it is one word with three items");
    assert!(!line.has_item("pci", "noat"));
}

#[test]
fn words_after_the_double_dash_belong_to_init() {
    let line = Cmdline::parse("quiet -- iommu=pt single");
    assert_eq!(line.words, ["quiet"]);
    assert!(!line.has("iommu=pt"));
    assert!(line.text.ends_with("single"), "the text stays whole");
    assert_eq!(words("quiet __ x").len(), 3, "two underscores are an ordinary word");
}

#[test]
fn an_equals_sign_in_first_place_makes_no_key() {
    let line = Cmdline::parse("=pt iommu=");
    assert_eq!((line.options[0].key.as_str(), &line.options[0].value), ("=pt", &None));
    assert_eq!(line.last("iommu"), Some(Some("")));
    assert!(line.options[1].list.is_empty());
}

#[test]
fn an_unclosed_quote_runs_to_the_end() {
    assert_eq!(words("a=\"b c d"), ["a=\"b c d"]);
    assert_eq!(Cmdline::parse("a=\"b c d").last("a"), Some(Some("b c d")));
}

#[test]
fn a_line_longer_than_four_kilobytes_is_read_whole() {
    let mut text = "x=".to_owned() + &"0123456789,".repeat(1000);
    text.push_str(" iommu=pt\n");
    assert!(Cmdline::parse(&text).has("iommu=pt"));
}

#[test]
fn an_empty_line_has_no_words() {
    for text in ["", "\n", "  \t\n"] {
        assert!(words(text).is_empty());
    }
    assert!(!Cmdline::parse("quiet").has(""));
}

proptest! {
    #[test]
    fn joining_the_words_keeps_them(text in "[ a-z=,\"\\-_.\t\n]{0,80}") {
        let line = Cmdline::parse(&text);
        prop_assert_eq!(Cmdline::parse(&(line.words.join(" ") + "\n")).options, line.options);
    }

    #[test]
    fn any_text_is_split_without_loss(text in "\\PC{0,60}") {
        let line = Cmdline::parse(&text);
        for word in &line.words {
            prop_assert!(line.text.contains(word.as_str()));
        }
    }
}
