//! Words of systemd's configuration (systemd.syntax(7), "Quoting").

/// Splits a value into words: single and double quotes, C-style escapes, `%%` as one percent sign. An
/// unfinished quote reaches to the end.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_ascii_whitespace() => words.extend(word.take()),
            (_, '\\') => escape(&mut chars, word.get_or_insert_default()),
            (_, '%') => {
                chars.next_if_eq(&'%');
                word.get_or_insert_default().push('%');
            }
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

fn escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    let Some(c) = chars.next() else { return };
    match c {
        'n' => out.push('\n'),
        't' => out.push('\t'),
        's' => out.push(' '),
        'x' => {
            let hex: String = std::iter::from_fn(|| chars.next_if(char::is_ascii_hexdigit)).take(2).collect();
            match u8::from_str_radix(&hex, 16) {
                Ok(byte) => out.push(char::from(byte)),
                Err(_) => out.push('x'),
            }
        }
        '\\' | '"' | '\'' => out.push(c),
        other => {
            out.push('\\');
            out.push(other);
        }
    }
}

/// Lines with those joined that end in a backslash; each with the number of its first row. Comment rows
/// inside a continuation are dropped.
pub(super) fn joined(text: &str) -> Vec<(usize, String)> {
    let mut out: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (index, row) in text.lines().enumerate() {
        let bare = row.trim();
        if bare.starts_with(['#', ';']) {
            continue;
        }
        let (body, more) = match bare.strip_suffix('\\') {
            Some(body) => (body, true),
            None => (bare, false),
        };
        match out.last_mut().filter(|_| open) {
            Some((_, line)) => {
                line.push(' ');
                line.push_str(body.trim());
            }
            None => out.push((index + 1, body.to_owned())),
        }
        open = more;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_escapes() {
        assert_eq!(
            words(r#""A=one two" B=three 'C=x"y' D=\x41\s%%"#),
            ["A=one two", "B=three", "C=x\"y", "D=A %"]
        );
        assert_eq!(words(r#"A="unfinished"#), ["A=unfinished"]);
        assert_eq!(words(r"A=\"), ["A="]);
        assert!(words("  ").is_empty());
    }

    #[test]
    fn continued_lines_keep_their_first_number() {
        let lines = joined("[Service]\nEnvironment=A=1 \\\n# between\n  B=2\nExecStart=/bin/true\n");
        assert_eq!(lines[1], (2, "Environment=A=1  B=2".to_owned()));
        assert_eq!(lines[2].0, 5);
    }
}
