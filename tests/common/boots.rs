//! A host that can be restarted: a root tree with a GRUB menu, and a stand-in for GRUB that reads `next_entry`, clears
//! it, and gives the tree the command line of the entry it chose. `update-grub` is played by [`Boots::regenerate`].

use super::Tree;
use super::distro::{ROOT, grub_cmdline};
use peerfix::format::grubenv::Grubenv;
use std::cell::Cell;
use std::process::Command;

/// The kernel of the hosts here.
pub const RELEASE: &str = "7.0.0-28-generic";
const CFG: &str = "boot/grub/grub.cfg";
const ENV: &str = "boot/grub/grubenv";

/// A host and the number of its boot.
pub struct Boots {
    /// The tree.
    pub tree: Tree,
    /// The same machine as it is when its fault is gone: hardware and log of another boot.
    pub cured: Tree,
    boot: Cell<u32>,
}

/// What GRUB started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// The default entry.
    Default,
    /// The entry that `next_entry` named.
    Chosen,
}

impl Boots {
    /// A host whose `etc/default/grub` has `words`; it runs with them.
    pub fn of(tree: Tree, cured: Tree, words: &str) -> Self {
        let tree = tree
            .file("proc/mounts", "sysfs /sys sysfs rw 0 0\n/dev/nvme0n1p2 / ext4 rw,relatime 0 0\n")
            .file(ENV, Grubenv::empty().bytes())
            .file(&format!("boot/vmlinuz-{RELEASE}"), "kernel")
            .file(&format!("boot/initrd.img-{RELEASE}"), "initrd")
            .dir("sys/firmware");
        let host = Self { tree, cured, boot: Cell::new(0) };
        host.regenerate();
        assert_eq!(host.start(), Started::Default);
        assert!(host.tree.read("proc/cmdline").contains(words));
        host
    }

    /// The host in folders that another process laid.
    pub fn found(tree: &str, cured: &str) -> Self {
        Self { tree: Tree::found(tree), cured: Tree::found(cured), boot: Cell::new(0) }
    }

    /// A copy of it as it is.
    pub fn copy(&self) -> Self {
        let again = |tree: &Tree| {
            let copy = Tree::new();
            let from = format!("{}/.", tree.path().display());
            assert!(Command::new("cp").arg("-a").arg(from).arg(copy.path()).status().unwrap().success());
            copy
        };
        Self { tree: again(&self.tree), cured: again(&self.cured), boot: Cell::new(self.boot.get()) }
    }

    /// What `update-grub` does.
    pub fn regenerate(&self) {
        let defaults = self.tree.read("etc/default/grub");
        let words = defaults
            .lines()
            .find_map(|line| line.strip_prefix("GRUB_CMDLINE_LINUX_DEFAULT=\"")?.strip_suffix('"'))
            .unwrap();
        let line = grub_cmdline(RELEASE, words).replacen("BOOT_IMAGE=", "", 1);
        let recovery = format!("/boot/vmlinuz-{RELEASE} {ROOT} ro recovery nomodeset");
        self.put(
            CFG,
            format!(
                "if [ -s $prefix/grubenv ]; then\n  set have_grubenv=true\n  load_env\nfi\n\
                 if [ \"${{next_entry}}\" ] ; then\n   set default=\"${{next_entry}}\"\n   set next_entry=\n   \
                 save_env next_entry\n   set boot_once=true\nelse\n   set default=\"0\"\nfi\n\
                 set timeout=3\n\
                 menuentry 'Ubuntu' --class ubuntu --id 'gnulinux-simple-3f1c7a52' {{\n\
                 \tsearch --no-floppy --fs-uuid --set=root 3f1c7a52-8f0e-4c55-9a57-3b7a52c1e0d4\n\
                 \tlinux\t{line}\n\tinitrd\t/boot/initrd.img-{RELEASE}\n}}\n\
                 menuentry 'Ubuntu (recovery mode)' --id 'gnulinux-recovery-3f1c7a52' {{\n\tlinux\t{recovery}\n\
                 \tinitrd\t/boot/initrd.img-{RELEASE}\n}}\n\
                 if [ -f  ${{config_directory}}/custom.cfg ]; then\n  source ${{config_directory}}/custom.cfg\n\
                 elif [ -z \"${{config_directory}}\" -a -f  $prefix/custom.cfg ]; then\n  \
                 source $prefix/custom.cfg\nfi\n"
            )
            .as_bytes(),
        );
    }

    /// Restarts: GRUB takes its choice and forgets it, and another boot runs.
    pub fn start(&self) -> Started {
        let block = Grubenv::parse(&std::fs::read(self.tree.path().join(ENV)).unwrap()).unwrap();
        let choice = block.get("next_entry").filter(|v| !v.is_empty());
        let custom =
            std::fs::read_to_string(self.tree.path().join("boot/grub/custom.cfg")).unwrap_or_default();
        let chosen = choice.as_ref().and_then(|id| {
            let id = format!("--id {}", String::from_utf8_lossy(id));
            let entry = &custom[custom.find(&id)?..];
            entry.lines().find_map(|line| line.trim().strip_prefix("linux"))
        });
        if choice.is_some() {
            self.put(ENV, block.set("next_entry", "").unwrap().bytes());
        }
        let menu = self.tree.read(CFG);
        let default = menu.lines().find_map(|line| line.trim().strip_prefix("linux")).unwrap();
        let line: Vec<String> = chosen
            .unwrap_or(default)
            .split_whitespace()
            .map(|word| word.trim_matches('\'').replace("\\=", "="))
            .collect();
        self.runs(&format!("BOOT_IMAGE={}", line.join(" ")));
        if chosen.is_some() { Started::Chosen } else { Started::Default }
    }

    /// GRUB starts the chosen entry, which panics, and then the default.
    pub fn start_and_panic(&self) -> Started {
        assert_eq!(self.start(), Started::Chosen);
        self.start()
    }

    /// A boot with this command line.
    pub fn runs(&self, line: &str) {
        self.boot.set(self.boot.get() + 1);
        self.put("proc/cmdline", format!("{line}\n").as_bytes());
        let id = format!("00000000-0000-4000-8000-{:012}\n", self.boot.get());
        self.put("proc/sys/kernel/random/boot_id", id.as_bytes());
    }

    /// The running words.
    pub fn line(&self) -> String {
        self.tree.read("proc/cmdline").trim().to_owned()
    }

    /// What the next boot is chosen to be; empty for the default.
    pub fn choice(&self) -> String {
        let block = Grubenv::parse(&std::fs::read(self.tree.path().join(ENV)).unwrap()).unwrap();
        String::from_utf8(block.get("next_entry").unwrap_or_default()).unwrap()
    }

    fn put(&self, path: &str, bytes: &[u8]) {
        std::fs::write(self.tree.path().join(path), bytes).unwrap();
        if path.starts_with("proc/") {
            std::fs::write(self.cured.path().join(path), bytes).unwrap();
        }
    }
}
