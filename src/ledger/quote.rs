//! Quoting for a POSIX shell.

/// One word, quoted so that any POSIX shell reads it back as it is; plain words stay as they are.
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { always(word) }
}

/// One word, always in quotes.
pub(super) fn always(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A command as one would type it.
pub fn command_line(argv: &[String]) -> String {
    let words = argv.iter().enumerate().map(|(index, word)| {
        // A first word with `=` would be an assignment.
        if index == 0 && word.contains('=') { always(word) } else { quote(word) }
    });
    words.collect::<Vec<_>>().join(" ")
}
