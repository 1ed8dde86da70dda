//! Which loader boots a host, what it configures, what has no effect, and what a person types where no edit is
//! made.

mod common;

use common::Tree;
use peerfix::boot::{self, Boot, Refusal};
use peerfix::host::Host;
use peerfix::host::cmdline::Cmdline;
use peerfix::root::{Evidence, Fact, Root, Why};

const LOADER_INFO: &str = "sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";

fn utf16(text: &str) -> Vec<u8> {
    let mut bytes = vec![6, 0, 0, 0];
    bytes.extend(text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
    bytes
}

fn os(tree: Tree, id: &str) -> Tree {
    tree.file("etc/os-release", format!("NAME=x\nID={id}\n"))
}

fn grub() -> Tree {
    Tree::new()
        .file(
            "etc/default/grub",
            "GRUB_CMDLINE_LINUX=\"c=1\"\nGRUB_CMDLINE_LINUX_DEFAULT=\"iommu=pt quiet\"\n",
        )
        .file("boot/grub/grub.cfg", "")
}

/// A host whose running command line is `line`.
fn host(line: Option<&str>) -> Host {
    let mut host = Host::default();
    if let Some(text) = line {
        let cmdline = Cmdline { text: text.to_owned(), ..Cmdline::default() };
        host.kernel.cmdline = Fact::known(cmdline, Evidence::at("proc/cmdline", 1, text));
    }
    host
}

/// Boot facts of a tree that runs `line`.
fn read(tree: Tree, line: Option<&str>) -> (Tree, Boot) {
    let tree = match line {
        Some(line) => tree.file("proc/cmdline", format!("{line}\n")),
        None => tree,
    };
    let root = Root::target(tree.path()).unwrap();
    let boot = Boot::read(&root, &host(line));
    (tree, boot)
}

fn loader(boot: &Boot) -> &str {
    boot.loader.value().map_or("", String::as_str)
}

fn words(boot: &Boot) -> Vec<&str> {
    boot.configured.value().unwrap().iter().map(String::as_str).collect()
}

fn refusal(tree: &Tree, boot: &Boot, add: &[&str], remove: &[&str]) -> Refusal {
    let root = Root::target(tree.path()).unwrap();
    let list = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
    boot::edit(&root, boot, &list(add), &list(remove)).unwrap_err()
}

#[test]
fn debian_grub_in_the_order_that_grub_mkconfig_gives() {
    let (_, boot) = read(os(grub(), "ubuntu"), Some("BOOT_IMAGE=/vmlinuz root=x ro c=1 quiet amd_iommu=off"));
    assert_eq!(loader(&boot), "grub-debian");
    assert!(boot.others.is_empty());
    assert_eq!(words(&boot), ["c=1", "iommu=pt", "quiet"]);
    assert_eq!(boot.not_running.value().unwrap(), &["iommu=pt"]);
    assert_eq!(boot.not_configured.value().unwrap(), &["amd_iommu=off"]);
    let places: Vec<_> = boot.places.iter().map(|p| (p.line, p.variable.as_str(), p.effective)).collect();
    assert_eq!(places, [(1, "GRUB_CMDLINE_LINUX", true), (2, "GRUB_CMDLINE_LINUX_DEFAULT", true)]);
    assert!(boot.shadowed.is_empty());
}

#[test]
fn words_for_init_are_not_the_kernels() {
    let (_, boot) = read(os(grub(), "debian"), Some("BOOT_IMAGE=/v iommu=pt -- amd_iommu=off"));
    assert!(boot.not_configured.value().unwrap().is_empty());
    assert!(boot.not_running.value().unwrap().is_empty());
}

#[test]
fn drift_is_unknown_without_a_running_line_or_without_a_configuration() {
    let (_, boot) = read(os(grub(), "debian"), None);
    assert_eq!(loader(&boot), "grub-debian");
    assert!(boot.not_running.is_unknown() && boot.not_configured.is_unknown());
    let tree =
        os(grub(), "debian").file("etc/default/grub", "A='\nGRUB_CMDLINE_LINUX_DEFAULT=\"iommu=pt\"\n");
    let (_, boot) = read(tree, Some("BOOT_IMAGE=/v iommu=pt"));
    let reason = boot.configured.reason().unwrap();
    assert_eq!(
        (reason.path.as_str(), reason.line, reason.why),
        ("etc/default/grub", Some(1), Why::Malformed)
    );
    assert!(boot.not_running.is_unknown() && boot.not_configured.is_unknown());
}

#[test]
fn an_earlier_assignment_and_an_overwriting_fragment_are_shadows() {
    let tree = os(grub(), "debian")
        .file(
            "etc/default/grub",
            "GRUB_CMDLINE_LINUX_DEFAULT=\"a\"\nGRUB_CMDLINE_LINUX_DEFAULT=\"iommu=pt b\"\n",
        )
        .file("etc/default/grub.d/40-x.cfg", "\nGRUB_CMDLINE_LINUX_DEFAULT=\"console=tty1\"\n");
    let (_, boot) = read(tree, None);
    assert_eq!(words(&boot), ["console=tty1"]);
    let shadows: Vec<_> =
        boot.shadowed.iter().map(|s| (s.line, s.by.as_str(), s.lost.join(" "), s.text.as_str())).collect();
    assert_eq!(
        shadows,
        [
            (1, "etc/default/grub:2", String::new(), "GRUB_CMDLINE_LINUX_DEFAULT=\"a\""),
            (
                2,
                "etc/default/grub.d/40-x.cfg:2",
                "iommu=pt".to_owned(),
                "GRUB_CMDLINE_LINUX_DEFAULT=\"iommu=pt b\""
            ),
        ]
    );
    assert_eq!(boot.places.iter().map(|p| p.effective).collect::<Vec<_>>(), [false, false, true]);
}

#[test]
fn the_same_words_in_both_variables_are_no_shadow() {
    let tree = os(grub(), "debian").file(
        "etc/default/grub",
        "GRUB_CMDLINE_LINUX=\"iommu=pt\"\nGRUB_CMDLINE_LINUX_DEFAULT=\"iommu=pt\"\n",
    );
    let (_, boot) = read(tree, Some("BOOT_IMAGE=/v iommu=pt iommu=pt"));
    assert!(boot.shadowed.is_empty());
    assert!(boot.not_running.value().unwrap().is_empty());
}

#[test]
fn a_computed_value_is_unknown_with_its_line() {
    let tree =
        os(grub(), "arch").file("etc/default/grub", "A=1\nGRUB_CMDLINE_LINUX_DEFAULT=\"$(cat /x) quiet\"\n");
    let (_, boot) = read(tree, None);
    assert_eq!(loader(&boot), "grub");
    assert_eq!(boot.configured.reason().unwrap().line, Some(2));
    assert!(boot.places[0].dynamic && boot.places[0].words.is_empty());
}

#[test]
fn grub_without_debians_fragments() {
    for (id, program, output) in [
        ("arch", "usr/bin/grub-mkconfig", "/boot/grub/grub.cfg"),
        ("opensuse-leap", "usr/sbin/grub2-mkconfig", "/boot/grub2/grub.cfg"),
    ] {
        let tree =
            os(grub(), id).file(program, "").file("etc/default/grub.d/z.cfg", "GRUB_CMDLINE_LINUX=z\n");
        let (tree, boot) = read(tree, Some("BOOT_IMAGE=/v"));
        assert_eq!(loader(&boot), "grub");
        assert_eq!(words(&boot)[0], "c=1");
        let root = Root::target(tree.path()).unwrap();
        let edit = boot::edit(&root, &boot, &["x".to_owned()], &[]).unwrap();
        assert_eq!(edit.commands[0].argv[1..], ["-o", output]);
    }
}

fn fedora() -> Tree {
    os(Tree::new(), "fedora")
        .file("boot/grub2/grub.cfg", "")
        .file("boot/grub2/grubenv", "# GRUB Environment Block\nsaved_entry=m-6.9.1\nkernelopts=root=/dev/a ro\n####")
        .file("boot/loader/entries/m-6.10.2.conf", "title b\nversion 6.10.2\nlinux /v\noptions root=/dev/a b\n")
        .file(
            "boot/loader/entries/m-6.9.1.conf",
            "title a\nversion 6.9.1\nlinux /v\noptions $kernelopts 'pci=x;y' $tuned_params\n",
        )
        .file("boot/loader/entries/m-0-rescue.conf", "title r\nversion 0-rescue\nlinux /v\noptions r\n")
        .file(
            "etc/default/grub",
            "GRUB_CMDLINE_LINUX=\"rhgb quiet\"\nGRUB_ENABLE_BLSCFG=true\nGRUB_CMDLINE_LINUX_DEFAULT=\"iommu=pt\"\n",
        )
}

#[test]
fn fedora_boots_entries_and_ignores_grubs_settings() {
    let tree = fedora().file("etc/kernel/cmdline", "root=/dev/a ro iommu=soft\n");
    let (tree, boot) = read(tree, Some("BOOT_IMAGE=(hd0)/v root=/dev/a ro"));
    assert_eq!(loader(&boot), "grub-bls");
    assert_eq!(words(&boot), ["root=/dev/a", "ro", "pci=x;y"]);
    assert_eq!(boot.not_running.value().unwrap(), &["pci=x;y"]);
    let [shadow] = boot.shadowed.as_slice() else { panic!("{:?}", boot.shadowed) };
    assert_eq!((shadow.line, shadow.by.as_str()), (3, "boot/loader/entries/m-6.9.1.conf"));
    assert_eq!(shadow.lost, ["iommu=pt"]);
    let refusal = refusal(&tree, &boot, &["iommu=pt", "pci=a;b"], &["iommu=soft"]);
    assert_eq!(
        refusal.manual[0],
        r"grubby --update-kernel=ALL --remove-args=iommu=soft '--args=iommu=pt '\''pci=a;b'\'''"
    );
    assert!(
        refusal.manual[1].contains("/etc/kernel/cmdline")
            && refusal.manual[1].ends_with("ro iommu=pt pci=a;b")
    );
}

#[test]
fn the_newest_entry_counts_where_none_is_saved() {
    let (_, boot) = read(fedora().without("boot/grub2/grubenv"), None);
    assert_eq!(words(&boot), ["root=/dev/a", "b"]);
    let (_, boot) = read(fedora().file("boot/grub2/grubenv", "saved_entry=m-6.9.1\n"), None);
    assert_eq!(boot.configured.reason().unwrap().path, "boot/loader/entries/m-6.9.1.conf");
}

#[test]
fn fedora_with_entries_switched_off_is_plain_grub() {
    let tree = fedora().file(
        "etc/default/grub",
        "GRUB_CMDLINE_LINUX=\"rhgb lockdown=integrity\"\nGRUB_ENABLE_BLSCFG=\"false\"\n",
    );
    let (tree, boot) = read(tree, Some("BOOT_IMAGE=/v"));
    assert_eq!(loader(&boot), "grub");
    assert_eq!(words(&boot), ["rhgb", "lockdown=integrity"]);
    let root = Root::target(tree.path()).unwrap();
    let edit = boot::edit(&root, &boot, &["iommu=pt".to_owned()], &[]).unwrap();
    let text = String::from_utf8(edit.files[0].after.clone()).unwrap();
    assert!(text.ends_with("\"false\"\nGRUB_CMDLINE_LINUX_DEFAULT=\"iommu=pt\"\n"), "{text}");
    assert_eq!(edit.commands[0].argv, ["grub2-mkconfig", "-o", "/boot/grub2/grub.cfg"]);
}

#[test]
fn tuned_words_reach_the_line_or_are_shadowed() {
    let tuned = |tree: Tree| {
        tree.file("etc/tuned/bootcmdline", "# x\nTUNED_BOOT_CMDLINE=\"iommu=pt isolcpus=1\"\n")
            .file("etc/grub.d/00_tuned", "")
    };
    let (_, boot) = read(tuned(fedora()), None);
    assert_eq!(words(&boot), ["root=/dev/a", "ro", "pci=x;y", "iommu=pt", "isolcpus=1"]);
    let tree = tuned(os(grub(), "ubuntu")).file("etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n");
    let (_, boot) = read(tree, None);
    let shadow = boot.shadowed.iter().find(|s| s.file == "etc/tuned/bootcmdline").unwrap();
    assert_eq!((shadow.line, shadow.lost.join(" ").as_str()), (2, "iommu=pt"));
}

fn pop() -> Tree {
    os(grub(), "pop")
        .file("etc/kernelstub/configuration", r#"{"user": {"kernel_options": ["quiet"]}}"#)
        .file("boot/efi/loader/entries/Pop_OS-current.conf", "linux /v\noptions root=x quiet\n")
}

#[test]
fn grubs_settings_are_shadowed_where_kernelstub_boots() {
    let (tree, boot) = read(pop(), Some(r"initrd=\EFI\Pop_OS\initrd.img root=UUID=x ro quiet"));
    assert_eq!(loader(&boot), "kernelstub");
    assert_eq!(boot.others, ["grub-debian"]);
    assert_eq!(words(&boot), ["quiet"]);
    let shadow = boot.shadowed.iter().find(|s| s.lost == ["iommu=pt"]).unwrap();
    assert_eq!(
        (shadow.file.as_str(), shadow.line, shadow.by.as_str()),
        ("etc/default/grub", 2, "kernelstub")
    );
    let root = Root::target(tree.path()).unwrap();
    let edit = boot::edit(&root, &boot, &["iommu=pt".to_owned()], &[]).unwrap();
    assert_eq!(edit.files[0].path, "etc/kernelstub/configuration");
}

#[test]
fn the_running_line_or_the_loaders_variable_says_which_of_several_boots() {
    let (_, boot) = read(
        pop().file("etc/kernelstub/configuration", r#"{"user": {"kernel_options": ["amd_iommu=off"]}}"#),
        Some("BOOT_IMAGE=/v root=x"),
    );
    assert_eq!(loader(&boot), "grub-debian");
    let shadow = boot.shadowed.iter().find(|s| s.file == "etc/kernelstub/configuration").unwrap();
    assert_eq!((shadow.by.as_str(), shadow.lost.join(" ").as_str()), ("grub-debian", "amd_iommu=off"));
    assert_eq!(loader(&read(pop(), None).1), "kernelstub");
    let both =
        || os(grub(), "arch").file("boot/loader/entries/arch.conf", "linux /v\noptions root=x iommu=pt\n");
    assert_eq!(loader(&read(both(), Some("BOOT_IMAGE=/v root=x")).1), "grub");
    assert_eq!(loader(&read(both(), Some("root=x rw")).1), "systemd-boot");
    let grub_says = both().file(LOADER_INFO, utf16("GRUB 2.12"));
    assert_eq!(loader(&read(grub_says, Some("root=x rw")).1), "grub");
    let other_says = os(grub(), "arch").file(LOADER_INFO, utf16("systemd-boot 256"));
    let (_, boot) = read(other_says, Some("root=x rw"));
    assert_eq!((loader(&boot), boot.others.len()), ("systemd-boot", 1));
    let truncated = both().file(LOADER_INFO, [6, 0, 0]);
    assert_eq!(loader(&read(truncated, Some("BOOT_IMAGE=/v")).1), "grub");
}

#[test]
fn a_mounted_target_is_judged_by_its_files_alone() {
    let tree = pop().file("proc/self/stat", "1 (x)");
    assert_eq!(loader(&read(tree, Some("BOOT_IMAGE=/casper/vmlinuz")).1), "kernelstub");
}

#[test]
fn systemd_boot_takes_options_as_they_stand() {
    let tree = os(Tree::new(), "arch")
        .file("boot/loader/loader.conf", "timeout 3\ndefault  arch-*\n")
        .file(
            "boot/loader/entries/arch-lts.conf",
            "linux /v\ninitrd /i\noptions root=x 'a;b'\noptions  iommu=pt\n",
        )
        .file("boot/loader/entries/other.conf", "linux /v\nversion 9\noptions z\n");
    let (tree, boot) = read(tree, Some("initrd=\\i root=x"));
    assert_eq!(loader(&boot), "systemd-boot");
    assert_eq!(words(&boot), ["root=x", "'a;b'", "iommu=pt"]);
    let by_hand = refusal(&tree, &boot, &["pci=c;d"], &["iommu=pt"]);
    assert_eq!(
        by_hand.manual,
        ["make this the options line of /boot/loader/entries/arch-lts.conf: options root=x 'a;b' pci=c;d"]
    );
    let tree = tree.file("etc/kernel/cmdline", "root=x iommu=pt\n");
    assert_eq!(
        refusal(&tree, &boot, &["a"], &["iommu=pt"]).manual,
        [
            "make this the one line of /etc/kernel/cmdline: root=x a",
            "kernel-install add \"$(uname -r)\" \"/lib/modules/$(uname -r)/vmlinuz\""
        ]
    );
    let tree = tree.file("usr/bin/sdbootutil", "");
    assert_eq!(refusal(&tree, &boot, &["a"], &[]).manual[1], "sdbootutil update-all-entries");
}

#[test]
fn a_unified_image_hides_its_line() {
    let tree = os(Tree::new(), "arch").file("efi/EFI/Linux/arch.efi", "MZ").file("usr/bin/mkinitcpio", "");
    let (tree, boot) = read(tree, Some("root=x"));
    assert_eq!(loader(&boot), "systemd-boot");
    assert!(boot.configured.is_unknown() && boot.not_running.is_unknown());
    assert_eq!(refusal(&tree, &boot, &["a"], &[]).manual[1], "mkinitcpio -P");
}

#[test]
fn proxmox_uses_the_first_line_of_its_file_or_grub() {
    let proxmox = || {
        os(grub(), "debian")
            .file("etc/kernel/proxmox-boot-uuids", "ABCD-EF01\n")
            .file("etc/kernel/cmdline", "root=ZFS=rpool boot=zfs iommu=pt\nnot this\n")
    };
    let (tree, boot) = read(proxmox(), Some("initrd=\\EFI\\proxmox\\i root=ZFS=rpool boot=zfs"));
    assert_eq!(loader(&boot), "proxmox");
    assert_eq!(words(&boot), ["root=ZFS=rpool", "boot=zfs", "iommu=pt"]);
    assert_eq!(
        refusal(&tree, &boot, &["x"], &["iommu=pt"]).manual,
        [
            "make this the one line of /etc/kernel/cmdline: root=ZFS=rpool boot=zfs x",
            "proxmox-boot-tool refresh"
        ]
    );
    let (tree, boot) = read(proxmox(), Some("BOOT_IMAGE=/v root=ZFS=rpool"));
    assert_eq!(loader(&boot), "grub-debian");
    let root = Root::target(tree.path()).unwrap();
    let edit = boot::edit(&root, &boot, &["x".to_owned()], &[]).unwrap();
    assert_eq!(edit.commands[0].argv, ["proxmox-boot-tool", "refresh"]);
}

#[test]
fn ostree_and_nixos_own_their_lines() {
    let tree = os(Tree::new(), "fedora")
        .file("run/ostree-booted", "")
        .file("boot/grub2/grub.cfg", "")
        .file("boot/loader/entries/ostree-1.conf", "linux /v\nversion 1\noptions root=a ostree=/x\n")
        .file(
            "boot/loader/entries/ostree-2.conf",
            "linux /v\nversion 2\noptions root=a iommu=pt ostree=/y\n",
        );
    let (tree, boot) = read(tree, Some("BOOT_IMAGE=/v root=a ostree=/x"));
    assert_eq!(loader(&boot), "ostree");
    assert_eq!(words(&boot), ["root=a", "iommu=pt", "ostree=/y"]);
    assert_eq!(
        refusal(&tree, &boot, &["pci=a;b"], &["iommu=pt"]).manual,
        ["rpm-ostree kargs --delete-if-present=iommu=pt '--append-if-missing=pci=a;b'"]
    );

    let tree = os(grub(), "nixos")
        .file("etc/NIXOS", "")
        .file("boot/loader/entries/nixos-generation-9.conf", "linux /v\noptions init=/a old\n")
        .file("boot/loader/entries/nixos-generation-10.conf", "linux /v\noptions init=/b iommu=pt\n");
    let (tree, boot) = read(tree, Some("init=/b"));
    assert_eq!(loader(&boot), "nixos");
    assert_eq!(words(&boot), ["init=/b", "iommu=pt"]);
    assert_eq!(
        refusal(&tree, &boot, &["a=\"b c\""], &["iommu=pt"]).manual,
        [
            r#"add to the NixOS configuration: boot.kernelParams = [ "a=\"b c\"" ];"#,
            r#"take out of boot.kernelParams: "iommu=pt""#,
            "nixos-rebuild boot"
        ]
    );
}

#[test]
fn no_loader_is_absent_where_it_could_have_been_seen() {
    let (tree, boot) = read(os(Tree::new(), "debian"), Some("iommu=pt"));
    assert!(boot.loader.is_absent() && boot.configured.is_absent());
    assert!(!refusal(&tree, &boot, &["a"], &["b"]).manual.is_empty());
    let (_, boot) = read(Tree::new().dir("sys"), Some("iommu=pt"));
    assert_eq!(boot.loader.reason().unwrap().why, Why::NotCaptured);
    assert!(boot.configured.is_unknown());
}

#[test]
fn hostile_files_are_unknown_with_their_path() {
    let tree = os(Tree::new(), "debian").file("boot/grub/grub.cfg", "").link("etc/default/grub", "grub");
    let (_, boot) = read(tree, Some("BOOT_IMAGE=/v"));
    assert_eq!(boot.configured.reason().unwrap().path, "etc/default/grub");
    let tree = fedora().file("boot/loader/entries/m-6.9.1.conf", b"options \xff\n");
    let (_, boot) = read(tree, None);
    assert_eq!(boot.configured.reason().unwrap().why, Why::Malformed);
    let tree = fedora().file("boot/loader/entries/m-6.9.1.conf", vec![b'x'; 10 << 20]);
    assert_eq!(read(tree, None).1.configured.reason().unwrap().why, Why::TooLarge);
    let tree = pop().file("etc/kernelstub/configuration", "{");
    assert_eq!(read(tree, None).1.configured.reason().unwrap().line, Some(1));
}

#[test]
fn the_initramfs_program_of_the_distribution() {
    for (program, line) in [
        ("usr/sbin/update-initramfs", "update-initramfs -u -k all"),
        ("usr/bin/dracut", "dracut -f --regenerate-all"),
        ("sbin/mkinitcpio", "mkinitcpio -P"),
    ] {
        let tree = Tree::new().file(program, "");
        let command = boot::initramfs(&Root::target(tree.path()).unwrap()).unwrap();
        assert_eq!(command.argv.join(" "), line);
    }
    assert_eq!(boot::initramfs(&Root::target(Tree::new().path()).unwrap()), None);
}
