//! How encrypted volumes are opened, and what a changed boot does to that.

mod common;

use common::Tree;
use common::hosts;
use common::luks::{SIZE, UUID, but, clevis, header, shares, tpm2, with_json};
use common::run::on_host;
use peerfix::format::clevis::Pin;
use peerfix::format::luks2::{Token, parse};
use peerfix::host::isolation::Isolation;
use peerfix::host::isolation::unlock::{Unlock, Volume};
use peerfix::root::{Root, Why};
use proptest::prelude::*;
use serde_json::{Value, json};

fn read(tree: &Tree) -> Unlock {
    Isolation::read(&Root::open(tree.path()).unwrap(), &[]).unlock
}

fn host(options: &str, tokens: &Value) -> Tree {
    Tree::new().dir("etc").volume(options, &header(tokens))
}

#[track_caller]
fn only(unlock: &Unlock) -> &Volume {
    let volumes = unlock.volumes.value().unwrap();
    assert_eq!(volumes.len(), 1, "{volumes:?}");
    &volumes[0]
}

#[track_caller]
fn trouble(unlock: &Unlock) -> &[String] {
    unlock.trouble.value().unwrap_or_else(|| panic!("{:?}", unlock.trouble))
}

/// Opens by itself whatever the command line.
#[track_caller]
fn free(tree: &Tree) {
    let unlock = read(tree);
    assert!(trouble(&unlock).is_empty(), "{:?}", unlock.trouble);
    assert_eq!(unlock.trial_unlocks.value(), Some(&0));
    assert!(!unlock.needs_consent());
}

/// One thing stands in the way.
#[track_caller]
fn stands(tree: &Tree, words: &str, unlocks: i64) -> Unlock {
    let unlock = read(tree);
    let found = trouble(&unlock);
    assert!(found.len() == 1 && found[0].contains(words), "{words}: {found:?}");
    assert_eq!(unlock.trial_unlocks.value(), Some(&unlocks), "{:?}", unlock.trial_unlocks);
    assert!(unlock.needs_consent());
    unlock
}

#[test]
fn registers_that_do_not_measure_the_boot_are_safe() {
    for pcrs in [&[7][..], &[], &[0, 2, 7], &[1, 3, 6, 14, 15]] {
        let unlock = read(&host("luks,tpm2-device=auto", &json!({"0": tpm2(pcrs)})));
        let volume = only(&unlock);
        assert_eq!(volume.pcrs.value().map(Vec::as_slice), Some(pcrs));
        assert_eq!((volume.can_break.value(), volume.by_hand.value()), (Some(&false), Some(&false)));
        assert!(volume.mechanism.value().unwrap().starts_with("TPM, "), "{volume:?}");
        free(&host("luks,tpm2-device=auto", &json!({"0": tpm2(pcrs)})));
    }
    // The header says so, whatever crypttab does.
    free(&host("luks", &json!({"0": tpm2(&[7])})));
}

#[test]
fn registers_that_measure_the_boot_break_it() {
    for pcr in [4, 5, 8, 9, 10, 11, 12, 16, 23] {
        let tree = host("luks,tpm2-device=auto", &json!({"0": tpm2(&[7, pcr])}));
        let words = format!("root: TPM, registers 7 and {pcr} (systemd-tpm2), which a changed boot changes");
        let unlock = stands(&tree, &words, 1);
        assert_eq!(only(&unlock).can_break.value(), Some(&true));
        assert!(unlock.trouble.evidence().iter().any(|e| e.source == format!("dev/disk/by-uuid/{UUID}")));
    }
    let signed = but(tpm2(&[]), &json!({"tpm2_pubkey_pcrs": [11]}));
    stands(&host("luks", &json!({"0": signed})), "register 11", 1);
    let pcrlock = but(tpm2(&[]), &json!({"tpm2_pcrlock": true}));
    stands(&host("luks", &json!({"0": pcrlock})), "systemd-pcrlock", 1);
    let strange = but(tpm2(&[]), &json!({"tpm2-pcrs": "7"}));
    let unlock = stands(&host("luks", &json!({"0": strange})), "cannot be read", 1);
    assert!(only(&unlock).can_break.is_unknown() && only(&unlock).pcrs.is_unknown());
}

#[test]
fn a_person_unlocks_there_and_back() {
    let pin = but(tpm2(&[7]), &json!({"tpm2-pin": true}));
    for (options, tokens, words) in [
        ("luks", json!({}), "root: passphrase at each boot"),
        ("luks,tpm2-device=auto", json!({}), "passphrase (no key in the TPM)"),
        ("luks", json!({"0": pin}), "a PIN for the TPM"),
        ("luks", json!({"0": {"type": "systemd-fido2", "keyslots": ["1"]}}), "a security token"),
        ("luks", json!({"0": {"type": "systemd-recovery", "keyslots": ["1"]}}), "a recovery key"),
        ("luks,fido2-device=auto", json!({"0": tpm2(&[7])}), "a security token"),
        // A token that opens nothing any more.
        ("luks", json!({"0": but(tpm2(&[7]), &json!({"keyslots": []}))}), "passphrase"),
    ] {
        let unlock = stands(&host(options, &tokens), words, 2);
        assert_eq!(only(&unlock).by_hand.value(), Some(&true));
        assert_eq!(only(&unlock).can_break.value(), Some(&false));
        assert!(only(&unlock).pcrs.is_absent());
    }
    let two = host("luks", &json!({})).file("dev/sdb", header(&json!({})));
    let two = two.file("etc/crypttab", format!("root UUID={UUID} none\ndata /dev/sdb none luks\n"));
    assert_eq!(read(&two).trial_unlocks.value(), Some(&4));
}

#[test]
fn ssh_into_the_initramfs_is_a_person_too() {
    let key = "etc/dropbear/initramfs/authorized_keys";
    let tree = host("luks", &json!({})).file(key, "ssh-ed25519 AAAA\n");
    let unlock = stands(&tree, "at the console or through ssh into the initramfs", 2);
    assert_eq!(unlock.remote.value().unwrap().len(), 1);
    // Where the volume opens by itself nobody has to log in.
    free(&host("luks", &json!({"0": tpm2(&[7])})).file(key, "ssh-ed25519 AAAA\n"));
    free(
        &host("luks", &json!({}))
            .without("etc/crypttab")
            .dir("sys/class/block/sda")
            .file(key, "ssh-ed25519 AAAA\n"),
    );
}

#[test]
fn a_tpm_that_is_not_there_opens_nothing() {
    let tree = host("luks,tpm2-device=auto", &json!({"0": tpm2(&[7])})).without("sys/class/tpm/tpm0");
    stands(&tree, "passphrase (there is no TPM)", 2);
    let clevis = json!({"0": clevis(&json!({"pin": "tpm2", "tpm2": {"pcr_ids": "7"}}))});
    stands(&host("luks", &clevis).without("sys/class/tpm/tpm0"), "passphrase", 2);
}

#[test]
fn the_pins_of_clevis_are_read() {
    let tpm =
        |ids: &str| json!({"pin": "tpm2", "tpm2": {"hash": "sha256", "pcr_bank": "sha256", "pcr_ids": ids}});
    let tang = json!({"pin": "tang", "tang": {"url": "http://192.0.2.1", "adv": {"keys": []}}});
    let none = json!({"pin": "tpm2", "tpm2": {"hash": "sha256"}});
    let token = |pin: &Value| host("luks", &json!({"3": clevis(pin)}));
    free(&token(&tpm("7")));
    free(&token(&none));
    stands(&token(&tpm("1,4,7")), "TPM, registers 1 and 4 and 7 (clevis), which a changed boot changes", 1);
    let unlock = stands(&token(&tang), "Tang (clevis), which needs the network", 0);
    assert!(only(&unlock).network && only(&unlock).can_break.value() == Some(&true));
    // One of two is enough.
    free(&token(&shares(1, &[tang.clone(), tpm("7")])));
    stands(&token(&shares(2, &[tang.clone(), tpm("7")])), "2 of TPM, register 7 (clevis) and Tang", 0);
    stands(&token(&shares(2, &[tpm("8"), tpm("7")])), "which a changed boot changes", 1);
    free(&token(&shares(1, &[shares(1, &[tpm("7")])])));
    for odd in [
        json!({"pin": "yubikey", "yubikey": {}}),
        json!({"pin": "tpm2", "tpm2": {"pcr_ids": "x"}}),
        shares(3, &[tpm("7")]),
        shares(0, &[]),
    ] {
        let unlock = read(&token(&odd));
        assert!(unlock.needs_consent(), "{odd}");
        assert_ne!(only(&unlock).can_break.value(), Some(&false), "{odd}");
    }
}

#[test]
fn of_several_ways_the_safest_counts() {
    let tang = clevis(&json!({"pin": "tang", "tang": {}}));
    free(&host("luks", &json!({"0": tpm2(&[4, 7]), "1": tpm2(&[7])})));
    stands(&host("luks", &json!({"0": tpm2(&[4, 7]), "1": tang})), "Tang", 0);
    let other = json!({"0": {"type": "mystery", "keyslots": ["1"]}});
    let unlock = read(&host("luks", &other));
    assert!(unlock.trouble.is_unknown() && unlock.trial_unlocks.is_unknown() && unlock.needs_consent());
    assert!(unlock.trouble.reason().unwrap().detail.contains("mystery"));
    free(&host("luks", &json!({"0": {"type": "mystery", "keyslots": ["1"]}, "1": tpm2(&[7])})));
}

#[test]
fn keys_that_are_files_ask_nobody() {
    let plain = |line: &str| Tree::new().file("etc/crypttab", line).dir("sys/class/block/sda");
    for line in [
        "swap /dev/sda3 /dev/urandom swap,cipher=aes-xts-plain64\n",
        "data UUID=1 /root/data.key luks\n",
        "data UUID=1 /data.key:LABEL=stick luks\n",
        "data UUID=1 root luks,keyscript=decrypt_derived\n",
        "# root UUID=1 none tpm2-device=auto\n",
        "data UUID=1 none luks,noauto\n",
        "",
    ] {
        free(&plain(line));
    }
    free(&plain("data UUID=1 none luks\n").file("etc/cryptsetup-keys.d/data.key", "x"));
    free(&plain("data UUID=1 /data.blob tpm2-device=auto\n"));
    stands(&plain("data UUID=1 /data.blob tpm2-device=auto,tpm2-pcrs=7+8\n"), "registers 7 and 8", 1);
    stands(&plain("data /dev/sda none plain\n"), "data: passphrase", 2);
    stands(
        &plain("r UUID=1 none luks,keyscript=/lib/cryptsetup/scripts/decrypt_keyctl\n"),
        "a passphrase or card",
        2,
    );
    let tpm =
        stands(&plain("r UUID=1 x luks,keyscript=/usr/bin/open-by-tpm\n"), "registers are not known", 1);
    assert!(only(&tpm).can_break.is_unknown());
    assert!(read(&plain("r UUID=1 x luks,keyscript=/opt/k\n")).trouble.is_unknown());
}

#[test]
fn without_a_header_nothing_is_promised() {
    let tree = || host("luks", &json!({"0": tpm2(&[7])}));
    let gone = read(&tree().without("dev/nvme0n1p3"));
    assert_eq!(gone.trouble.reason().unwrap().why, Why::NotCaptured);
    assert!(gone.needs_consent() && only(&gone).mechanism.is_unknown() && only(&gone).by_hand.is_unknown());
    let option = host("luks,tpm2-device=auto", &json!({})).without("dev/nvme0n1p3");
    stands(&option, "root: TPM, registers not known (", 1);
    let mut flipped = header(&json!({"0": tpm2(&[7])}));
    flipped[5000] ^= 1;
    let mut unknown_sum = header(&json!({"0": tpm2(&[7])}));
    unknown_sum[72..78].copy_from_slice(b"crc32\0");
    for (bytes, reason) in [
        (flipped, "checksum is wrong"),
        (vec![0; SIZE], "expected a LUKS header"),
        (b"LUKS\xba\xbe".to_vec(), "too few bytes"),
        (header(&json!({}))[..8192].to_vec(), "expected 16384 bytes"),
        (with_json(b"{\"tokens\": {"), "JSON area"),
        (with_json(b"{\"tokens\": [1]}"), "expected an object"),
        (with_json(&b"[".repeat(5000)), "JSON area"),
    ] {
        let unlock = read(&tree().file("dev/nvme0n1p3", &bytes));
        let detail = &unlock.trouble.reason().unwrap().detail;
        assert!(detail.contains(reason), "{reason}: {detail}");
        assert!(unlock.needs_consent());
    }
    // An algorithm that is not known here is no error, and is said.
    let unlock = read(&tree().file("dev/nvme0n1p3", &unknown_sum));
    assert!(unlock.trouble.evidence().iter().any(|e| e.text.contains("checksum not compared")));
    // Version 1 has no tokens; clevis keeps its own elsewhere.
    let mut first = vec![0; SIZE];
    first[..8].copy_from_slice(b"LUKS\xba\xbe\0\x01");
    stands(&tree().file("dev/nvme0n1p3", &first), "passphrase", 2);
    assert!(read(&tree().file("dev/nvme0n1p3", &first).file("usr/bin/clevis", "")).trouble.is_unknown());
    let directory = tree().without("dev/nvme0n1p3").dir("dev/nvme0n1p3");
    assert_eq!(read(&directory).trouble.reason().unwrap().why, Why::Unreadable);
}

#[test]
fn the_volume_below_the_root_is_found_wherever_it_is_configured() {
    let tree = host("luks", &json!({"0": tpm2(&[8])})).without("etc/crypttab").mapped("luks-a");
    let unlock = stands(&tree, "luks-a: TPM, register 8", 1);
    assert_eq!(only(&unlock).device, "/dev/nvme0n1p3");
    // Opened by hand later, and no part of the boot.
    free(&tree.file("proc/mounts", "/dev/sda2 / ext4 rw 0 0\n/dev/mapper/vg--a-root /mnt ext4 rw 0 0\n"));
    // Named in crypttab too, and once in the list.
    let both = host("luks", &json!({"0": tpm2(&[8])})).mapped("root");
    assert_eq!(only(&read(&both)).name, "root");
    // noauto does not hold for what is below the root.
    let later = host("luks,noauto", &json!({"0": tpm2(&[8])})).mapped("root");
    stands(&later, "register 8", 1);
}

#[test]
fn words_of_the_command_line_name_volumes() {
    let base = || host("luks", &json!({"0": tpm2(&[9])})).without("etc/crypttab").dir("sys/class/block/sda");
    for line in [
        format!("root=/dev/vg/root rd.luks.uuid=luks-{UUID} ro\n"),
        format!("rd.luks.name={UUID}=cryptroot\n"),
        format!("rd.luks.options={UUID}=tpm2-device=auto\n"),
        format!("luks.uuid={}\n", UUID.to_uppercase()),
    ] {
        stands(&base().file("proc/cmdline", &line), "register 9", 1);
    }
    let grub = format!("GRUB_CMDLINE_LINUX=\"rd.luks.uuid=luks-{UUID}\"\n");
    stands(
        &base().file("etc/default/grub", &grub).file("proc/cmdline", format!("rd.luks.uuid={UUID}\n")),
        "register 9",
        1,
    );
    free(&base().file("proc/cmdline", format!("rd.luks.uuid={UUID} rd.luks.key=/key\n")));
    let general = base().file("proc/cmdline", "rd.luks.options=tpm2-device=auto,discard\n");
    stands(&general, "a volume of the initramfs: TPM, registers not known", 1);
    free(&base().file("proc/cmdline", "root=/dev/sda2 quiet\n"));
}

#[test]
fn an_initramfs_that_knows_no_tokens_asks() {
    let tree = || {
        host("luks,initramfs,tpm2-device=auto", &json!({"0": tpm2(&[7])})).dir("usr/share/initramfs-tools")
    };
    stands(&tree(), "passphrase", 2);
    free(&tree().file("usr/bin/dracut", ""));
    let later = host("luks,tpm2-device=auto", &json!({"0": tpm2(&[7])})).dir("usr/share/initramfs-tools");
    free(&later);
    let tang = json!({"0": clevis(&json!({"pin": "tang", "tang": {}}))});
    let root = || host("luks,initramfs", &tang).dir("usr/share/initramfs-tools");
    stands(&root(), "passphrase", 2);
    stands(&root().file("usr/share/initramfs-tools/hooks/clevis", ""), "Tang", 0);
}

#[test]
fn hints_count_where_no_volume_is_known() {
    for (path, content, words) in [
        (
            "etc/dracut.conf.d/unlock.conf",
            "add_dracutmodules+=\" clevis-pin-tang network \"\n",
            "clevis in the initramfs",
        ),
        (
            "etc/default/grub",
            "GRUB_CMDLINE_LINUX=\"rd.neednet=1 ip=dhcp rd.luks=1\"\n",
            "network in the initramfs",
        ),
        ("etc/dropbear-initramfs/authorized_keys", "ssh-ed25519 AAAA\n", "remote unlock"),
        ("var/lib/systemd/pcrlock.json", "{}", "systemd-pcrlock"),
        ("var/lib/snapd/device/fde/x", "", "snapd"),
    ] {
        let found = read(&Tree::new().dir("etc").file(path, content));
        let words_found = trouble(&found);
        assert!(words_found.len() == 1 && words_found[0].contains(words), "{path}: {words_found:?}");
        // Beside a volume whose header was read only snapd's is one.
        let decided = read(&host("luks", &json!({"0": tpm2(&[7])})).file(path, content));
        assert_eq!(trouble(&decided).len(), usize::from(words == "snapd"), "{path}");
    }
    let diskless = Tree::new().dir("etc").file("proc/cmdline", "root=/dev/nfs ip=dhcp rd.neednet=1\n");
    free(&diskless);
    let hints = Tree::new()
        .file("etc/clevis/x", "")
        .file("usr/lib/dracut/modules.d/60clevis/module-setup.sh", "")
        .file("etc/dracut.conf.d/net.conf", "# clevis\n")
        .file("etc/dropbear/initramfs/authorized_keys", "# none\n");
    free(&hints);
}

#[test]
fn what_was_not_captured_or_cannot_be_read_is_said() {
    let nothing = read(&Tree::new().dir("proc"));
    assert_eq!(nothing.trouble.reason().unwrap().why, Why::NotCaptured);
    assert!(nothing.volumes.is_unknown() && nothing.trial_unlocks.is_unknown() && !nothing.needs_consent());
    let looped = read(&Tree::new().link("etc/crypttab", "crypttab"));
    assert!(looped.volumes.is_unknown() && looped.needs_consent());
    let live = Isolation::read(&Root::live(), &[]).unlock;
    assert!(!live.trouble.is_absent());
}

#[test]
fn the_rule_says_the_mechanism_and_how_often_somebody_unlocks() {
    let audit = |tree: &Tree| {
        let found = on_host(tree, &["audit", "--fail-on", "never"]).exits(0).json();
        let findings = found["findings"].as_array().unwrap().clone();
        findings.into_iter().find(|f| f["rule"] == "boot/measured-unlock").unwrap()
    };
    let with = |tokens: Value| hosts::z890().volume("luks", &header(&tokens));
    let measured = audit(&with(json!({"0": tpm2(&[7, 8])})));
    let summary = measured["summary"].as_str().unwrap();
    assert!(summary.contains("TPM, registers 7 and 8 (systemd-tpm2)"), "{summary}");
    assert!(summary.contains("up to 1 unlock by hand"), "{summary}");
    assert_eq!(measured["status"], "warn");
    assert!(measured["evidence"].to_string().contains("token 0: TPM, registers 7 and 8"), "{measured}");
    let person = audit(&with(json!({})));
    let summary = person["summary"].as_str().unwrap();
    assert!(summary.contains("root: passphrase at each boot"), "{summary}");
    assert!(summary.contains("up to 2 unlocks by hand"), "{summary}");
    assert_eq!(audit(&with(json!({"0": tpm2(&[7])})))["status"], "pass");
    assert_eq!(audit(&hosts::z890())["status"], "pass");
    assert_eq!(audit(&with(json!({})).without("dev/nvme0n1p3"))["status"], "unknown");
    let risks = |tree: &Tree| on_host(tree, &["plan"]).printed().contains("unattended-unlock");
    assert!(risks(&with(json!({}))) && risks(&with(json!({})).without("dev/nvme0n1p3")));
    assert!(!risks(&with(json!({"0": tpm2(&[7])}))) && !risks(&hosts::z890()));
}

#[test]
fn a_header_that_cryptsetup_made_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("volume"), vec![0; 18 << 20]).unwrap();
    std::fs::write(path("key"), "secret").unwrap();
    std::fs::write(path("token"), but(tpm2(&[7, 11]), &json!({"keyslots": ["0"]})).to_string()).unwrap();
    let run = |args: &[&str]| std::process::Command::new("cryptsetup").args(args).output();
    let (volume, key, token) = (path("volume"), path("key"), path("token"));
    let format = ["luksFormat", "--type", "luks2", "--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000"];
    let format: Vec<&str> = format.into_iter().chain(["--batch-mode", &volume, &key]).collect();
    match run(&format) {
        Ok(out) => assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr)),
        Err(_) => return eprintln!("skipped: cryptsetup is not installed"),
    }
    let out = run(&["token", "import", "--json-file", &token, &volume]).unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let read = parse(&std::fs::read(&volume).unwrap()).unwrap();
    assert!(read.verified && read.version == 2 && read.uuid.len() == 36);
    let expected = Token::Tpm2 { pcrs: Some(vec![7, 11]), signed: Some(vec![]), pin: false, pcrlock: false };
    assert_eq!(read.tokens, [("0".to_owned(), expected)]);
}

#[test]
fn shares_inside_of_shares_come_to_an_end() {
    let mut pin = json!({"pin": "tang", "tang": {}});
    for _ in 0..6 {
        pin = shares(1, &[pin]);
    }
    let found = parse(&header(&json!({"0": clevis(&pin)}))).unwrap();
    let Token::Clevis(mut pin) = found.tokens[0].1.clone() else { panic!() };
    while let Pin::Sss { mut pins, .. } = pin {
        pin = pins.remove(0);
    }
    assert_eq!(pin, Pin::Other("sss".to_owned()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_header_is_survived(at in 0..SIZE, bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let mut whole = header(&json!({"0": tpm2(&[7]), "1": clevis(&json!({"pin": "tang"}))}));
        let end = (at + bytes.len()).min(SIZE);
        whole[at..end].copy_from_slice(&bytes[..end - at]);
        let _ = parse(&whole);
        let _ = parse(&bytes);
    }

    #[test]
    fn any_json_is_survived(json in "[\\[\\]{}\":,a-z0-9 ]{0,200}") {
        let _ = parse(&with_json(json.as_bytes()));
        let tokens = format!("{{\"tokens\":{{\"0\":{{\"type\":\"clevis\",\"jwe\":\"{}\"}}}}}}", json.replace('"', ""));
        let _ = parse(&with_json(tokens.as_bytes()));
    }
}
