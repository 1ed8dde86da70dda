//! The next two boots, played: the trial is taken once and forgotten, and then the old default comes.

use super::super::menu::{Files, Menu};
use super::{NoTrial, follow, place};
use crate::format::grubenv::Grubenv;
use crate::root::Root;

/// Follows GRUB through the next two boots: the trial is taken once and forgotten, then the old default comes.
pub(super) fn rehearse(
    root: &Root,
    config: &str,
    custom: &str,
    after: &[u8],
    (block, armed): (&Grubenv, &Grubenv),
    now: &Menu,
    entry: &str,
) -> Result<(), NoTrial> {
    let refuse = |reason: &str, steps: &[&str]| Err(NoTrial::new(config, reason, steps));
    let trial = follow(&Files::new(root).with(custom, after), config, armed)?;
    if trial.saved("next_entry") != Some(&Some(Vec::new())) {
        let reason = "does not read and clear next_entry in every case, so a trial would repeat";
        return refuse(reason, &["regenerate it with the GRUB that is installed (update-grub)"]);
    }
    if !trial.sourced.contains(custom) {
        return refuse("does not read custom.cfg", &["restore /etc/grub.d/41_custom and regenerate it"]);
    }
    match trial.default_entry() {
        Ok(chosen) if chosen.place.0 == custom && chosen.id.as_deref() == Some(entry) => {}
        Ok(chosen) => {
            return refuse(&format!("would start {} in place of the trial", place(chosen)), &[]);
        }
        Err(reason) => return refuse(&reason, &[]),
    }
    let then = follow(&Files::new(root).with(custom, after), config, block)?;
    let same = match (then.default_entry(), now.default_entry()) {
        (Ok(a), Ok(b)) => a.place == b.place && a.id == b.id,
        _ => false,
    };
    if !same {
        return refuse("an entry in custom.cfg would change which one the default is", &[]);
    }
    access(&trial, entry, config)?;
    let failed = block.set("recordfail", "1").unwrap_or_else(|_| block.clone());
    let failed = follow(&Files::new(root).with(custom, after), config, &failed)?;
    for (menu, variable) in
        [(&trial, "GRUB_TIMEOUT"), (&then, "GRUB_TIMEOUT"), (&failed, "GRUB_RECORDFAIL_TIMEOUT")]
    {
        let timeout = menu.text("timeout");
        if timeout.as_deref().and_then(|t| t.trim().parse::<i64>().ok()).is_none_or(|t| t < 0) {
            let reason = match timeout.as_deref() {
                Some("") => "sets no timeout: the menu would wait for a key".to_owned(),
                Some(text) => format!("the menu would wait for a key (timeout={text}, {variable})"),
                None => format!("how long the menu waits is not known ({variable})"),
            };
            let steps = [format!("set {variable} in /etc/default/grub to 0 or more and regenerate grub.cfg")];
            return Err(NoTrial { steps: steps.into(), ..NoTrial::new(config, reason, &[]) });
        }
    }
    Ok(())
}

/// The menu asks for no password and no signature on the way.
fn access(menu: &Menu, entry: &str, config: &str) -> Result<(), NoTrial> {
    let own = menu.entries.iter().find(|e| e.id.as_deref() == Some(entry));
    let free = own.is_some_and(|e| e.options.iter().any(|o| o == "--unrestricted"));
    if menu.text("superusers").is_none_or(|users| !users.is_empty()) && !free {
        let reason =
            "superusers are set and the running entry is not --unrestricted: GRUB would ask for a password";
        return Err(NoTrial::new(
            config,
            reason,
            &["give the entry --unrestricted (CLASS in /etc/grub.d/10_linux)"],
        ));
    }
    if let Some("" | "no") = menu.text("check_signatures").as_deref() {
        return Ok(());
    }
    let reason = "check_signatures is enforced: GRUB would refuse an unsigned custom.cfg";
    Err(NoTrial::new(config, reason, &[]))
}
