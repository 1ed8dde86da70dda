//! kernelstub (Pop!_OS). The list is edited in its configuration file and `kernelstub` without arguments then
//! writes the loader entry from it. `kernelstub -d` is not used: it puts the list through a Python set, which
//! loses the order of the words, and order decides where the last word wins (kernelstub/application.py).

use super::{Command, Edit, FileEdit, Place, Reading, Refusal, manual};
use crate::format::kernelstub::{self, Options};
use crate::root::{Evidence, Fact, Root, TEXT_LIMIT, Why};

/// The configuration.
pub(super) const FILE: &str = "etc/kernelstub/configuration";

/// Reads `user.kernel_options`, or `default.kernel_options` where there is no `user`.
pub(super) fn read(root: &Root) -> Reading {
    let bytes = match root.bytes(FILE, TEXT_LIMIT) {
        Fact::Known { value, .. } => value,
        Fact::Absent { .. } => {
            let configured =
                Fact::unknown(FILE, Why::NotCaptured, "not there; `kernelstub` writes it on its first run");
            return Reading { configured, ..Reading::default() };
        }
        Fact::Unknown(unknown) => {
            return Reading { configured: Fact::Unknown(unknown), ..Reading::default() };
        }
    };
    let configuration = match kernelstub::parse(&bytes) {
        Ok(configuration) => configuration,
        Err(t) => {
            return Reading { configured: Fact::malformed(FILE, t.line, t.reason), ..Reading::default() };
        }
    };
    let place = |section: &str, options: &Options, effective: bool| Place {
        file: FILE.to_owned(),
        line: i64::try_from(options.line).unwrap_or(i64::MAX),
        variable: format!("{section}.kernel_options"),
        words: options.words(),
        effective,
        dynamic: false,
    };
    let mut reading = Reading::default();
    let in_force = configuration.user.as_ref().or(configuration.default.as_ref());
    reading.configured = match in_force {
        Some(options) => {
            let text = format!("kernel_options: {}", options.words().join(" "));
            Fact::known(options.words(), Evidence::at(FILE, options.line, text))
        }
        None => Fact::malformed(FILE, 1, "expected `user` with `kernel_options`"),
    };
    if let Some(default) = &configuration.default {
        reading.places.push(place("default", default, configuration.user.is_none()));
    }
    if let Some(user) = &configuration.user {
        reading.places.push(place("user", user, true));
    }
    reading
}

/// Plans the edit.
pub(super) fn edit(root: &Root, add: &[String], remove: &[String]) -> Result<Edit, Refusal> {
    let refuse = |place: String, reason: String| Refusal { place, reason, manual: steps(add, remove) };
    let bytes = match root.bytes(FILE, TEXT_LIMIT) {
        Fact::Known { value, .. } => value,
        Fact::Absent { .. } => {
            return Err(refuse(
                FILE.to_owned(),
                "not there; `kernelstub` writes it on its first run".to_owned(),
            ));
        }
        Fact::Unknown(unknown) => return Err(refuse(FILE.to_owned(), unknown.to_string())),
    };
    let path = root.canonical(FILE).value().cloned().unwrap_or_else(|| FILE.to_owned());
    let at = |t: crate::format::Trouble| refuse(format!("{FILE}:{}", t.line), t.reason);
    let after = kernelstub::edit(&bytes, add, remove).map_err(at)?;
    let effective = kernelstub::parse(&after).map_err(at)?.user.map(|o| o.words()).unwrap_or_default();
    let files = if after == bytes { vec![] } else { vec![FileEdit { path, before: Some(bytes), after }] };
    Ok(Edit { files, commands: vec![command()], effective })
}

fn command() -> Command {
    Command {
        argv: vec!["kernelstub".to_owned()],
        why: "writes the loader entry from the configuration".to_owned(),
    }
}

fn steps(add: &[String], remove: &[String]) -> Vec<String> {
    let option = |flag: &str, words: &[String]| {
        let argv = ["kernelstub".to_owned(), flag.to_owned(), words.join(" ")];
        (!words.is_empty()).then(|| manual::line(&argv))
    };
    option("-d", remove).into_iter().chain(option("-a", add)).collect()
}
