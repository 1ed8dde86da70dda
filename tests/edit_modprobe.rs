//! Edits of modprobe.d: in the file that wins, merged where the driver keeps one string, in a file of our own
//! where the winner is not ours to edit.

mod common;

use common::Tree;
use peerfix::boot::{Edit, Refusal, modprobe_edit};
use peerfix::format::modprobe_d;
use peerfix::root::Root;
use proptest::prelude::*;

const FILE: &str = "etc/modprobe.d/nvidia.conf";
const OURS: &str = "etc/modprobe.d/zz-peerfix.conf";
const REGISTRY: &str = "nvidia.NVreg_RegistryDwords";

fn edit(tree: &Tree, wanted: &[(&str, &str)], remove: &[&str]) -> Result<Edit, Refusal> {
    let root = Root::target(tree.path()).unwrap();
    let wanted: Vec<_> = wanted.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    let remove: Vec<_> = remove.iter().map(|r| (*r).to_owned()).collect();
    modprobe_edit(&root, &wanted, &remove)
}

/// The only file that changes, and its text.
fn one(tree: &Tree, wanted: &[(&str, &str)], remove: &[&str]) -> (String, String) {
    let edit = edit(tree, wanted, remove).unwrap();
    assert_eq!(edit.files.len(), 1, "{:?}", edit.files);
    let file = &edit.files[0];
    (file.path.clone(), String::from_utf8(file.after.clone()).unwrap())
}

#[test]
fn an_option_that_stands_nowhere_gets_a_file_that_says_whose_it_is() {
    let tree = Tree::new().dir("etc").file("usr/sbin/update-initramfs", "");
    let edit = edit(&tree, &[("nvidia_uvm.uvm_disable_hmm", "1")], &[]).unwrap();
    assert_eq!(edit.files[0].path, OURS);
    assert_eq!(edit.files[0].before, None);
    let text = String::from_utf8(edit.files[0].after.clone()).unwrap();
    assert!(text.starts_with("# Written by peerfix") && text.contains("peerfix revert"), "{text}");
    assert!(text.ends_with("\noptions nvidia_uvm uvm_disable_hmm=1\n"), "{text}");
    assert_eq!(edit.commands[0].argv, ["update-initramfs", "-u", "-k", "all"]);
}

#[test]
fn a_second_run_changes_nothing_and_leaves_the_command() {
    let tree = Tree::new().file(OURS, "options nvidia-uvm uvm_disable_hmm=1\n").file("usr/bin/dracut", "");
    let edit = edit(&tree, &[("nvidia_uvm.uvm_disable_hmm", "1")], &["nvidia.NVreg_X"]).unwrap();
    assert!(edit.files.is_empty());
    assert_eq!(edit.commands[0].argv, ["dracut", "-f", "--regenerate-all"]);
}

#[test]
fn the_winning_line_in_etc_is_edited_where_it_stands() {
    let tree = Tree::new()
        .file("etc/modprobe.d/a.conf", "options nvidia NVreg_EnableResizableBar=1\n")
        .file(FILE, "# options nvidia NVreg_EnableResizableBar=7\n  options  nvidia\tNVreg_A=1 NVreg_EnableResizableBar=0 B=\n");
    let (path, text) = one(&tree, &[("nvidia.NVreg_EnableResizableBar", "1")], &[]);
    assert_eq!(path, FILE);
    assert_eq!(
        text,
        "# options nvidia NVreg_EnableResizableBar=7\n  options  nvidia\tNVreg_A=1 NVreg_EnableResizableBar=1 B=\n"
    );
}

#[test]
fn a_winner_in_a_vendor_directory_is_overridden_by_a_later_file() {
    let tree =
        Tree::new().file("usr/lib/modprobe.d/zzz-vendor.conf", "options nvidia_uvm uvm_disable_hmm=0\n");
    let (path, text) = one(&tree, &[("nvidia_uvm.uvm_disable_hmm", "1")], &[]);
    assert_eq!(path, "etc/modprobe.d/zzzz-peerfix.conf");
    assert!(text.ends_with("options nvidia_uvm uvm_disable_hmm=1\n"));
    let tree = Tree::new().file("lib/modprobe.d/a.conf", "options nvidia NVreg_RegistryDwords=A=1\n");
    let (path, text) = one(&tree, &[(REGISTRY, "B=2")], &[]);
    assert_eq!(path, OURS);
    assert!(text.ends_with("options nvidia NVreg_RegistryDwords=A=1;B=2\n"), "{text}");
}

#[test]
fn a_masked_file_does_not_count() {
    let tree = Tree::new()
        .file("usr/lib/modprobe.d/nvidia.conf", "options nvidia NVreg_RegistryDwords=\"A=1\"\n")
        .link("etc/modprobe.d/nvidia.conf", "/dev/null");
    let (path, text) = one(&tree, &[(REGISTRY, "B=2")], &[]);
    assert_eq!(path, OURS);
    assert!(text.ends_with("options nvidia NVreg_RegistryDwords=B=2\n"), "{text}");
}

#[test]
fn registry_keys_are_merged_into_the_value_in_force_with_its_quotes() {
    let tree = Tree::new()
        .file(FILE, "options nvidia NVreg_RegistryDwords=\"PowerMizerEnable=0x1;ForceP2P=0x0\" NVreg_B=2\n");
    let (path, text) = one(&tree, &[(REGISTRY, "ForceP2P=0x11;RMForceP2PType=1")], &[]);
    assert_eq!(path, FILE);
    assert_eq!(
        text,
        "options nvidia NVreg_RegistryDwords=\"PowerMizerEnable=0x1;ForceP2P=0x11;RMForceP2PType=1\" NVreg_B=2\n"
    );
    let tree = Tree::new().file(FILE, &text);
    assert!(edit(&tree, &[(REGISTRY, "ForceP2P=0x11")], &[]).unwrap().files.is_empty());
}

#[test]
fn a_losing_registry_line_in_etc_goes() {
    let tree = Tree::new()
        .file(
            "etc/modprobe.d/a.conf",
            "# keep\noptions nvidia NVreg_RegistryDwords=A=1\noptions nvidia NVreg_B=1\n",
        )
        .file("etc/modprobe.d/b.conf", "options nvidia NVreg_RegistryDwords=C=3\n");
    let edit = edit(&tree, &[(REGISTRY, "D=4")], &[]).unwrap();
    let texts: Vec<_> =
        edit.files.iter().map(|f| (f.path.as_str(), String::from_utf8_lossy(&f.after))).collect();
    assert_eq!(texts[0], ("etc/modprobe.d/a.conf", "# keep\noptions nvidia NVreg_B=1\n".into()));
    assert_eq!(texts[1], ("etc/modprobe.d/b.conf", "options nvidia NVreg_RegistryDwords=C=3;D=4\n".into()));
}

#[test]
fn options_are_removed_with_their_line_when_none_is_left() {
    let tree =
        Tree::new().file(FILE, "#x\noptions nvidia A=1\noptions nvidia A=2 B=3\noptions nvidia-uvm A=4\n");
    assert_eq!(one(&tree, &[], &["nvidia.A"]).1, "#x\noptions nvidia B=3\noptions nvidia-uvm A=4\n");
    assert_eq!(
        one(&tree, &[], &["nvidia.A=2"]).1,
        "#x\noptions nvidia A=1\noptions nvidia B=3\noptions nvidia-uvm A=4\n"
    );
    let tree = Tree::new().file(FILE, "options nvidia NVreg_RegistryDwords=A=1;B=2\n");
    assert_eq!(
        one(&tree, &[], &["nvidia.NVreg_RegistryDwords=A=1"]).1,
        "options nvidia NVreg_RegistryDwords=B=2\n"
    );
    assert_eq!(one(&tree, &[], &["nvidia.NVreg_RegistryDwords=A;B"]).1, "");
    assert_eq!(
        one(&tree, &[(REGISTRY, "C=3")], &["nvidia.NVreg_RegistryDwords=A=1"]).1,
        "options nvidia NVreg_RegistryDwords=B=2;C=3\n"
    );
}

#[test]
fn a_vendor_file_is_never_edited() {
    let tree = Tree::new().file("usr/lib/modprobe.d/v.conf", "options amdgpu x=1\n");
    let refusal = edit(&tree, &[], &["amdgpu.x"]).unwrap_err();
    assert_eq!(refusal.place, "usr/lib/modprobe.d/v.conf:1");
    assert!(refusal.reason.contains("etc/modprobe.d/v.conf"), "{refusal:?}");
    let tree = Tree::new()
        .file("usr/share/v.conf", "options amdgpu x=1\n")
        .link("etc/modprobe.d/v.conf", "/usr/share/v.conf");
    assert!(edit(&tree, &[], &["amdgpu.x"]).is_err());
    assert_eq!(one(&tree, &[("amdgpu.x", "2")], &[]).0, OURS);
}

#[test]
fn a_link_within_etc_is_edited_at_its_target() {
    let tree = Tree::new()
        .file("etc/nvidia/m.conf", "options nvidia A=1\n")
        .link("etc/alternatives/m", "/etc/nvidia/m.conf")
        .link(FILE, "/etc/alternatives/m");
    assert_eq!(
        one(&tree, &[("nvidia.A", "2")], &[]),
        ("etc/nvidia/m.conf".into(), "options nvidia A=2\n".into())
    );
}

#[test]
fn a_parameter_on_the_running_command_line_is_refused() {
    let tree =
        Tree::new().dir("etc").file("proc/cmdline", "BOOT_IMAGE=/v root=x nvidia-uvm.uvm_disable_hmm=0\n");
    let refusal = edit(&tree, &[("nvidia_uvm.uvm_disable_hmm", "1")], &[]).unwrap_err();
    assert_eq!(refusal.place, "proc/cmdline");
    assert!(!refusal.manual.is_empty());
    assert!(edit(&tree, &[("nvidia_uvm.uvm_disable_hmm", "0")], &[]).is_ok());
}

#[test]
fn values_and_names_that_cannot_be_written_are_refused() {
    let tree = Tree::new().dir("etc");
    for (name, value) in [
        ("nvidia.A", "a\"b"),
        ("nvidia.A", "a\nb"),
        ("nvidia", "1"),
        (".A", "1"),
        ("n x.A", "1"),
        ("n.a b", "1"),
    ] {
        assert!(edit(&tree, &[(name, value)], &[]).is_err(), "{name}={value:?}");
    }
    assert!(one(&tree, &[("nvidia.A", "a b")], &[]).1.ends_with("options nvidia A=\"a b\"\n"));
}

#[test]
fn a_line_that_cannot_be_rewritten_is_refused_with_its_number() {
    for content in ["\noptions nvidia A=1\r\n", "\noptions nvidia A=\"1\n", "\noptions nvidia A=1\\\n2\n"] {
        let refusal = edit(&Tree::new().file(FILE, content), &[("nvidia.A", "2")], &[]).unwrap_err();
        assert_eq!(refusal.place, format!("{FILE}:2"), "{content:?}: {refusal:?}");
    }
    let refusal =
        edit(&Tree::new().file(FILE, b"options nvidia A=\xff\n"), &[("nvidia.A", "2")], &[]).unwrap_err();
    assert_eq!(refusal.place, format!("{FILE}:1"));
}

#[test]
fn a_comment_that_is_joined_with_the_next_line_hides_it() {
    let tree = Tree::new().file(FILE, "# comment \\\noptions nvidia A=1\n");
    assert_eq!(one(&tree, &[("nvidia.A", "2")], &[]).0, OURS);
}

#[test]
fn unreadable_and_looping_files_are_an_error_with_the_path() {
    let tree = Tree::new().link("etc/modprobe.d/a.conf", "b.conf").link("etc/modprobe.d/b.conf", "a.conf");
    assert_eq!(edit(&tree, &[("nvidia.A", "2")], &[]).unwrap_err().place, "etc/modprobe.d/a.conf");
    let tree = Tree::new().file(FILE, vec![b'x'; 10 << 20]);
    assert!(edit(&tree, &[("nvidia.A", "2")], &[]).unwrap_err().reason.contains("limit"));
}

#[test]
fn other_bytes_survive() {
    let tree = Tree::new().file(FILE, b"# \xff\xfe\r\noptions nvidia A=1\ninstall x /bin/false \xe9\n");
    let edit = edit(&tree, &[("nvidia.A", "2")], &[]).unwrap();
    assert_eq!(edit.files[0].after, b"# \xff\xfe\r\noptions nvidia A=2\ninstall x /bin/false \xe9\n");
}

fn soup() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        &b"options "[..],
        b"nvidia ",
        b"nvidia-uvm ",
        b"A=1",
        b"A=\"x y\"",
        b" ",
        b"\t",
        b"\n",
        b"\\\n",
        b"\\",
        b"#",
        b"\"",
        b"B",
        b"=",
        b"\r",
        b"\xff",
        b"blacklist z\n",
        b"\noptions nvidia A=2\n",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|p| p.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn lines_and_options_lie_in_the_file_and_in_order(bytes in prop_oneof![soup(), prop::collection::vec(any::<u8>(), 0..200)]) {
        let mut end = 0;
        for line in modprobe_d::parse(&bytes).lines {
            prop_assert!(line.range.start >= end && line.range.end <= bytes.len());
            end = line.range.end;
            let mut inner = line.range.start;
            for option in &line.options {
                prop_assert!(option.at.start >= inner && option.at.end <= line.range.end);
                inner = option.at.end;
            }
        }
    }

    #[test]
    fn a_set_value_wins_and_no_other_option_changes(bytes in soup()) {
        let tree = Tree::new().file(FILE, &bytes);
        if let Ok(edit) = edit(&tree, &[("nvidia.A", "7")], &[]) {
            let mut all = Vec::new();
            let mut files = vec![(FILE.to_owned(), bytes.clone())];
            for file in edit.files {
                files.retain(|(path, _)| *path != file.path);
                files.push((file.path, file.after));
            }
            files.sort();
            for (_, bytes) in &files {
                for line in modprobe_d::parse(bytes).lines {
                    all.extend(line.options.into_iter().map(|o| (line.module.clone(), o.name, o.value)));
                }
            }
            let ours = |o: &&(String, String, Option<String>)| o.0 == "nvidia" && o.1 == "A";
            prop_assert_eq!(all.iter().rfind(ours).unwrap().2.as_deref(), Some("7"));
            let before: Vec<_> = modprobe_d::parse(&bytes).lines.into_iter()
                .flat_map(|l| l.options.into_iter().map(move |o| (l.module.clone(), o.name, o.value))).collect();
            let rest = |list: &[(String, String, Option<String>)]| list.iter().filter(|o| !ours(o)).cloned().collect::<Vec<_>>();
            prop_assert_eq!(rest(&before), rest(&all));
        }
    }
}
