//! Edits of kernelstub's configuration: the list alone changes, its layout is kept.

mod common;

use common::Tree;
use peerfix::boot::{self, Boot, Edit, Refusal};
use peerfix::format::{json_spans, kernelstub};
use peerfix::host::Host;
use peerfix::root::Root;
use proptest::prelude::*;

const FILE: &str = "etc/kernelstub/configuration";
const CONFIGURATION: &str = r#"{
  "default": {
    "kernel_options": [
      "quiet",
      "splash"
    ],
    "esp_path": "/boot/efi",
    "config_rev": 4
  },
  "user": {
    "kernel_options": [
      "quiet",
      "amd_iommu=on",
      "splash"
    ],
    "esp_path": "/boot/efi",
    "setup_loader": true,
    "config_rev": 4
  }
}"#;

fn edit(content: impl AsRef<[u8]>, add: &[&str], remove: &[&str]) -> Result<Edit, Refusal> {
    let tree = Tree::new().file("etc/os-release", "ID=pop\n").file(FILE, content);
    let root = Root::open(tree.path()).unwrap();
    let list = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
    boot::edit(&root, &Boot::read(&root, &Host::default()), &list(add), &list(remove))
}

fn after(content: &str, add: &[&str], remove: &[&str]) -> String {
    let edit = edit(content, add, remove).unwrap();
    assert_eq!(edit.files.len(), 1);
    String::from_utf8(edit.files[0].after.clone()).unwrap()
}

#[test]
fn words_are_added_as_elements_in_the_same_layout() {
    let edit = edit(CONFIGURATION, &["iommu=pt", "quiet", "pci=a;b"], &[]).unwrap();
    let at = CONFIGURATION.rfind("\"splash\"").unwrap() + "\"splash\"".len();
    let (head, tail) = CONFIGURATION.split_at(at);
    let expected = format!("{head},\n      \"iommu=pt\",\n      \"pci=a;b\"{tail}");
    assert_eq!(String::from_utf8_lossy(&edit.files[0].after), expected);
    assert_eq!(edit.effective, ["quiet", "amd_iommu=on", "splash", "iommu=pt", "pci=a;b"]);
    assert_eq!(edit.commands[0].argv, ["kernelstub"]);
}

#[test]
fn words_are_removed_with_their_comma() {
    let text = after(CONFIGURATION, &[], &["amd_iommu=on"]);
    assert_eq!(text, CONFIGURATION.replace("      \"amd_iommu=on\",\n", ""));
    let text = after(CONFIGURATION, &["x"], &["quiet", "amd-iommu=on", "splash"]);
    assert!(text.contains("\"user\": {\n    \"kernel_options\": [\n      \"x\"\n    ],"), "{text}");
    let text = after(CONFIGURATION, &[], &["quiet", "amd_iommu=on", "splash"]);
    assert!(text.contains("\"user\": {\n    \"kernel_options\": [],"), "{text}");
    let text = after(&text, &["x"], &[]);
    assert!(text.contains("\"user\": {\n    \"kernel_options\": [\n      \"x\"\n    ],"), "{text}");
}

#[test]
fn a_compact_file_stays_compact() {
    let compact = r#"{"user":{"kernel_options":["a","b"]}}"#;
    assert_eq!(after(compact, &["c"], &["a"]), r#"{"user":{"kernel_options":["b","c"]}}"#);
    assert_eq!(
        after(r#"{"user": {"kernel_options": []}}"#, &["c"], &[]),
        r#"{"user": {"kernel_options": ["c"]}}"#
    );
}

#[test]
fn nothing_to_do_leaves_the_command() {
    let edit = edit(CONFIGURATION, &["splash"], &["iommu=off"]).unwrap();
    assert!(edit.files.is_empty());
    assert_eq!(edit.commands.len(), 1);
}

#[test]
fn the_user_list_is_what_counts() {
    let tree = Tree::new().file("etc/os-release", "ID=pop\n").file(FILE, CONFIGURATION);
    let root = Root::open(tree.path()).unwrap();
    let boot = Boot::read(&root, &Host::default());
    assert_eq!(boot.loader.value().map(String::as_str), Some("kernelstub"));
    assert_eq!(boot.configured.value().unwrap(), &["quiet", "amd_iommu=on", "splash"]);
    let places: Vec<_> = boot.places.iter().map(|p| (p.variable.as_str(), p.line, p.effective)).collect();
    assert_eq!(places, [("default.kernel_options", 3, false), ("user.kernel_options", 11, true)]);
}

#[test]
fn malformed_files_are_refused_with_the_line() {
    for (content, line) in [
        ("{\n  \"user\": {\n    \"kernel_options\": [\"a\",]\n  }\n}", 3),
        ("{\n  \"user\": {\n    \"kernel_options\": [\"a\"\n", 4),
        ("{\"user\": {\"kernel_options\": [1]}}", 1),
        ("{\n\"user\": {\"x\": 1}}", 2),
        ("[]", 1),
        ("", 1),
        ("{\"user\": {\"kernel_options\": \"a b\"}}", 1),
        ("{\"default\": {\"kernel_options\": [\"a\"]}}", 1),
        ("{\"user\": {\"kernel_options\":\n [\"a x b\"]}}", 2),
        ("{\"user\": {\"kernel_options\": [\"a\"]}} x", 1),
        ("{\"user\": {\"kernel_options\": [\"a\u{1}\"]}}", 1),
    ] {
        let refusal = edit(content, &["b"], &["x"]).unwrap_err();
        assert_eq!(refusal.place, format!("{FILE}:{line}"), "{content}: {refusal:?}");
        assert_eq!(refusal.manual, ["kernelstub -d x", "kernelstub -a b"]);
    }
    assert_eq!(edit(b"{\n\"user\": \"\xff\"}", &["b"], &[]).unwrap_err().place, format!("{FILE}:2"));
    let deep = "[".repeat(200_000);
    assert!(edit(&deep, &["b"], &[]).unwrap_err().reason.contains("nested"));
    assert!(edit(vec![b'['; 10 << 20], &["b"], &[]).unwrap_err().reason.contains("limit"));
}

#[test]
fn a_word_with_a_blank_is_one_element() {
    let text = after(CONFIGURATION, &["dyndbg=\"file x +p\""], &[]);
    assert!(text.contains(r#""dyndbg=\"file x +p\"""#), "{text}");
    assert!(edit(&text, &["dyndbg=\"file x +p\""], &[]).unwrap().files.is_empty());
}

proptest! {
    #[test]
    fn any_list_keeps_its_other_words(
        words in prop::collection::vec("[a-z]{1,3}", 0..6),
        add in prop::collection::vec("[a-z]{1,3}", 0..3),
        remove in prop::collection::vec("[a-z]{1,3}", 0..3),
        pretty in any::<bool>(),
    ) {
        let value = serde_json::json!({"user": {"kernel_options": words, "x": [1.5, null]}, "default": {"kernel_options": ["q"]}});
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let after = kernelstub::edit(text.as_bytes(), &add, &remove).unwrap();
        let now = kernelstub::parse(&after).unwrap().user.unwrap().words();
        let mut expected: Vec<String> = words.into_iter().filter(|w| !remove.contains(w)).collect();
        for word in add {
            if !expected.contains(&word) {
                expected.push(word);
            }
        }
        prop_assert_eq!(&now, &expected);
        let mut whole: serde_json::Value = serde_json::from_slice(&after).unwrap();
        whole["user"]["kernel_options"] = serde_json::json!(value["user"]["kernel_options"]);
        prop_assert_eq!(whole, value);
        if pretty {
            let again: serde_json::Value = serde_json::from_slice(&after).unwrap();
            prop_assert_eq!(String::from_utf8(after).unwrap(), serde_json::to_string_pretty(&again).unwrap());
        }
    }

    #[test]
    fn no_input_is_too_strange(bytes in prop::collection::vec(prop::sample::select(b"{}[]\",:\\ \n1-truenlsek_options\xff".to_vec()), 0..60)) {
        if let Ok(node) = json_spans::parse(&bytes) {
            prop_assert!(node.at.end <= bytes.len());
            prop_assert!(serde_json::from_slice::<serde_json::Value>(&bytes).is_ok());
        }
    }
}
