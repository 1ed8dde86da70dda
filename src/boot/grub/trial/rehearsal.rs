//! GRUB is followed through the next two boots: the trial is taken once and forgotten, then the old default comes.

use super::super::menu::{Files, Menu, MenuEntry};
use super::{NoTrial, place};
use crate::format::grubenv::Grubenv;
use crate::root::Root;

/// What is to be tried.
pub(super) struct Rehearsal<'a> {
    pub(super) root: &'a Root,
    /// The configuration, as a path of the host.
    pub(super) config: &'a str,
    /// Its custom.cfg.
    pub(super) custom: &'a str,
    /// What custom.cfg will hold.
    pub(super) after: &'a [u8],
    /// Id of the trial's entry.
    pub(super) entry: &'a str,
}

/// The menu that a configuration makes.
pub(super) fn follow(files: &Files<'_>, config: &str, block: &Grubenv) -> Result<Menu, NoTrial> {
    let menu = Menu::run(files, config, Some(block)).map_err(|lost| {
        NoTrial::new(lost.place, lost.reason, &["see whether GRUB itself still boots from it"])
    })?;
    match &menu.moved {
        Some((named, _)) => {
            let reason = format!("goes on to {named}, in whose directory no custom.cfg is looked for");
            Err(NoTrial::new(config, reason, &[]))
        }
        None => Ok(menu),
    }
}

impl Rehearsal<'_> {
    /// Two boots with the block as armed, and `default` as the entry to come back to.
    pub(super) fn run(&self, armed: &Grubenv, default: &MenuEntry) -> Result<(), NoTrial> {
        let trial = self.boot(armed)?;
        if trial.saved.get("next_entry") != Some(&Some(Vec::new())) {
            let reason = "does not read and clear next_entry in every case, so a trial would repeat";
            let step = "regenerate it with the GRUB that is installed (update-grub)";
            return Err(self.refuse(reason, &[step]));
        }
        if !trial.sourced.contains(self.custom) {
            let step = "restore /etc/grub.d/41_custom and regenerate it";
            return Err(self.refuse("does not read custom.cfg in every case", &[step]));
        }
        match trial.default_entry() {
            Ok(chosen) if chosen.place.0 == self.custom && chosen.id.as_deref() == Some(self.entry) => {}
            Ok(chosen) => {
                let reason = format!("would start {} in place of the trial", place(chosen));
                return Err(self.refuse(reason, &[]));
            }
            Err(reason) => return Err(self.refuse(reason, &[])),
        }
        let left = self.left_by(&trial, armed)?;
        let then = self.boot(&left)?;
        if !then.default_entry().is_ok_and(|entry| entry.place == default.place && entry.id == default.id) {
            let reason = "after the trial another entry would be the default than now";
            return Err(self.refuse(reason, &["see what custom.cfg and the environment block set"]));
        }
        self.access(&trial)?;
        self.waits(&trial, "GRUB_TIMEOUT")?;
        self.waits(&then, "GRUB_TIMEOUT")?;
        // A boot that did not come to its end, where the distribution keeps count of that. GRUB has no more room
        // for it than there is.
        match left.set("recordfail", "1") {
            Ok(failed) => self.waits(&self.boot(&failed)?, "GRUB_RECORDFAIL_TIMEOUT"),
            Err(_) => Ok(()),
        }
    }

    fn boot(&self, block: &Grubenv) -> Result<Menu, NoTrial> {
        follow(&Files::new(self.root).with(self.custom, self.after), self.config, block)
    }

    fn refuse(&self, reason: impl Into<String>, steps: &[&str]) -> NoTrial {
        NoTrial::new(self.config, reason, steps)
    }

    /// The block as GRUB leaves it.
    fn left_by(&self, menu: &Menu, block: &Grubenv) -> Result<Grubenv, NoTrial> {
        let mut left = block.clone();
        for (name, value) in &menu.saved {
            let Some(value) = value else {
                let reason = format!("what it writes to the environment block as {name} is not known");
                return Err(self.refuse(reason, &[]));
            };
            let value = String::from_utf8_lossy(value);
            left = left.set(name, &value).map_err(|reason| self.refuse(reason, &[]))?;
        }
        Ok(left)
    }

    /// The menu asks for no password and no signature on the way.
    fn access(&self, menu: &Menu) -> Result<(), NoTrial> {
        let own = menu.entries.iter().find(|e| e.id.as_deref() == Some(self.entry));
        let free = own.is_some_and(|e| e.has("--unrestricted"));
        if menu.text("superusers").is_none_or(|users| !users.is_empty()) && !free {
            let reason = "superusers are set and the running entry is not --unrestricted: GRUB would ask for a password";
            return Err(
                self.refuse(reason, &["give the entry --unrestricted (CLASS in /etc/grub.d/10_linux)"])
            );
        }
        match menu.text("check_signatures").as_deref() {
            Some("" | "no") => Ok(()),
            _ => {
                Err(self
                    .refuse("check_signatures is enforced: GRUB would refuse an unsigned custom.cfg", &[]))
            }
        }
    }

    /// The menu goes on by itself.
    fn waits(&self, menu: &Menu, variable: &str) -> Result<(), NoTrial> {
        let timeout = menu.text("timeout");
        if timeout.as_deref().and_then(|t| t.trim().parse::<i64>().ok()).is_some_and(|t| t >= 0) {
            return Ok(());
        }
        let reason = match timeout.as_deref() {
            Some("") => "sets no timeout: the menu would wait for a key".to_owned(),
            Some(text) => format!("the menu would wait for a key (timeout={text}, {variable})"),
            None => format!("how long the menu waits depends on what only GRUB knows ({variable})"),
        };
        let step = format!("set {variable} in /etc/default/grub to 0 or more and regenerate grub.cfg");
        Err(self.refuse(reason, &[&step]))
    }
}
