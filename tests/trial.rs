//! Trial boots: what is armed, what each kind of boot leads to, and that nothing is left of what was not kept. GRUB and
//! the machine are played here; real ones are in tests/boot_stories.

#![allow(clippy::unwrap_used)]

mod common;

use common::boots::{Boots, Started};
use common::hosts;
use common::played::{
    CUSTOM, GRUB, Played, Run, at_boot, cured_by_pt, host, never_right, nothing_left, provision, revert,
    right, wrong,
};
use peerfix::ledger::{Ledger, history};
use peerfix::trial::{State, TrialPolicy, gate, idle};

#[test]
fn a_cure_is_armed_measured_kept_and_verified() {
    let host = host();
    let told = provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap();
    assert_eq!(told.state(), State::Armed);
    assert_eq!(host.choice(), "peerfix-trial-t1");
    assert!(!host.tree.read(GRUB).contains("iommu=pt"), "nothing permanent is written before the verdict");

    assert_eq!(host.start(), Started::Chosen);
    assert!(host.line().contains("iommu=pt") && host.line().contains("peerfix.trial=t1"), "{}", host.line());
    let (told, _) = at_boot(&host, cured_by_pt);
    assert_eq!(told.state(), State::Kept, "{}", told.reason());
    assert!(host.tree.read(GRUB).contains("iommu=pt"));
    assert!(!host.tree.has(CUSTOM), "the trial's entry is gone");

    host.regenerate();
    assert_eq!(host.start(), Started::Default);
    assert!(host.line().contains("iommu=pt"));
    let (told, _) = at_boot(&host, cured_by_pt);
    assert_eq!(told.state(), State::Verified, "{}", told.reason());
    assert!(idle(host.tree.path()));
}

#[test]
fn taking_a_kept_change_back_is_checked_at_the_next_boot() {
    let host = host();
    provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap();
    host.start();
    at_boot(&host, cured_by_pt);
    host.regenerate();
    host.start();
    at_boot(&host, cured_by_pt);

    revert(&host, "last");
    assert!(!host.tree.read(GRUB).contains("iommu=pt"));
    host.regenerate();
    host.start();
    let (told, _) = at_boot(&host, cured_by_pt);
    assert_eq!(told.state(), State::VerifiedBack);
    nothing_left(&host);
}

#[test]
fn a_kept_change_that_the_menu_never_got_is_told() {
    let host = host();
    provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap();
    host.start();
    at_boot(&host, cured_by_pt);
    // Nobody ran update-grub.
    host.start();
    let (told, _) = at_boot(&host, cured_by_pt);
    assert_eq!(told.state(), State::NotRunning);
    assert!(told.reason().contains("iommu=pt"), "{}", told.reason());
}

#[test]
fn what_does_not_help_is_rejected_and_the_next_rung_waits_for_consent() {
    let host = host();
    provision(&host, never_right, &TrialPolicy::default()).unwrap();
    host.start();
    let (told, _) = at_boot(&host, never_right);
    assert_eq!(told.state(), State::Reverted, "{}", told.reason());
    nothing_left(&host);
    host.start();
    let (_, next) = at_boot(&host, never_right);
    assert!(next.is_none(), "the next rung needs consent");
    assert!(idle(host.tree.path()));
}

#[test]
fn with_consent_the_next_rung_is_armed_by_itself() {
    let host = host();
    let accepted = ["dma-isolation", "stray-dma"].map(str::to_owned).into();
    let policy = TrialPolicy { accepted, ..TrialPolicy::default() };
    let cured_by_off = |line: &str| if line.contains("intel_iommu=off") { right() } else { wrong(right()) };
    provision(&host, cured_by_off, &policy).unwrap();
    host.start();
    let (told, _) = at_boot(&host, cured_by_off);
    assert_eq!(told.state(), State::Reverted, "{}", told.reason());
    host.start();
    let (_, next) = at_boot(&host, cured_by_off);
    let next = next.unwrap();
    assert_eq!(next.trial.tried, ["iommu-pt"]);
    assert!(next.trial.members[0].add.contains(&"intel_iommu=off".to_owned()));
    assert_eq!(host.start(), Started::Chosen);
    let (told, _) = at_boot(&host, cured_by_off);
    assert_eq!(told.state(), State::Kept, "{}", told.reason());
}

#[test]
fn a_panic_leads_back_and_is_not_tried_again() {
    let host = host();
    provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap();
    assert_eq!(host.start_and_panic(), Started::Default);
    let (told, next) = at_boot(&host, cured_by_pt);
    assert_eq!(told.state(), State::DidNotBoot);
    assert!(next.is_none());
    nothing_left(&host);
    assert!(idle(host.tree.path()));
}

#[test]
fn an_entry_that_was_never_started_is_not_blamed() {
    let host = host();
    provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap();
    // Another loader, or a kexec: GRUB never read its block.
    host.runs(&host.line());
    let (told, _) = at_boot(&host, cured_by_pt);
    assert_eq!(told.state(), State::NotTaken);
    nothing_left(&host);
}

#[test]
fn the_gate_in_the_boot_that_armed_it_changes_nothing() {
    let host = host();
    provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap();
    let (told, _) = at_boot(&host, cured_by_pt);
    assert_eq!(told.state(), State::Armed);
    assert_eq!(host.choice(), "peerfix-trial-t1");
}

#[test]
fn an_armed_trial_is_given_up_by_revert() {
    let host = host();
    provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap();
    revert(&host, "last");
    nothing_left(&host);
    assert!(idle(host.tree.path()));
}

#[test]
fn a_reset_while_measuring_is_blamed_on_the_arm() {
    let host = host();
    provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap();
    host.start();
    // The machine stops in the middle of the measurement: the journal holds what it was doing.
    let journal = "var/lib/peerfix/trials/t1/journal";
    let boot = host.tree.read("proc/sys/kernel/random/boot_id");
    for step in
        [r#""state":"trialing","member":0"#, r#""state":"measuring","what":"ce-write 02:00.0 -> 03:00.0""#]
    {
        let line = format!("{{\"at\":\"2030-01-02T03:04:05Z\",\"boot\":\"{}\",{step}}}\n", boot.trim());
        let text = host.tree.read(journal) + &line;
        std::fs::write(host.tree.path().join(journal), text).unwrap();
    }
    host.start();
    let (told, _) = at_boot(&host, cured_by_pt);
    assert_eq!(told.state(), State::Reverted);
    assert!(told.reason().contains("ce-write 02:00.0"), "{}", told.reason());
    nothing_left(&host);
}

#[test]
fn custom_entries_of_the_host_keep_their_bytes() {
    let mine = "# mine\nmenuentry 'Memtest' --id mem {\n\tlinux16 /boot/memtest86+.bin\n}";
    let host = Boots::of(hosts::z890().file(CUSTOM, mine), hosts::z890_clean(), "quiet splash");
    provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap();
    assert!(host.tree.read(CUSTOM).starts_with(mine));
    host.start_and_panic();
    at_boot(&host, cured_by_pt);
    assert_eq!(host.tree.read(CUSTOM), mine);
}

#[test]
fn a_menu_that_does_not_forget_is_refused_and_nothing_is_written() {
    let host = host();
    let cfg = host.tree.read("boot/grub/grub.cfg").replace("   save_env next_entry\n", "");
    std::fs::write(host.tree.path().join("boot/grub/grub.cfg"), cfg).unwrap();
    let before = host.tree.digest_of_host();
    let error = provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap_err();
    assert!(error.contains("next_entry") && error.contains("no trial is armed"), "{error}");
    assert_eq!(before, host.tree.digest_of_host());
    assert!(history::list(host.tree.path()).unwrap().is_empty() && idle(host.tree.path()));
}

#[test]
fn a_trial_that_cannot_be_read_is_disarmed_all_the_same() {
    let host = host();
    provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap();
    std::fs::write(host.tree.path().join("var/lib/peerfix/trials/t1/trial.json"), "{").unwrap();
    let run = Run::new(&host, cured_by_pt);
    let mut ledger = Ledger::open(host.tree.path()).unwrap();
    let mut machine = Played { host: &host, record: cured_by_pt, rebooted: 0 };
    let error = gate(&run.site(), &mut ledger, &mut machine, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("t1"), "{error}");
    nothing_left(&host);
    assert!(idle(host.tree.path()));
}

#[test]
fn the_root_of_a_kernel_without_initramfs_is_found_by_its_number() {
    let root = |device: &str| {
        Boots::of(
            hosts::z890()
                .file("proc/1/mountinfo", "21 1 259:2 / / rw,relatime shared:1 - ext4 /dev/root rw\n")
                .link("sys/dev/block/259:2", &format!("../../devices/virtual/block/{device}")),
            hosts::z890_clean(),
            "quiet splash",
        )
    };
    let mounts = "/dev/root / ext4 rw,relatime 0 0\n";
    let host = root("nvme0n1p2");
    std::fs::write(host.tree.path().join("proc/mounts"), mounts).unwrap();
    assert_eq!(provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap().state(), State::Armed);
    let host = root("md0");
    std::fs::write(host.tree.path().join("proc/mounts"), mounts).unwrap();
    let error = provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap_err();
    assert!(error.contains("is on MD"), "{error}");
}

#[test]
fn a_mark_that_names_no_trial_is_taken_away_and_told() {
    for mark in ["", "trial=\n", "trial=../../../etc\n", "trial=t1x\n", "\u{0}\u{1}"] {
        let host = host();
        provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap();
        revert(&host, "last");
        std::fs::write(host.tree.path().join("var/lib/peerfix/pending"), mark).unwrap();
        let run = Run::new(&host, cured_by_pt);
        let mut ledger = Ledger::open(host.tree.path()).unwrap();
        let mut machine = Played { host: &host, record: cured_by_pt, rebooted: 0 };
        gate(&run.site(), &mut ledger, &mut machine, &mut |_| {}).unwrap_err();
        assert!(idle(host.tree.path()), "{mark:?}");
        nothing_left(&host);
    }
}

#[test]
fn a_journal_that_says_what_cannot_be_is_not_acted_on() {
    for line in [
        r#"{"at":"2030-01-02T03:04:05Z","boot":"x","state":"kept","entry":"0001","reason":"so"}"#,
        r#"{"at":"2030-01-02T03:04:05Z","boot":"x","state":"judged","member":0,"decision":"keep","reason":"so"}"#,
        "{}",
        "not json",
    ] {
        let host = host();
        provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap();
        let journal = "var/lib/peerfix/trials/t1/journal";
        let text = format!("{}{line}\n", host.tree.read(journal));
        std::fs::write(host.tree.path().join(journal), text).unwrap();
        host.start();
        let run = Run::new(&host, cured_by_pt);
        let mut ledger = Ledger::open(host.tree.path()).unwrap();
        let mut machine = Played { host: &host, record: cured_by_pt, rebooted: 0 };
        let error = gate(&run.site(), &mut ledger, &mut machine, &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains("journal: line"), "{error}");
        nothing_left(&host);
        assert!(idle(host.tree.path()));
    }
}

#[test]
fn a_new_trial_waits_for_the_armed_one() {
    let host = host();
    provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap();
    let error = provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap_err();
    assert!(error.contains("t1") || error.contains("already chosen"), "{error}");
    assert_eq!(host.choice(), "peerfix-trial-t1");
}
