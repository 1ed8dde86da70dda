//! GRUB's settings as a real shell reads them, before and after an edit. The shell runs in a throwaway root (a
//! mount namespace of its own with nothing in it but `/usr`, read-only), never on the machine itself.

mod common;

use common::Tree;
use peerfix::boot::{self, Boot};
use peerfix::format::{grub_defaults, grub_script, grub_value};
use peerfix::host::Host;
use peerfix::root::Root;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use std::path::Path;
use std::process::{Command, Stdio};

const VARIABLES: [&str; 3] = ["GRUB_CMDLINE_LINUX", "GRUB_CMDLINE_LINUX_DEFAULT", "A"];

/// Sources every file of `$1` that the shell `$2` finds well-formed and leaves the variables beside it.
const SOURCE_ALL: &str = r#"for f in "$1"/*.sh; do
"$2" -n "$f" 2>/dev/null && "$2" -c '. "$1" >/dev/null; printf "%s\000%s\000%s\000" "$GRUB_CMDLINE_LINUX" "$GRUB_CMDLINE_LINUX_DEFAULT" "$A"' sh "$f" >"$f.out" 2>/dev/null
done; :"#;

/// Makes the throwaway root at `$1`, with the folder `$2` as `/cases`, and runs the rest in it.
const ENTER: &str = r#"set -e
mount -t tmpfs none "$1"; cd "$1"
mkdir usr cases dev; for d in bin sbin lib lib32 lib64; do if [ -e "/$d" ]; then ln -s "usr/$d" "$d"; fi; done
mkdir bash; if [ -e /usr/bin/bash ]; then ln -s /usr/bin/bash bash/sh; fi
mount --bind /usr usr; mount -o remount,bind,ro usr
mount --bind "$2" cases; : >dev/null
shift 2; exec chroot . /usr/bin/env -i PATH=/nonexistent "$@""#;

type Values = Option<Vec<Vec<u8>>>;

/// What each file sets according to `shell`; none for a file that the shell does not get through. The reason
/// when this machine does not let a test make a namespace.
fn sourced(files: &[Vec<u8>], shell: &str) -> Result<Vec<Values>, String> {
    let cases = tempfile::tempdir().unwrap();
    let place = tempfile::tempdir().unwrap();
    let name = |i: usize| cases.path().join(format!("{i:06}.sh"));
    for (index, file) in files.iter().enumerate() {
        std::fs::write(name(index), file).unwrap();
    }
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", ENTER, "enter"])
        .args([place.path(), cases.path()])
        .args(["/bin/sh", "-c", SOURCE_ALL, "sh", "/cases", shell])
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("unshare: {e}"))?;
    if !output.status.success() {
        return Err(format!("no mount namespace here: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let values = |i: usize| {
        let bytes = std::fs::read(name(i).with_extension("sh.out")).ok()?;
        let parts: Vec<Vec<u8>> = bytes.split(|b| *b == 0).map(<[u8]>::to_vec).collect();
        (parts.len() == VARIABLES.len() + 1).then(|| parts[..VARIABLES.len()].to_vec())
    };
    Ok((0..files.len()).map(values).collect())
}

/// The words of both variables as GRUB splits them.
fn words(values: &[Vec<u8>]) -> Vec<String> {
    let split = |v: &Vec<u8>| grub_script::split(v).unwrap();
    values[..2].iter().flat_map(split).map(|a| grub_script::kernel_word(&a.text)).collect()
}

fn edited(content: &[u8], add: &[&str], remove: &[&str]) -> Vec<u8> {
    let tree = Tree::new()
        .file("etc/os-release", "ID=debian\n")
        .file("usr/sbin/update-grub", "")
        .file("etc/default/grub", content);
    let list = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
    let root = Root::open(tree.path()).unwrap();
    let boot = Boot::read(&root, &Host::default());
    let edit = boot::edit(&root, &boot, &list(add), &list(remove)).unwrap();
    edit.files.first().map_or_else(|| content.to_vec(), |f| f.after.clone())
}

#[test]
fn a_real_shell_sees_the_same_words_and_the_wanted_change() {
    let add = ["iommu=pt", "pci=disable_acs_redir=pci:1:2;pci:3:4", "x=$HOME`id`", "\"dyndbg=file a b\""];
    let files: [&[u8]; 9] = [
        b"GRUB_CMDLINE_LINUX_DEFAULT=\"quiet amd_iommu=on splash\"\nA=\"a b\"",
        b"GRUB_CMDLINE_LINUX_DEFAULT='quiet amd_iommu=on'\nGRUB_CMDLINE_LINUX=\"amd_iommu=on 'pci=a;b'\"\n",
        b"GRUB_CMDLINE_LINUX_DEFAULT=amd_iommu=on\n",
        b"GRUB_CMDLINE_LINUX_DEFAULT=\nA=\\$x\n",
        b"# \xff\nGRUB_CMDLINE_LINUX=\"a \\\n  amd_iommu=on \\\n  b\"\n",
        b"GRUB_CMDLINE_LINUX_DEFAULT=\"a\"'b amd_'\"iommu=on\" # c\n",
        b"GRUB_CMDLINE_LINUX_DEFAULT=a\nGRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT amd_iommu=on\"\n",
        b"export GRUB_CMDLINE_LINUX_DEFAULT=\"a\tamd_iommu=on\"; A=1\n",
        b"if true; then A=2; fi\nGRUB_CMDLINE_LINUX_DEFAULT=a\\ b\n",
    ];
    let before: Vec<Vec<u8>> = files.iter().map(|f| f.to_vec()).collect();
    let after: Vec<Vec<u8>> = files.iter().map(|f| edited(f, &add, &["amd_iommu=on"])).collect();
    let (old, new) = match (sourced(&before, "/bin/sh"), sourced(&after, "/bin/sh")) {
        (Ok(old), Ok(new)) => (old, new),
        (Err(reason), _) | (_, Err(reason)) => {
            println!("skipped: {reason}");
            return;
        }
    };
    for (index, (old, new)) in old.iter().zip(&new).enumerate() {
        let (old, new) = (old.as_ref().unwrap(), new.as_ref().unwrap());
        let mut expected: Vec<String> = words(old).into_iter().filter(|w| w != "amd_iommu=on").collect();
        expected.extend(add.iter().map(|w| (*w).to_owned()));
        assert_eq!(words(new), expected, "{}", String::from_utf8_lossy(&after[index]));
        assert_eq!(new[2], old[2], "another variable changed");
    }
}

/// Pieces of shell text without a command that could do anything.
fn soup() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        &b"GRUB_CMDLINE_LINUX_DEFAULT="[..],
        b"GRUB_CMDLINE_LINUX=",
        b"A=",
        b"\nA=",
        b"\nGRUB_CMDLINE_LINUX_DEFAULT=",
        b"=",
        b"quiet",
        b"b",
        b" ",
        b"\t",
        b"\n",
        b"\n",
        b"\\\n",
        b"\\",
        b"'",
        b"\"",
        b"\"",
        b"#",
        b" #",
        b"$GRUB_CMDLINE_LINUX_DEFAULT",
        b"$A",
        b"$",
        b"${A}",
        b"`",
        b"$(",
        b")",
        b"(",
        b";",
        b" && ",
        b"||",
        b"|",
        b"&",
        b"\nif ",
        b"\nthen ",
        b"\nfi\n",
        b"{ ",
        b";}",
        b"export ",
        b"unset A",
        b"<<b\n",
        b"\nb\n",
        b"~",
        b"*",
        b"! ",
        b"\xff",
        b"true",
        b":",
        b"f()",
        b"\nf\n",
        b"'x y'",
        b"\"x y\"",
        b"case b in ",
        b"b) ",
        b";;",
        b"esac",
        b"for A in b; do ",
        b"done",
        b"exit",
        b"eval ",
        b"2>&1",
        b"\nelse ",
        b"${A:-b}",
        b"\n: ${A:=b}",
        b"$((A=1))",
        b"\\$",
        b"\\\"",
    ]);
    prop::collection::vec(piece, 1..16).prop_map(|p| p.concat())
}

#[test]
fn what_is_told_about_any_text_is_what_a_real_shell_does() {
    // The same texts in every run; PEERFIX_SHELL_TEXTS=N tries N others.
    let others = std::env::var("PEERFIX_SHELL_TEXTS").ok().and_then(|n| n.parse().ok());
    let mut runner = match others {
        Some(_) => TestRunner::new(Config::default()),
        None => TestRunner::deterministic(),
    };
    let wanted: usize = others.unwrap_or(1500);
    let mut files = Vec::new();
    let mut told = Vec::new();
    while files.len() < wanted {
        let bytes = soup().new_tree(&mut runner).unwrap().current();
        let Ok(defaults) = grub_defaults::parse(&bytes) else { continue };
        let values = VARIABLES.map(|name| {
            let variable = grub_value::evaluate(&[&defaults], name, false);
            let bytes: Vec<u8> = variable.bytes.iter().map(|b| b.byte).collect();
            variable.unsettled.is_none().then_some(bytes)
        });
        if values.iter().any(Option::is_some) && !bytes.windows(2).any(|w| w == b"+=") {
            files.push(bytes);
            told.push(values);
        }
    }
    // As /bin/sh, bash is in its POSIX mode.
    for (shell, program) in [("/bin/sh", "/bin/sh"), ("/bash/sh", "/usr/bin/bash")] {
        if !Path::new(program).exists() {
            println!("skipped: no {program} here");
            continue;
        }
        let real = match sourced(&files, shell) {
            Ok(real) => real,
            Err(reason) => {
                println!("skipped: {reason}");
                return;
            }
        };
        let mut compared = 0;
        for ((file, told), real) in files.iter().zip(&told).zip(&real) {
            let Some(real) = real else { continue };
            for (told, real) in told.iter().zip(real) {
                if let Some(told) = told {
                    compared += 1;
                    assert_eq!(told, real, "{shell}: {:?}", String::from_utf8_lossy(file));
                }
            }
        }
        assert!(compared > wanted / 2, "{shell} got through too few files: {compared}");
    }
}
