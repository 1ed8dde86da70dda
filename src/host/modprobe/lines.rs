//! The lines of one modprobe.d file (libkmod-config.c, `kmod_config_parse`).

use super::{Config, ModuleLine, ModuleOption, params, underscores};

/// Adds what one file says.
pub(super) fn read(config: &mut Config, file: &str, bytes: &[u8]) {
    for (number, raw) in wrapped(bytes) {
        if raw.is_empty() || raw.first() == Some(&b'#') {
            continue;
        }
        if let Ok(text) = std::str::from_utf8(&raw) {
            directive(config, file, number, text);
        } else {
            let text = format!("not UTF-8: {}", String::from_utf8_lossy(&raw));
            config.malformed.push(entry(file, number, "", &text));
        }
    }
}

/// Joins lines as kmod's `getline_wrapped` does: a backslash before the newline continues, and before any
/// other byte it is dropped. Each line comes with the number of its first physical line.
fn wrapped(bytes: &[u8]) -> Vec<(usize, Vec<u8>)> {
    let mut lines = Vec::new();
    let (mut line, mut first, mut number) = (Vec::new(), 1, 1);
    let mut rest = bytes.iter().copied();
    while let Some(byte) = rest.next() {
        match byte {
            b'\n' => {
                lines.push((first, std::mem::take(&mut line)));
                number += 1;
                first = number;
            }
            b'\\' => match rest.next() {
                Some(b'\n') => number += 1,
                Some(other) => line.push(other),
                None => {}
            },
            other => line.push(other),
        }
    }
    if !line.is_empty() {
        lines.push((first, line));
    }
    lines
}

fn directive(config: &mut Config, file: &str, number: usize, text: &str) {
    let (command, rest) = word(text);
    let (module, rest) = word(rest);
    let name = underscores(module);
    // A file with Windows line ends names modules that no kernel has.
    let good = !module.is_empty() && !module.contains('\r');
    match command {
        "" => {}
        "options" if good && !rest.trim().is_empty() => options(config, file, number, &name, rest, text),
        "blacklist" if good => config.blacklist.push(entry(file, number, &name, text)),
        "install" | "remove" if good && !rest.trim().is_empty() => {
            config.installs.push(entry(file, number, &name, text));
        }
        "softdep" if good && !rest.trim().is_empty() => {
            config.softdeps.push(entry(file, number, &name, text));
        }
        "alias" | "weakdep" if good && !rest.trim().is_empty() => {}
        _ => config.malformed.push(entry(file, number, "", text)),
    }
}

fn options(config: &mut Config, file: &str, number: usize, module: &str, rest: &str, text: &str) {
    // An open quote would swallow the options of the lines that follow.
    if !rest.matches('"').count().is_multiple_of(2) {
        config.malformed.push(entry(file, number, "", text));
        return;
    }
    for (name, value) in params::split(rest) {
        config.options.push(ModuleOption {
            module: module.to_owned(),
            name,
            value: value.unwrap_or_default(),
            file: file.to_owned(),
            line: i64::try_from(number).unwrap_or(i64::MAX),
            in_force: true,
            shadowed_by: String::new(),
        });
    }
}

/// The first word and what follows it, as `strtok_r(line, "\t ")` splits.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start_matches([' ', '\t']);
    text.split_once([' ', '\t']).unwrap_or((text, ""))
}

pub(super) fn entry(file: &str, number: usize, module: &str, text: &str) -> ModuleLine {
    // A damaged file may hold one line of megabytes; what identifies it is its beginning.
    let text: String = text.chars().take(400).collect();
    ModuleLine {
        module: module.to_owned(),
        file: file.to_owned(),
        line: i64::try_from(number).unwrap_or(i64::MAX),
        text: text.trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn a_backslash_continues_a_line_or_vanishes() {
        let lines = wrapped(b"a \\\nb\nc\\d\n\ne\\");
        let text: Vec<(usize, String)> =
            lines.into_iter().map(|(n, l)| (n, String::from_utf8(l).unwrap())).collect();
        let expected = [(1, "a b"), (3, "cd"), (4, ""), (5, "e")];
        assert_eq!(text, expected.map(|(n, l)| (n, l.to_owned())));
    }
}
