//! Commands as a person types them.

use super::Command;

/// An argument quoted for the shell where it needs it.
pub(super) fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.,:/=+%@".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
    }
}

/// A command line.
pub(super) fn line(argv: &[String]) -> String {
    argv.iter().map(|a| quoted(a)).collect::<Vec<_>>().join(" ")
}

/// A command as a manual step.
pub(super) fn as_step(command: &Command) -> String {
    line(&command.argv)
}

/// `words` without `remove` and with `add` at the end, as one line; none when nothing changes.
pub(super) fn changed(words: &[String], add: &[String], remove: &[String]) -> Vec<String> {
    use crate::format::kernel_cmdline::comparable;
    let gone: Vec<String> = remove.iter().map(|w| comparable(w)).collect();
    let mut all: Vec<String> = words.iter().filter(|w| !gone.contains(&comparable(w))).cloned().collect();
    for word in add {
        if !all.iter().any(|w| comparable(w) == comparable(word)) {
            all.push(word.clone());
        }
    }
    all
}
