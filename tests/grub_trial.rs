//! A one-shot trial entry for GRUB: what is copied, what is left out, and when nothing is armed.

mod common;

use common::Tree;
use common::grub::{BOOT_UUID, Menu, OLDER, RELEASE, UUID};
use peerfix::boot::grub_trial::{NoTrial, Trial, Wanted, describe, without_block};
use peerfix::format::grub_cfg::{Command, Statement, parse};
use peerfix::format::grub_script::kernel_word;
use peerfix::format::grubenv::Grubenv;
use peerfix::root::Root;

fn wanted(add: &[&str]) -> Wanted {
    let add = add.iter().map(|w| (*w).to_owned()).collect();
    Wanted { id: "0007".to_owned(), add, ..Wanted::default() }
}

fn try_words(tree: &Tree, add: &[&str]) -> Result<Trial, NoTrial> {
    describe(&Root::open(tree.path()).unwrap(), &wanted(add))
}

#[track_caller]
fn armed(tree: &Tree, add: &[&str]) -> Trial {
    try_words(tree, add).unwrap_or_else(|refused| panic!("{refused}"))
}

#[track_caller]
fn refused(tree: &Tree, place: &str, reason: &str) -> NoTrial {
    let refused = try_words(tree, &["iommu=pt"]).expect_err(reason);
    let text = refused.to_string();
    assert!(refused.place.starts_with(place) && refused.reason.contains(reason), "{text}");
    assert_eq!(refused.exit_code(), 3, "{text}");
    refused
}

fn text(trial: &Trial) -> String {
    String::from_utf8(trial.custom.after.clone()).unwrap()
}

/// The commands of the trial's entry.
fn commands(trial: &Trial) -> Vec<Command> {
    let statements = parse(&trial.custom.after).unwrap();
    let entries = statements.iter().flat_map(Statement::commands);
    let entry = entries.into_iter().find(|c| c.words.iter().any(|w| w.is("peerfix-trial-0007"))).unwrap();
    let block = entry.block.clone().unwrap();
    block.statements.iter().flat_map(Statement::commands).cloned().collect()
}

/// What the kernel gets, without its own path.
fn kernel_line(trial: &Trial) -> Vec<String> {
    let linux = commands(trial).into_iter().find(|c| c.words[0].is("linux")).unwrap();
    linux.words[2..].iter().filter_map(|w| w.text().map(|text| kernel_word(&text))).collect()
}

#[test]
fn the_entry_of_debian_is_copied_with_a_way_back() {
    let trial = armed(&Menu::debian().host(), &["iommu=pt"]);
    assert_eq!(
        text(&trial),
        format!(
            "# peerfix trial, begin: 0007\n\
             menuentry 'peerfix trial 0007' --id peerfix-trial-0007 --class debian --class gnu-linux --class gnu \
             --class os {{\n\
             \t\n\
             \tload_video\n\
             \tinsmod gzio\n\
             \tif [ x$grub_platform = xxen ]; then insmod xzio; insmod lzopio; fi\n\
             \tinsmod part_gpt\n\
             \tinsmod ext2\n\
             \tset root='hd0,gpt2'\n\
             \tif [ x$feature_platform_search_hint = xy ]; then\n\
             \t  search --no-floppy --fs-uuid --set=root --hint-bios=hd0,gpt2 --hint-efi=hd0,gpt2 \
             --hint-baremetal=ahci0,gpt2  {UUID}\n\
             \telse\n\
             \t  search --no-floppy --fs-uuid --set=root {UUID}\n\
             \tfi\n\
             \techo\t'Loading Linux {RELEASE} ...'\n\
             \tlinux\t/boot/vmlinuz-{RELEASE} root=UUID={UUID} ro quiet iommu=pt peerfix.trial=0007 panic=30 \n\
             \techo\t'Loading initial ramdisk ...'\n\
             \tinitrd\t/boot/initrd.img-{RELEASE}\n\
             \tif [ $? != 0 ]; then set peerfix_missing=1; fi\n\
             \tif [ -z \"$peerfix_missing\" ]; then boot; fi\n\
             \tsleep 5\n\
             \treboot\n\
             }}\n\
             # peerfix trial, end: 0007\n"
        )
    );
    assert_eq!(trial.entry, "peerfix-trial-0007");
    assert_eq!(
        (trial.custom.path.as_str(), trial.grubenv.as_str()),
        ("boot/grub/custom.cfg", "boot/grub/grubenv")
    );
    assert_eq!(trial.custom.before, None);
    assert_eq!(trial.own_words, ["peerfix.trial=0007", "panic=30"]);
    assert_eq!(
        trial.words.join(" "),
        format!("root=UUID={UUID} ro quiet iommu=pt peerfix.trial=0007 panic=30")
    );
    assert_eq!((trial.filesystem.kind.as_str(), trial.filesystem.mount.as_str()), ("ext4", "/"));
    assert!(trial.copied_from.starts_with("boot/grub/grub.cfg:"));
}

#[test]
fn ubuntu_keeps_its_hand_over_and_does_not_remember_the_trial() {
    let trial = armed(&Menu::ubuntu().host(), &["iommu=pt"]);
    let text = text(&trial);
    assert!(text.contains("ro quiet splash $vt_handoff iommu=pt peerfix.trial=0007 panic=30"), "{text}");
    assert!(text.contains("\tgfxmode $linux_gfx_mode\n"));
    let names: Vec<Vec<u8>> = commands(&trial).iter().map(|c| c.words[0].text().unwrap()).collect();
    assert!(!names.iter().any(|n| n == b"recordfail" || n == b"savedefault"));
    assert!(!trial.words.iter().any(|w| w.contains("handoff")));
}

#[test]
fn a_boot_of_its_own_keeps_its_paths_and_every_initrd() {
    let menu = Menu { boot: "", uuid: BOOT_UUID, microcode: "/intel-ucode.img ", ..Menu::debian() };
    let mounts = "/dev/mapper/vg-root / ext4 rw 0 0\n/dev/sda1 /boot ext4 rw 0 0\n";
    let tree = menu.host().file("boot/intel-ucode.img", "0707").file("proc/mounts", mounts);
    let trial = armed(&tree, &["iommu=pt"]);
    let text = text(&trial);
    assert!(
        text.contains(&format!("\tinitrd\t/intel-ucode.img /initrd.img-{RELEASE}\n\tif [ $? != 0 ]")),
        "{text}"
    );
    assert!(text.contains(&format!("\tlinux\t/vmlinuz-{RELEASE} ")));
    assert_eq!(trial.filesystem.source, "/dev/sda1");
    let refused =
        refused(&tree.without("boot/intel-ucode.img"), "boot/grub/grub.cfg:", "initrd /intel-ucode.img");
    assert!(!refused.steps.is_empty());
}

#[test]
fn the_path_of_a_subvolume_is_kept() {
    let words = "root=UUID=0f6a2c44-6b0d-4f6e-8e15-9b1d3f0a7c21 ro rootflags=subvol=@ quiet";
    let menu = Menu { boot: "/@/boot", words, ..Menu::debian() };
    let mounts = "/dev/nvme0n1p2 / btrfs rw,subvol=/@ 0 0\n/dev/nvme0n1p3 /boot/grub ext4 rw 0 0\n";
    let trial = armed(&menu.host().file("proc/mounts", mounts), &["iommu=pt"]);
    assert!(text(&trial).contains(&format!("\tlinux\t/@/boot/vmlinuz-{RELEASE} ")));
    assert_eq!(trial.filesystem.mount, "/boot/grub");
}

/// UEFI: a stub on the EFI system partition leads to the configuration.
fn efi(menu: &Menu) -> Tree {
    let stub = format!(
        "search.fs_uuid {} root hd0,gpt2 \nset prefix=($root)'/boot/grub'\nconfigfile $prefix/grub.cfg\n",
        menu.uuid
    );
    Menu { efi: true, ..menu.clone() }
        .host()
        .dir("sys/firmware/efi/efivars")
        .file("boot/efi/EFI/debian/grub.cfg", stub)
        .dir("boot/efi/EFI/BOOT")
        .link(&format!("dev/disk/by-uuid/{}", menu.uuid), "../../nvme0n1p2")
}

#[test]
fn a_stub_on_the_efi_system_partition_is_followed() {
    // The entry that may be there, and whose place only GRUB knows, is in nobody's way.
    let trial = armed(&efi(&Menu::debian()), &["iommu=pt"]);
    assert_eq!(trial.custom.path, "boot/grub/custom.cfg");
    armed(&efi(&Menu::ubuntu()), &["iommu=pt"]);
}

#[test]
fn a_stub_that_leads_elsewhere_is_named() {
    let stub = "boot/efi/EFI/debian/grub.cfg";
    let host = || efi(&Menu::debian());
    refused(&host().file(stub, "insmod ext2\n"), stub, "leads to no configuration");
    let other = "search.fs_uuid 11-22 root\nset prefix=($root)/boot/grub\nconfigfile $prefix/grub.cfg\n";
    refused(&host().file(stub, other), stub, "11-22, which is not here");
    let link = format!("dev/disk/by-uuid/{UUID}");
    let moved = host().without(&link).link(&link, "../../sda2");
    refused(&moved, stub, "leads to sda2, while /boot/grub/grub.cfg is on nvme0n1p2");
    let label = "search --label --set=root ROOT\nconfigfile ($root)/boot/grub/grub.cfg\n";
    refused(&host().file(stub, label), "boot/efi/EFI/debian/grub.cfg:2", "only GRUB knows");
    let prefix = format!("search.fs_uuid {UUID} root\nconfigfile ($root)/boot/grub/grub.cfg\n");
    refused(&host().file(stub, prefix), stub, "sets prefix");
    let second = host().file("boot/efi/EFI/other/grub.cfg", "menuentry a {\n  b\n}\n");
    refused(&second, "boot/efi/EFI/debian/grub.cfg", "two configurations may be loaded");
    let either = format!(
        "search.fs_uuid {UUID} root\nset prefix=($root)/boot/grub\nif lsefi; then\n  configfile \
         $prefix/grub.cfg\nelse\n  configfile $prefix/custom.cfg\nfi\n"
    );
    let both = host().file(stub, either).file("boot/grub/custom.cfg", "");
    refused(&both, stub, "which one only GRUB knows");
    // A host that a BIOS started reads no stub.
    armed(&Menu::debian().host().file(stub, other), &["iommu=pt"]);
}

fn block(variables: &[(&str, &str)]) -> Vec<u8> {
    let block = variables.iter().fold(Grubenv::empty(), |block, (k, v)| block.set(k, v).unwrap());
    block.bytes().to_vec()
}

#[test]
fn a_saved_default_in_a_submenu_is_found_and_comes_back() {
    let saved = format!("gnulinux-advanced-{UUID}>gnulinux-{RELEASE}-advanced-{UUID}");
    let menu = Menu { default: "${saved_entry}", ..Menu::debian() };
    let tree = menu.host().file("boot/grub/grubenv", block(&[("saved_entry", &saved)]));
    let trial = armed(&tree, &["iommu=pt"]);
    let text = text(&trial);
    // The copy stands outside of the submenu, whose indentation it keeps.
    assert!(text.contains("\n\t\tinsmod gzio\n") && text.starts_with("# peerfix trial, begin"), "{text}");
    for default in ["1>0", "Advanced options for Debian GNU/Linux>0", "1"] {
        armed(&Menu { default, ..Menu::debian() }.host(), &["iommu=pt"]);
    }
    // A value that nothing is named by falls back to the first entry.
    for default in ["gone", "9", ""] {
        armed(&Menu { default, ..Menu::debian() }.host(), &["iommu=pt"]);
    }
}

#[test]
fn another_kernel_or_other_words_than_the_running_ones_ask_for_a_reboot_first() {
    let first = "reboot into the default first";
    let older = Menu { default: "1>2", ..Menu::debian() };
    let refusal = refused(&older.host(), "boot/grub/grub.cfg:", OLDER);
    assert_eq!(refusal.steps, [first]);
    let recovery = Menu { default: "1>1", ..Menu::debian() };
    let refusal =
        refused(&recovery.host(), "boot/grub/grub.cfg:", "only in the entry: single; only running: quiet");
    assert_eq!(refusal.steps, [first]);
    let more = format!("{} iommu=off\n", Menu::debian().running());
    refused(
        &Menu::debian().host().file("proc/cmdline", more),
        "boot/grub/grub.cfg:",
        "only running: iommu=off",
    );
    let swapped = format!("BOOT_IMAGE=/boot/vmlinuz-{RELEASE} root=UUID={UUID} quiet ro\n");
    refused(&Menu::debian().host().file("proc/cmdline", swapped), "boot/grub/grub.cfg:", "another order");
    let other_loader = format!("root=UUID={UUID} ro quiet\n");
    refused(&Menu::debian().host().file("proc/cmdline", other_loader), "proc/cmdline", "no BOOT_IMAGE");
    refused(&Menu::debian().host().without("proc/cmdline"), "proc/cmdline", "is not there");
}

#[test]
fn a_boot_that_is_a_trial_itself_is_told_apart() {
    let menu = Menu::debian();
    let line = format!("{} iommu=pt peerfix.trial=0006 panic=30\n", menu.running());
    let tree = menu.host().file("proc/cmdline", line);
    refused(&tree, "proc/cmdline", "this boot is itself a trial (peerfix.trial=0006)");
    let next = Wanted { line: Some(menu.running()), ..wanted(&["intel_iommu=off"]) };
    let trial = describe(&Root::open(tree.path()).unwrap(), &next).unwrap();
    assert_eq!(
        trial.words.join(" "),
        format!("root=UUID={UUID} ro quiet intel_iommu=off peerfix.trial=0007 panic=30")
    );
}

#[test]
fn words_survive_the_quotes_of_grub() {
    let hard = [
        "pci=disable_acs_redir=0000:00:01.0;0000:00:02.0",
        "module.name=a$b",
        "\"dyndbg=file drivers/pci/* +p\"",
        "nvidia.NVreg_RegistryDwords=\"ForceP2P=0x11;GrdmaPciTopoCheckOverride=1\"",
        "x={a,b}|c&d<e>f#g",
        "y=*?[z]",
    ];
    let tree = Menu::debian().host();
    let trial = armed(&tree, &hard);
    let line = kernel_line(&trial);
    let unquoted = |w: &str| w.replace('"', "");
    for word in hard {
        assert!(line.iter().any(|w| unquoted(w) == unquoted(word)), "{word}: {line:?}");
    }
    assert_eq!(line, trial.words);
    for word in ["a'b", "a\nb", "a\"b", "a\\b"] {
        let refused = try_words(&tree, &[word]).unwrap_err();
        assert!(refused.reason.contains("quote") || refused.reason.contains("unchanged"), "{refused}");
    }
}

#[test]
fn words_are_taken_out_where_they_stand() {
    let words = "root=UUID=0f6a2c44-6b0d-4f6e-8e15-9b1d3f0a7c21 ro iommu=pt quiet intel-iommu=on";
    let tree = Menu { words, ..Menu::debian() }.host();
    let remove = ["iommu=pt", "intel_iommu=on"].map(str::to_owned).to_vec();
    let trial = describe(&Root::open(tree.path()).unwrap(), &Wanted { remove, ..wanted(&[]) }).unwrap();
    assert_eq!(trial.words.join(" "), format!("root=UUID={UUID} ro quiet peerfix.trial=0007 panic=30"));
    assert_eq!(kernel_line(&trial), trial.words);
    // Nothing to take out and nothing to add is no trial.
    let gone = Wanted { remove: vec!["mem=4G".to_owned()], ..wanted(&["quiet"]) };
    let refused = describe(&Root::open(tree.path()).unwrap(), &gone).unwrap_err();
    assert!(refused.reason.contains("nothing to try"), "{refused}");
}

#[test]
fn what_the_host_has_anyway_is_not_the_trials_own() {
    let words = "root=UUID=0f6a2c44-6b0d-4f6e-8e15-9b1d3f0a7c21 ro panic=30";
    let trial = armed(&Menu { words, ..Menu::debian() }.host(), &["iommu=pt"]);
    assert_eq!(trial.own_words, ["peerfix.trial=0007"]);
    assert_eq!(trial.words.iter().filter(|w| *w == "panic=30").count(), 1);
}

#[test]
fn an_emergency_shell_of_dracut_does_not_wait() {
    let tree = Menu::debian().host().file("usr/bin/dracut", "");
    let trial = armed(&tree, &["iommu=pt"]);
    assert_eq!(trial.own_words, ["peerfix.trial=0007", "panic=30", "rd.shell=0", "rd.emergency=reboot"]);
}

#[test]
fn words_for_init_stay_behind_the_kernels() {
    let words = "root=UUID=0f6a2c44-6b0d-4f6e-8e15-9b1d3f0a7c21 ro -- systemd.unit=rescue.target";
    let trial = armed(&Menu { words, ..Menu::debian() }.host(), &["iommu=pt"]);
    assert!(text(&trial).contains("ro iommu=pt peerfix.trial=0007 panic=30 -- systemd.unit=rescue.target"));
}

#[test]
fn an_existing_custom_cfg_keeps_every_byte() {
    for own in ["set x=1\n", "menuentry 'mine' {\n  chainloader +1\n}", ""] {
        let trial = armed(&Menu::debian().host().file("boot/grub/custom.cfg", own), &["iommu=pt"]);
        assert!(text(&trial).starts_with(own));
        assert_eq!(without_block(&trial.custom.after, "0007").as_deref(), Some(own.as_bytes()));
    }
}

#[test]
fn what_custom_cfg_sets_is_followed() {
    let custom = "boot/grub/custom.cfg";
    let host = || Menu::debian().host();
    for (own, place, reason) in [
        ("set timeout=-1\n", "boot/grub/grub.cfg", "timeout=-1"),
        (
            "set default=mine\nmenuentry mine {\n  fwsetup\n}\n",
            "boot/grub/custom.cfg:2",
            "does not start one kernel",
        ),
        ("if cmostest 1; then\n  set default=1\nfi\n", "boot/grub/grub.cfg", "only GRUB knows"),
        ("if [ x ]; then\n", custom, "the text ends here"),
        ("configfile /elsewhere.cfg\n", "boot/grub/custom.cfg:1", "not on this host"),
        ("set superusers=\"root\"\n", "boot/grub/grub.cfg", "superusers"),
        ("set check_signatures=enforce\n", "boot/grub/grub.cfg", "check_signatures"),
        ("# peerfix trial, begin: 0003\n", custom, "the trial of change 0003 is armed"),
    ] {
        refused(&host().file(custom, own), place, reason);
    }
    // The menu's own default comes before custom.cfg is read.
    let first = "set default=\"${next_entry}\"\n";
    refused(&host().file(custom, first), "boot/grub/grub.cfg", "in place of the trial");
}

#[test]
fn an_entry_that_asks_for_a_password_is_not_copied() {
    let extra =
        "### BEGIN /etc/grub.d/01_users ###\nset superusers=\"root\"\npassword_pbkdf2 root grub.pbkdf2.x\n";
    let locked = Menu { extra, ..Menu::debian() };
    let refusal = refused(&locked.host(), "boot/grub/grub.cfg", "superusers");
    assert!(refusal.steps[0].contains("--unrestricted"));
    let users = Menu { extra, options: "--users alice ", ..Menu::debian() };
    refused(&users.host(), "boot/grub/grub.cfg", "superusers");
    let open = Menu { extra, options: "--unrestricted ", ..Menu::debian() };
    assert!(text(&armed(&open.host(), &["iommu=pt"])).contains("--class os --unrestricted {"));
    // Without superusers nobody is asked.
    let unused = Menu { options: "--users 'alice,bob' ", ..Menu::debian() };
    assert!(text(&armed(&unused.host(), &["iommu=pt"])).contains("--users alice,bob"));
    let unknown = Menu { options: "--users $grub_cpu ", ..Menu::debian() };
    refused(&unknown.host(), "boot/grub/grub.cfg", "only GRUB knows");
}

#[test]
fn a_menu_that_waits_for_a_key_is_refused() {
    let grub = Menu { timeout: "-1", ..Menu::debian() };
    let refusal = refused(&grub.host(), "boot/grub/grub.cfg", "timeout=-1, GRUB_TIMEOUT");
    assert!(refusal.steps[0].contains("GRUB_TIMEOUT"));
    let after = Menu { recordfail_timeout: "-1", ..Menu::ubuntu() };
    refused(&after.host(), "boot/grub/grub.cfg", "GRUB_RECORDFAIL_TIMEOUT");
    let none = Menu::debian().text().replace("set timeout=5", "set other=5");
    refused(&Menu::debian().host().file("boot/grub/grub.cfg", none), "boot/grub/grub.cfg", "sets no timeout");
}

#[test]
fn a_configuration_that_does_not_forget_is_refused() {
    let stock = Menu::debian().text();
    for (gone, reason) in [
        ("   save_env next_entry\n", "does not read and clear next_entry"),
        ("   set next_entry=\n", "does not read and clear next_entry"),
        ("  load_env\n", "does not read and clear next_entry"),
        ("  source ${config_directory}/custom.cfg\n", "does not read custom.cfg"),
    ] {
        let text = stock.replacen(gone, "  true\n", 1);
        assert_ne!(text, stock);
        refused(&Menu::debian().host().file("boot/grub/grub.cfg", text), "boot/grub/grub.cfg", reason);
    }
    let sometimes =
        stock.replace("   save_env next_entry\n", "   if cmostest 1; then save_env next_entry; fi\n");
    refused(
        &Menu::debian().host().file("boot/grub/grub.cfg", sometimes),
        "boot/grub/grub.cfg",
        "in every case",
    );
    // GRUB writes nothing for a variable that is not set.
    let unset = stock.replace("   set next_entry=\n", "   unset next_entry\n");
    refused(&Menu::debian().host().file("boot/grub/grub.cfg", unset), "boot/grub/grub.cfg", "in every case");
    let elsewhere = stock.replace("load_env\n", "load_env -f (hd1)/grubenv\n");
    refused(
        &Menu::debian().host().file("boot/grub/grub.cfg", elsewhere),
        "boot/grub/grub.cfg:",
        "another environment",
    );
    let same = stock.replace("load_env\n", "load_env --file=$prefix/grubenv\n");
    armed(&Menu::debian().host().file("boot/grub/grub.cfg", same), &["iommu=pt"]);
}

#[test]
fn the_way_back_is_the_default_of_now() {
    // What an older grub-reboot left: GRUB would go to another entry after the trial.
    let menu = Menu { default: "${saved_entry}", ..Menu::debian() };
    let other = block(&[("saved_entry", "0"), ("prev_saved_entry", "1>2")]);
    let tree = menu.host().file("boot/grub/grubenv", other);
    refused(&tree, "boot/grub/grub.cfg", "another entry would be the default");
}

#[test]
fn grubenv_must_be_writable_for_grub() {
    let host = || Menu::debian().host();
    for (mounts, reason) in [
        ("/dev/mapper/vg0-root / ext4 rw 0 0\n", "is on LVM (/dev/mapper/vg0-root)"),
        ("/dev/vg0/root / ext4 rw 0 0\n", "LVM or the like"),
        ("/dev/mapper/crypt / ext4 rw 0 0\n", "an encrypted volume"),
        ("/dev/mapper/else / ext4 rw 0 0\n", "the device mapper"),
        ("/dev/md0 / ext4 rw 0 0\n", "is on MD"),
        ("/dev/md/root / ext4 rw 0 0\n", "LVM or the like"),
        ("rpool/ROOT/debian / zfs rw 0 0\n", "is on zfs"),
        ("/dev/sda2 / btrfs rw,subvol=/@rootfs 0 0\n", "is on btrfs"),
        ("/dev/sda2 / f2fs rw 0 0\n", "is on f2fs"),
        ("overlay / overlay rw 0 0\n", "is on overlay"),
        ("nas:/root / nfs4 rw 0 0\n", "is on nfs4"),
        ("/dev/bcache0 / ext4 rw 0 0\n", "is on bcache"),
        ("/dev/loop3 / ext4 rw 0 0\n", "a loop device"),
        ("/dev/root / ext4 rw 0 0\n", "/dev/root"),
        ("/dev/sda1 / ext4 rw 0 0\n/dev/mapper/vg0-root /boot ext4 rw 0 0\n", "is on LVM"),
    ] {
        let tree = host()
            .file("proc/mounts", mounts)
            .file("sys/class/block/dm-0/dm/name", "vg0-root\n")
            .file("sys/class/block/dm-0/dm/uuid", "LVM-xyz\n")
            .file("sys/class/block/dm-1/dm/name", "crypt\n")
            .file("sys/class/block/dm-1/dm/uuid", "CRYPT-LUKS2-xyz\n");
        let refusal = refused(&tree, "boot/grub/grubenv", reason);
        assert!(refusal.reason.contains("would repeat at every boot"), "{refusal}");
    }
    for mounts in [
        "/dev/sda2 / xfs rw 0 0\n",
        "/dev/mmcblk0p2 / ext4 rw 0 0\n",
        "/dev/mapper/mpatha-part2 / ext4 rw 0 0\n",
        "systemd-1 /boot autofs rw 0 0\n/dev/sda1 /boot vfat rw 0 0\n/dev/md1 / ext4 rw 0 0\n",
        "/dev/md1 /boot ext4 rw 0 0\n/dev/sdb1 /boot ext4 rw 0 0\n",
    ] {
        let tree = host()
            .file("proc/mounts", mounts)
            .file("sys/class/block/dm-0/dm/name", "mpatha-part2\n")
            .file("sys/class/block/dm-0/dm/uuid", "part2-mpath-3600\n");
        armed(&tree, &["iommu=pt"]);
    }
    let numbered = host()
        .file("proc/mounts", "/dev/root / ext4 rw 0 0\n")
        .file("proc/self/mountinfo", "20 1 254:1 / / rw,relatime shared:1 - ext4 /dev/root rw\n")
        .link("sys/dev/block/254:1", "../../devices/pci0000:00/0000:00:04.0/virtio1/block/vda/vda1");
    assert_eq!(armed(&numbered, &["iommu=pt"]).filesystem.source, "/dev/vda1");
    refused(&host().file("proc/mounts", ""), "proc/mounts", "no mount holds");
    refused(&host().without("proc/mounts"), "proc/mounts", "is not there");
}

#[test]
fn the_environment_block_must_be_whole_and_free() {
    let path = "boot/grub/grubenv";
    let host = || Menu::debian().host();
    refused(&host().without(path), path, "is not there");
    refused(&host().file(path, "# GRUB Environment Block\n"), path, "expected 1024 bytes");
    refused(&host().without(path).link(path, "/boot/efi/grubenv"), path, "is a symbolic link");
    let refusal =
        refused(&host().file(path, block(&[("next_entry", "windows")])), path, "already chosen: windows");
    assert!(refusal.steps[0].contains("unset next_entry"));
    armed(&host().file(path, block(&[("next_entry", "")])), &["iommu=pt"]);
    let full = block(&[("other", &"x".repeat(975))]);
    refused(&host().file(path, full), path, "no room");
    // Two lines of one name: GRUB takes the last and clears the first.
    let text = b"# GRUB Environment Block\nnext_entry=\nnext_entry=\n";
    let mut twice = text.to_vec();
    twice.resize(1024, b'#');
    refused(&host().file(path, twice), "boot/grub/grub.cfg", "does not read and clear");
}

#[test]
fn custom_cfg_must_be_free_to_be_added_to() {
    let path = "boot/grub/custom.cfg";
    let host = || Menu::debian().host();
    refused(&host().link(path, "../../etc/grub-custom.cfg"), path, "is a symbolic link");
    refused(&host().dir(path), path, "not a regular file");
    for (script, line) in [
        ("etc/grub.d/42_site", "make_site_menu > /boot/grub/custom.cfg\n"),
        ("etc/kernel/postinst.d/zz-site", "#!/bin/sh\ninstall -m644 /etc/site.cfg /boot/grub/custom.cfg\n"),
    ] {
        let refusal = refused(&host().file(script, line), path, "writes it, and would lose the trial");
        assert!(refusal.reason.contains(script), "{refusal}");
    }
    armed(&host().file("etc/grub.d/42_site", "# see > custom.cfg\n"), &["iommu=pt"]);
}

#[test]
fn files_that_are_missing_refuse_the_trial() {
    let host = || Menu::debian().host();
    refused(
        &host().without(&format!("boot/vmlinuz-{RELEASE}")),
        "boot/grub/grub.cfg:",
        "its kernel /boot/vmlinuz-",
    );
    refused(
        &host().without(&format!("boot/initrd.img-{RELEASE}")),
        "boot/grub/grub.cfg:",
        "its initrd /boot/initrd",
    );
    refused(&host().without("boot/grub/grub.cfg"), "boot/grub/grub.cfg", "is not there");
    let both = host().file("boot/grub2/grub.cfg", "");
    refused(&both, "boot/grub/grub.cfg", "two configurations may be loaded");
    let signed = host().file("boot/grub/grub.cfg.sig", "x");
    refused(&signed, "boot/grub/grub.cfg.sig", "unsigned custom.cfg");
}

#[test]
fn an_entry_that_is_more_than_a_kernel_is_refused() {
    let stock = Menu::debian().text();
    let linux = format!("\tlinux\t/boot/vmlinuz-{RELEASE} root=UUID={UUID} ro quiet \n");
    let initrd = format!("\tinitrd\t/boot/initrd.img-{RELEASE}\n");
    for (old, new, reason) in [
        (
            &linux,
            format!("\tif true; then\n{linux}\tfi\n"),
            "does not start one kernel outside of conditions",
        ),
        (&linux, format!("{linux}{linux}"), "does not start one kernel"),
        (&linux, linux.replace("ro quiet", "ro $grub_cpu"), "only GRUB knows"),
        (&initrd, format!("\tif true; then\n{initrd}\tfi\n"), "`initrd` inside a condition"),
        (&initrd, format!("{initrd}\tset x=1\n\tsave_env x\n"), "writes the environment block (`save_env`)"),
        (&initrd, format!("{initrd}\tboot\n"), "has a `boot`"),
        (&initrd, format!("{initrd}\tif true; then savedefault; fi\n"), "`savedefault` inside a condition"),
        (&initrd, format!("{initrd}\tinitrdfail\n"), "writes the environment block (`initrdfail`)"),
    ] {
        let function = "function initrdfail {\n  save_env x\n}\n### BEGIN /etc/grub.d/10_linux ###\n";
        let text = stock.replacen(old.as_str(), &new, 1);
        assert_ne!(text, stock, "{new}");
        let text = text.replace("### BEGIN /etc/grub.d/10_linux ###\n", function);
        refused(&Menu::debian().host().file("boot/grub/grub.cfg", text), "boot/grub/grub.cfg:", reason);
    }
}

#[test]
fn loader_entries_are_not_supported_yet() {
    let text = "load_env\nset default=0\nset timeout=1\ninsmod blscfg\nblscfg\n";
    let refused =
        try_words(&Menu::debian().host().file("boot/grub/grub.cfg", text), &["iommu=pt"]).unwrap_err();
    assert_eq!(refused.exit_code(), 6, "{refused}");
    assert!(refused.to_string().contains("blscfg"));
}

#[test]
fn a_line_that_the_kernel_would_cut_is_refused() {
    let long: Vec<String> = (0..120).map(|n| format!("module.parameter_{n}=1")).collect();
    let long: Vec<&str> = long.iter().map(String::as_str).collect();
    let refused = try_words(&Menu::debian().host(), &long).unwrap_err();
    assert!(refused.reason.contains("the kernel takes 2048"), "{refused}");
    let id = Wanted { id: "a b".to_owned(), ..Wanted::default() };
    let root = Menu::debian().host();
    assert!(describe(&Root::open(root.path()).unwrap(), &id).unwrap_err().reason.contains("expected an id"));
}

#[test]
fn defaults_that_depend_on_the_version_of_grub_are_refused() {
    for default in ["6.1 kernel", "007", "0x1"] {
        let menu = Menu { default, ..Menu::debian() };
        refused(&menu.host(), "boot/grub/grub.cfg", "differs between versions");
    }
    let efi = Menu { default: "2", efi: true, ..Menu::debian() };
    refused(&efi.host(), "boot/grub/grub.cfg", "only GRUB knows");
    let escaped = "submenu 'a > b' {\n  menuentry c --id d {\n    fwsetup\n  }\n}\n";
    let menu = Menu { default: "a >> b>d", extra: escaped, ..Menu::debian() };
    refused(&menu.host(), "boot/grub/grub.cfg:", "does not start one kernel");
}

#[test]
fn hostile_configurations_come_to_an_end() {
    let host = |text: String| Menu::debian().host().file("boot/grub/grub.cfg", text);
    let stock = Menu::debian().text();
    for text in [
        "function f {\n  f\n}\nf\n".to_owned(),
        "function f {\n  if x; then f; f; fi\n}\nf\n".to_owned(),
        format!("{stock}source ${{config_directory}}/grub.cfg\n"),
        "while true; do\n  set x=$x.\ndone\n".to_owned(),
        format!("{}{}", "if x; then\n".repeat(60), "fi\n".repeat(60)),
        format!("if a\nthen b\n{}fi\n", "elif a\nthen b\n".repeat(200_000)),
        format!("{}menuentry a {{\n  b\n}}\n", "if x; then menuentry a {\n b\n}\nfi\n".repeat(3000)),
        "submenu a {\n".repeat(10_000),
        "\u{0}".repeat(1000),
    ] {
        try_words(&host(text), &["iommu=pt"]).unwrap_err();
    }
}

#[test]
fn grub_itself_takes_what_was_made() {
    let check = |path: &std::path::Path| {
        let run = std::process::Command::new("grub-script-check").arg(path).output();
        run.map(|out| assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr)))
    };
    let own = "menuentry 'mine' {\n  chainloader +1\n}";
    let hosts = [
        Menu::debian().host(),
        Menu::ubuntu().host(),
        Menu { microcode: "/boot/intel-ucode.img ", ..Menu::debian() }
            .host()
            .file("boot/intel-ucode.img", "x"),
        efi(&Menu::ubuntu()),
        Menu { default: "1>0", ..Menu::debian() }.host().file("boot/grub/custom.cfg", own),
    ];
    for tree in hosts {
        let hard = ["pci=disable_acs_redir=0000:00:01.0;0000:00:02.0", "a=$b", "\"c=d e\""];
        let trial = armed(&tree, &hard);
        let custom = tree.path().join(&trial.custom.path);
        std::fs::write(&custom, &trial.custom.after).unwrap();
        for path in [custom, tree.path().join("boot/grub/grub.cfg")] {
            if check(&path).is_err() {
                eprintln!("skipped: grub-script-check is not installed");
                return;
            }
        }
    }
}

#[test]
fn the_program_that_checks_is_the_hosts_own() {
    assert_eq!(armed(&Menu::debian().host(), &["iommu=pt"]).check, None);
    let tree = Menu::debian().host().file("usr/bin/grub-script-check", "");
    let check = armed(&tree, &["iommu=pt"]).check.unwrap();
    assert_eq!(check.argv, ["grub-script-check", "/boot/grub/custom.cfg"]);
}
