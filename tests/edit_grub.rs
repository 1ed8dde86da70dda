//! Edits of GRUB's settings: every other byte kept, right for the shell and for GRUB, refused where the file
//! cannot be followed.

mod common;

use common::Tree;
use peerfix::boot::{self, Boot, Edit, Refusal};
use peerfix::format::{diff, grub_defaults, grub_value, shell};
use peerfix::host::Host;
use peerfix::root::Root;
use proptest::prelude::*;

const MAIN: &str = "etc/default/grub";

fn debian() -> Tree {
    Tree::new()
        .file("etc/os-release", "ID=debian\n")
        .file("usr/sbin/update-grub", "")
        .file("boot/grub/grub.cfg", "")
}

fn arch() -> Tree {
    Tree::new().file("etc/os-release", "ID=arch\n").file("usr/bin/grub-mkconfig", "#!/bin/sh\n")
}

fn list(words: &[&str]) -> Vec<String> {
    words.iter().map(|w| (*w).to_owned()).collect()
}

fn edit(tree: &Tree, add: &[&str], remove: &[&str]) -> Result<Edit, Refusal> {
    let root = Root::open(tree.path()).unwrap();
    let boot = Boot::read(&root, &Host::default());
    boot::edit(&root, &boot, &list(add), &list(remove))
}

/// The main file after an edit of `before` that changes that file alone.
fn after(before: &str, add: &[&str], remove: &[&str]) -> String {
    let edit = edit(&debian().file(MAIN, before), add, remove).unwrap();
    assert_eq!(edit.files.len(), 1, "{:?}", edit.files);
    assert_eq!(edit.files[0].path, MAIN);
    assert_eq!(edit.files[0].before.as_deref(), Some(before.as_bytes()));
    String::from_utf8(edit.files[0].after.clone()).unwrap()
}

/// Where and why an edit of `content` is refused.
fn refused(content: impl AsRef<[u8]>) -> (String, String) {
    let refusal = edit(&debian().file(MAIN, content), &["iommu=pt"], &[]).unwrap_err();
    assert!(refusal.manual.iter().any(|s| s.contains("iommu=pt")), "{refusal:?}");
    assert!(refusal.manual.iter().any(|s| s == "update-grub"), "{refusal:?}");
    (refusal.place, refusal.reason)
}

#[test]
fn a_word_goes_inside_the_existing_double_quotes() {
    let before =
        "# h\u{e9}llo\n\tGRUB_TIMEOUT=3\nGRUB_CMDLINE_LINUX_DEFAULT=\"splash nowatchdog\"  # why\nX=1\n";
    let after = after(before, &["iommu=pt"], &[]);
    assert_eq!(after, before.replace("nowatchdog\"", "nowatchdog iommu=pt\""));
}

#[test]
fn additions_come_in_order_and_only_once() {
    let before = "GRUB_CMDLINE_LINUX=\"iommu=pt\"\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n";
    let tree = debian().file(MAIN, before);
    let edit = edit(&tree, &["a=1", "iommu=pt", "b=2", "a=1"], &[]).unwrap();
    let text = String::from_utf8(edit.files[0].after.clone()).unwrap();
    assert!(text.ends_with("DEFAULT=\"quiet a=1 b=2\"\n"), "{text}");
    assert_eq!(edit.effective, ["iommu=pt", "quiet", "a=1", "b=2"]);
    assert_eq!(edit.commands[0].argv, ["update-grub"]);
}

#[test]
fn a_word_that_stands_there_changes_nothing_and_leaves_the_command() {
    let tree = debian().file(MAIN, "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet intel-iommu=off\"\n");
    let edit = edit(&tree, &["intel_iommu=off"], &["amd_iommu=on"]).unwrap();
    assert!(edit.files.is_empty());
    assert_eq!(edit.commands.len(), 1);
}

#[test]
fn single_quotes_stay_single_quotes() {
    assert_eq!(
        after("GRUB_CMDLINE_LINUX_DEFAULT='mem=1G loglevel=1'\n", &["iommu=pt", "pci=a;b"], &[]),
        "GRUB_CMDLINE_LINUX_DEFAULT='mem=1G loglevel=1 iommu=pt \"pci=a;b\"'\n"
    );
}

#[test]
fn a_word_with_a_semicolon_gets_quotes_for_grub() {
    let word = "pci=disable_acs_redir=pci:8086:7a38;pci:1022:1483";
    let before = "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n";
    assert_eq!(after(before, &[word], &[]), format!("GRUB_CMDLINE_LINUX_DEFAULT=\"quiet '{word}'\"\n"));
    let again = edit(&debian().file(MAIN, after(before, &[word], &[])), &[word], &[]).unwrap();
    assert!(again.files.is_empty());
    assert_eq!(again.effective, ["quiet", word]);
}

#[test]
fn a_word_with_a_blank_gets_quotes_for_grub() {
    assert_eq!(
        after("GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n", &["dyndbg=\"file pci.c +p\""], &[]),
        "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet 'dyndbg=file pci.c +p'\"\n"
    );
}

#[test]
fn a_word_that_grub_cannot_hand_over_is_refused() {
    let tree = debian().file(MAIN, "GRUB_CMDLINE_LINUX_DEFAULT=\"\"\n");
    for word in ["a='b'", "a\\b", "a=\"b", "a\nb", ""] {
        assert!(edit(&tree, &[word], &[]).is_err(), "{word:?}");
    }
}

#[test]
fn an_unquoted_value_gets_quotes() {
    assert_eq!(
        after("GRUB_CMDLINE_LINUX_DEFAULT=quiet # c\n", &["iommu=pt"], &[]),
        "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet iommu=pt\" # c\n"
    );
    assert_eq!(
        after("GRUB_CMDLINE_LINUX_DEFAULT=qui\\et\n", &["iommu=pt"], &[]),
        "GRUB_CMDLINE_LINUX_DEFAULT=qui\\et\" iommu=pt\"\n"
    );
}

#[test]
fn an_empty_or_missing_variable_is_filled() {
    assert_eq!(
        after("GRUB_CMDLINE_LINUX_DEFAULT=\"\"\nA=1\n", &["iommu=pt"], &[]),
        "GRUB_CMDLINE_LINUX_DEFAULT=\"iommu=pt\"\nA=1\n"
    );
    assert_eq!(
        after("GRUB_CMDLINE_LINUX_DEFAULT=\nA=1\n", &["iommu=pt"], &[]),
        "GRUB_CMDLINE_LINUX_DEFAULT=\"iommu=pt\"\nA=1\n"
    );
    assert_eq!(
        after("GRUB_CMDLINE_LINUX=\"x\"", &["iommu=pt"], &[]),
        "GRUB_CMDLINE_LINUX=\"x\"\nGRUB_CMDLINE_LINUX_DEFAULT=\"iommu=pt\"\n"
    );
    assert_eq!(after("", &["iommu=pt"], &[]), "GRUB_CMDLINE_LINUX_DEFAULT=\"iommu=pt\"\n");
}

#[test]
fn one_line_without_a_newline_stays_so() {
    assert_eq!(
        after("GRUB_CMDLINE_LINUX_DEFAULT=\"quiet nofb\"", &["iommu=pt"], &[]),
        "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet nofb iommu=pt\""
    );
}

#[test]
fn the_last_assignment_is_edited() {
    let before = "GRUB_CMDLINE_LINUX_DEFAULT=\"a\"\nX=1\nGRUB_CMDLINE_LINUX_DEFAULT=\"b\"\n";
    assert_eq!(after(before, &["iommu=pt"], &["a"]), before.replace("\"b\"", "\"b iommu=pt\""));
}

#[test]
fn words_are_removed_where_they_stand_with_one_blank() {
    let before = "GRUB_CMDLINE_LINUX=\"iommu=pt\"\nGRUB_CMDLINE_LINUX_DEFAULT='a iommu=pt  b amd_iommu=pt'\n";
    assert_eq!(
        after(before, &[], &["iommu=pt", "amd_iommu=pt"]),
        "GRUB_CMDLINE_LINUX=\"\"\nGRUB_CMDLINE_LINUX_DEFAULT='a  b'\n"
    );
    assert_eq!(
        after("GRUB_CMDLINE_LINUX_DEFAULT=iommu=pt\n", &["x"], &["iommu=pt"]),
        "GRUB_CMDLINE_LINUX_DEFAULT=\" x\"\n"
    );
}

#[test]
fn a_word_is_removed_with_its_grub_quotes_and_across_shell_quotes() {
    assert_eq!(
        after("GRUB_CMDLINE_LINUX_DEFAULT=\"a 'pci=x;y' b\"\n", &[], &["pci=x;y"]),
        "GRUB_CMDLINE_LINUX_DEFAULT=\"a b\"\n"
    );
    assert_eq!(
        after("GRUB_CMDLINE_LINUX_DEFAULT=\"a pci=x\"'y b'\n", &[], &["pci=xy"]),
        "GRUB_CMDLINE_LINUX_DEFAULT=\"a\"' b'\n"
    );
    assert_eq!(
        after("GRUB_CMDLINE_LINUX_DEFAULT=\"a \\\n  iommu=pt \\\n  b\"\n", &["c"], &["iommu=pt"]),
        "GRUB_CMDLINE_LINUX_DEFAULT=\"a \\\n  \\\n  b c\"\n"
    );
}

#[test]
fn a_removal_of_a_word_that_is_not_there_is_no_change() {
    assert!(
        edit(&debian().file(MAIN, "GRUB_CMDLINE_LINUX_DEFAULT=\"a\"\n"), &[], &["b", "a=1"])
            .unwrap()
            .files
            .is_empty()
    );
}

#[test]
fn bytes_that_are_no_utf8_survive() {
    let before = b"# caf\xe9 \xff\nGRUB_DISTRIBUTOR=\"\xe9\"\nGRUB_CMDLINE_LINUX_DEFAULT=\"a\"\n# \xfe";
    let edit = edit(&debian().file(MAIN, before), &["iommu=pt"], &[]).unwrap();
    let expected =
        b"# caf\xe9 \xff\nGRUB_DISTRIBUTOR=\"\xe9\"\nGRUB_CMDLINE_LINUX_DEFAULT=\"a iommu=pt\"\n# \xfe";
    assert_eq!(edit.files[0].after, expected);
}

#[test]
fn an_append_in_the_same_file_is_followed() {
    let before =
        "GRUB_CMDLINE_LINUX_DEFAULT=\"a\"\nGRUB_CMDLINE_LINUX_DEFAULT=\"${GRUB_CMDLINE_LINUX_DEFAULT} b\"\n";
    assert_eq!(after(before, &["c"], &["a"]), before.replace("\"a\"", "\"\"").replace(" b\"", " b c\""));
    let before = "export GRUB_CMDLINE_LINUX_DEFAULT=\"a\"\nGRUB_CMDLINE_LINUX_DEFAULT+=\" b\"\n";
    let tree = arch().file(MAIN, before);
    let edit = edit(&tree, &["c"], &[]).unwrap();
    assert_eq!(edit.files[0].after, before.replace(" b\"", " b c\"").as_bytes());
    assert_eq!(edit.effective, ["a", "b", "c"]);
    assert_eq!(edit.commands[0].argv, ["grub-mkconfig", "-o", "/boot/grub/grub.cfg"]);
}

#[test]
fn plus_equals_is_refused_where_sh_does_not_know_it() {
    let (place, reason) = refused("A=1\nGRUB_CMDLINE_LINUX_DEFAULT+=\" b\"\n");
    assert_eq!(place, "etc/default/grub:2");
    assert!(reason.contains("+="), "{reason}");
}

/// Arithmetic beside an assignment may assign the same variable afterwards.
#[test]
fn an_assignment_inside_arithmetic_of_the_same_command_is_refused() {
    let (place, _) = refused("GRUB_CMDLINE_LINUX_DEFAULT=quiet B=$((GRUB_CMDLINE_LINUX_DEFAULT=1))\n");
    assert_eq!(place, format!("{MAIN}:1"));
}

/// The shell that reads on does not see it: the value stands, and is not to be written anew.
#[test]
fn an_unset_in_the_background_is_refused() {
    let (place, reason) = refused("GRUB_CMDLINE_LINUX_DEFAULT=quiet\nunset GRUB_CMDLINE_LINUX_DEFAULT &\n");
    assert_eq!(place, format!("{MAIN}:2"));
    assert!(reason.contains("background"), "{reason}");
}

#[test]
fn computed_and_conditional_values_are_refused_with_their_line() {
    for (content, line) in [
        ("A=1\nGRUB_CMDLINE_LINUX_DEFAULT=\"$(cat /x)\"\n", 2),
        ("GRUB_CMDLINE_LINUX_DEFAULT=\"quiet `x`\"\n", 1),
        ("GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX\"\n", 1),
        ("GRUB_CMDLINE_LINUX_DEFAULT=a\nif [ -f /x ]; then\n  GRUB_CMDLINE_LINUX_DEFAULT=b\nfi\n", 3),
        ("case x in\n a|b) GRUB_CMDLINE_LINUX_DEFAULT=b ;;\nesac\n", 2),
        ("for x in 1 2; do GRUB_CMDLINE_LINUX_DEFAULT=b; done\n", 1),
        ("for GRUB_CMDLINE_LINUX_DEFAULT in a b; do :; done\n", 1),
        ("A=1\n: ${GRUB_CMDLINE_LINUX_DEFAULT:=b}\n", 2),
        ("cat <<E\n${GRUB_CMDLINE_LINUX=b}\nE\n", 2),
        ("A=$((GRUB_CMDLINE_LINUX=1))\n", 1),
        ("f() {\n GRUB_CMDLINE_LINUX_DEFAULT=b\n}\n", 2),
        ("[ -f /x ] && GRUB_CMDLINE_LINUX_DEFAULT=b\n", 1),
        ("( GRUB_CMDLINE_LINUX_DEFAULT=b )\n", 1),
        ("GRUB_CMDLINE_LINUX_DEFAULT=b | cat\n", 1),
        ("GRUB_CMDLINE_LINUX_DEFAULT=b &\n", 1),
        ("GRUB_CMDLINE_LINUX_DEFAULT=b </x\n", 1),
        ("eval GRUB_CMDLINE_LINUX_DEFAULT=b\n", 1),
        ("GRUB_CMDLINE_LINUX_DEFAULT=a\n. /etc/other\n", 2),
        ("exit 0\nGRUB_CMDLINE_LINUX_DEFAULT=a\n", 1),
        ("readonly GRUB_CMDLINE_LINUX_DEFAULT=a\n", 1),
        ("GRUB_CMDLINE_LINUX_DEFAULT=\"a; b\"\n", 1),
        ("GRUB_CMDLINE_LINUX_DEFAULT=\"a #b\"\n", 1),
        ("GRUB_CMDLINE_LINUX_DEFAULT=\"a\nb\"\n", 1),
        ("GRUB_CMDLINE_LINUX_DEFAULT=\"a \\$x\"\n", 1),
        ("GRUB_CMDLINE_LINUX_DEFAULT=\"a 'b\"\n", 1),
        ("A=\"never closed\nB=2\n", 1),
        ("A='never closed\n", 1),
        ("if true; then\nA=1\n", 1),
        ("fi\n", 1),
        ("cat <<EOF\nGRUB_CMDLINE_LINUX_DEFAULT=a\n", 1),
        ("GRUB_CMDLINE_LINUX_DEFAULT=(a b)\n", 1),
        ("A=1\nB=\0\n", 2),
        ("GRUB_CMDLINE_LINUX_DEFAULT=~/x\n", 1),
    ] {
        let (place, reason) = refused(content);
        assert_eq!(place, format!("etc/default/grub:{line}"), "{content:?}: {reason}");
        assert!(!reason.is_empty());
    }
}

#[test]
fn windows_line_ends_are_refused_with_the_line() {
    let (place, reason) = refused("# fine\r\nGRUB_CMDLINE_LINUX_DEFAULT=\"a\"\r\n");
    assert_eq!(place, "etc/default/grub:2");
    assert!(reason.contains("carriage return"), "{reason}");
}

#[test]
fn shell_code_around_a_plain_assignment_is_no_obstacle() {
    let before = "GRUB_DISTRIBUTOR=`lsb_release -i -s 2> /dev/null || echo Debian`\n\
        if [ -x /x ]; then\n  GRUB_TIMEOUT=1\nelif true; then :; fi\n\
        cat >/dev/null <<-'E'\n\tGRUB_CMDLINE_LINUX_DEFAULT=no\n\tE\n\
        case \"$X\" in (a) echo \"$(echo ')')\";; *) ;; esac\n\
        echo GRUB_CMDLINE_LINUX_DEFAULT=no; LC_ALL=C command -v x >/dev/null 2>&1 || true\n\
        . /etc/somewhere\n\
        GRUB_CMDLINE_LINUX_DEFAULT=\"a\"; Y='#not' # GRUB_CMDLINE_LINUX_DEFAULT=no\n";
    // GRUB_CMDLINE_LINUX could come from the sourced file.
    let (place, _) = refused(before);
    assert_eq!(place, "etc/default/grub:10");
    let before = format!("{before}GRUB_CMDLINE_LINUX=\n");
    assert_eq!(after(&before, &["b"], &[]), before.replace("\"a\";", "\"a b\";"));
}

#[test]
fn a_fragment_that_overwrites_the_variable_is_followed_by_one_of_ours() {
    let fragment = "etc/default/grub.d/50-vendor.cfg";
    let tree = debian()
        .file(MAIN, "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet iommu=pt\"\n")
        .file(fragment, "# vendor\nGRUB_CMDLINE_LINUX_DEFAULT=\"console=ttyS1 amd_iommu=on\"\n");
    let first = edit(&tree, &["iommu=pt"], &["amd_iommu=on"]).unwrap();
    let [vendor, ours] = first.files.as_slice() else { panic!("{:?}", first.files) };
    assert_eq!(vendor.path, fragment);
    assert_eq!(vendor.after, b"# vendor\nGRUB_CMDLINE_LINUX_DEFAULT=\"console=ttyS1\"\n");
    assert_eq!(ours.path, "etc/default/grub.d/99-peerfix.cfg");
    assert_eq!(ours.before, None);
    let text = String::from_utf8(ours.after.clone()).unwrap();
    assert!(
        text.ends_with("\nGRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT iommu=pt\"\n"),
        "{text}"
    );
    assert_eq!(first.effective, ["console=ttyS1", "iommu=pt"]);

    let tree = tree.file(fragment, &vendor.after).file(&ours.path, &ours.after);
    assert!(edit(&tree, &["iommu=pt"], &["amd_iommu=on"]).unwrap().files.is_empty());
    let second = edit(&tree, &["pci=a;b"], &["iommu=pt"]).unwrap();
    assert_eq!(second.files.len(), 1);
    let text = String::from_utf8(second.files[0].after.clone()).unwrap();
    assert!(text.ends_with("DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT 'pci=a;b'\"\n"), "{text}");
}

#[test]
fn a_fragment_of_ours_sorts_after_the_one_that_overwrites() {
    let tree = debian()
        .file(MAIN, "GRUB_CMDLINE_LINUX_DEFAULT=\"a\"\n")
        .file("etc/default/grub.d/local.cfg", "GRUB_CMDLINE_LINUX_DEFAULT=\"b\"\n");
    let late = edit(&tree, &["c"], &[]).unwrap();
    assert_eq!(late.files[0].path, "etc/default/grub.d/zz-peerfix.cfg");
    assert_eq!(late.effective, ["b", "c"]);
    let tree = debian()
        .file(MAIN, "GRUB_CMDLINE_LINUX_DEFAULT=\"a\"\n")
        .file("etc/default/grub.d/50.cfg", "GRUB_CMDLINE_LINUX_DEFAULT=\"b\"\n")
        .file("etc/default/grub.d/x.cfg", "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT x\"\n");
    let between = edit(&tree, &["c"], &[]).unwrap();
    assert_eq!(between.files[0].path, "etc/default/grub.d/99-peerfix.cfg");
    assert_eq!(between.effective, ["b", "c", "x"]);
}

#[test]
fn a_fragment_that_only_adds_leaves_the_main_file_in_charge() {
    let tree = debian().file(MAIN, "GRUB_CMDLINE_LINUX_DEFAULT=\"a\"\n").file(
        "etc/default/grub.d/kdump.cfg",
        "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT crashkernel=1G\"\n",
    );
    let edit = edit(&tree, &["b"], &[]).unwrap();
    assert_eq!(edit.files.len(), 1);
    assert_eq!(edit.files[0].after, b"GRUB_CMDLINE_LINUX_DEFAULT=\"a b\"\n");
    assert_eq!(edit.effective, ["a", "b", "crashkernel=1G"]);
}

#[test]
fn fragments_do_not_count_where_grub_mkconfig_does_not_read_them() {
    let tree = arch()
        .file(MAIN, "GRUB_CMDLINE_LINUX_DEFAULT=\"a\"\n")
        .file("etc/default/grub.d/x.cfg", "GRUB_CMDLINE_LINUX_DEFAULT=\"b\"\n");
    assert_eq!(edit(&tree, &["c"], &[]).unwrap().effective, ["a", "c"]);
    let tree = tree.file("usr/bin/grub-mkconfig", "for x in ${sysconfdir}/default/grub.d/*.cfg ; do\n");
    assert_eq!(edit(&tree, &["c"], &[]).unwrap().effective, ["b", "c"]);
}

#[test]
fn a_word_put_together_from_two_places_is_refused() {
    let tree = debian().file(
        MAIN,
        "GRUB_CMDLINE_LINUX_DEFAULT=\"iommu=\"\nGRUB_CMDLINE_LINUX_DEFAULT=\"${GRUB_CMDLINE_LINUX_DEFAULT}pt\"\n",
    );
    let refusal = edit(&tree, &[], &["iommu=pt"]).unwrap_err();
    assert!(refusal.reason.contains("several assignments"), "{refusal:?}");
}

#[test]
fn words_of_tuned_count_and_are_not_ours_to_remove() {
    let tree = arch()
        .file(
            MAIN,
            "GRUB_CMDLINE_LINUX_DEFAULT=\"a\"\n\
             GRUB_CMDLINE_LINUX_DEFAULT=\"${GRUB_CMDLINE_LINUX_DEFAULT:+$GRUB_CMDLINE_LINUX_DEFAULT }\\$tuned_params\"\n",
        )
        .file("etc/tuned/bootcmdline", "TUNED_BOOT_CMDLINE=\"iommu=pt\"\nTUNED_BOOT_INITRD_ADD=\"\"\n");
    let same = edit(&tree, &["iommu=pt"], &[]).unwrap();
    assert!(same.files.is_empty());
    assert_eq!(same.effective, ["a", "iommu=pt"]);
    let other = edit(&tree, &["b"], &[]).unwrap();
    assert_eq!(other.effective, ["a", "b", "iommu=pt"]);
    let refusal = edit(&tree, &[], &["iommu=pt"]).unwrap_err();
    assert_eq!(refusal.place, "etc/tuned/bootcmdline:1");
}

#[test]
fn a_link_is_edited_at_its_target_and_never_outside_etc() {
    let tree =
        debian().file("etc/real-grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"a\"\n").link(MAIN, "../real-grub");
    assert_eq!(edit(&tree, &["b"], &[]).unwrap().files[0].path, "etc/real-grub");
    let tree =
        debian().file("usr/share/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"a\"\n").link(MAIN, "/usr/share/grub");
    assert!(edit(&tree, &["b"], &[]).unwrap_err().reason.contains("usr/share/grub"));
    let tree = debian().dir("etc/default").link("etc/loop", "default/grub").link(MAIN, "../loop");
    assert!(edit(&tree, &["b"], &[]).is_err());
}

#[test]
fn a_very_long_line_is_read_or_refused() {
    let long = format!("GRUB_CMDLINE_LINUX_DEFAULT=\"{}\"\n", "x".repeat(500_000));
    assert_eq!(after(&long, &["b"], &[]).len(), long.len() + 2);
    let huge = format!("GRUB_CMDLINE_LINUX_DEFAULT=\"{}\"\n", "x".repeat(10 << 20));
    assert!(refused(huge).1.contains("limit"));
}

#[test]
fn the_diff_shows_one_line() {
    let edit = edit(&debian().file(MAIN, "A=1\nGRUB_CMDLINE_LINUX_DEFAULT=\"a\"\n"), &["b"], &[]).unwrap();
    let file = &edit.files[0];
    assert_eq!(
        diff::unified(&file.path, file.before.as_deref(), &file.after),
        "--- a/etc/default/grub\n+++ b/etc/default/grub\n@@ -1,2 +1,2 @@\n A=1\n\
         -GRUB_CMDLINE_LINUX_DEFAULT=\"a\"\n+GRUB_CMDLINE_LINUX_DEFAULT=\"a b\"\n"
    );
}

/// Pieces of shell text that, in any order, exercise quoting, comments and structure.
fn soup() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        &b"GRUB_CMDLINE_LINUX_DEFAULT="[..],
        b"GRUB_CMDLINE_LINUX=",
        b"A=",
        b"=",
        b"quiet",
        b"iommu=pt",
        b" ",
        b"\t",
        b"\n",
        b"\\\n",
        b"\\",
        b"'",
        b"\"",
        b"#",
        b"$GRUB_CMDLINE_LINUX_DEFAULT",
        b"$",
        b"${A}",
        b"`",
        b"$(",
        b")",
        b"(",
        b";",
        b"&&",
        b"||",
        b"|",
        b"&",
        b"if ",
        b"then ",
        b"fi",
        b"{ ",
        b"}",
        b"export ",
        b"unset ",
        b"<<E\n",
        b"E\n",
        b"~",
        b"*",
        b"!",
        b"x",
        b"\xff",
        b"true",
        b":",
        b"f()",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|p| p.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn tokens_rebuild_any_input(bytes in prop_oneof![prop::collection::vec(any::<u8>(), 0..200), soup()]) {
        let lexed = shell::lex(&bytes);
        let mut end = 0;
        for token in &lexed.tokens {
            prop_assert_eq!(token.range.start, end);
            end = token.range.end;
        }
        prop_assert_eq!(end, bytes.len());
        if let Ok(defaults) = grub_defaults::parse(&bytes) {
            let _ = grub_value::evaluate(&[&defaults], "GRUB_CMDLINE_LINUX_DEFAULT", true);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn adding_and_removing_a_word_gives_back_the_same_words(bytes in soup(), word in "[a-z]{1,6}=[a-z;$ ]{1,5}") {
        let tree = debian().file(MAIN, &bytes);
        if let Ok(there) = edit(&tree, &[&word], &[]) {
            let Some(file) = there.files.first() else { return Ok(()) };
            let tree = tree.file(MAIN, &file.after);
            let back = edit(&tree, &[], &[&word]).unwrap();
            let mut left = there.effective.clone();
            left.retain(|w| !back.effective.is_empty() && w.replace('"', "") != word);
            prop_assert_eq!(back.effective, left);
        }
    }
}
