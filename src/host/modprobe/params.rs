//! Module parameters as the kernel splits them (lib/cmdline.c, `next_arg`; kernel/params.c, `parse_args`).

/// Splits at blanks outside double quotes. Single quotes, `;` and `$` are ordinary characters. Enclosing
/// double quotes of a value or of a whole word are removed; `--` ends the list.
pub(super) fn split(text: &str) -> Vec<(String, Option<String>)> {
    let mut pairs = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (word, after) = next(rest);
        rest = after.trim_start();
        let pair = unquote(word);
        if pair.1.is_none() && pair.0 == "--" {
            break;
        }
        if !pair.0.is_empty() {
            pairs.push(pair);
        }
    }
    pairs
}

/// One word, quotes included, and what follows it.
fn next(text: &str) -> (&str, &str) {
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        if c == '"' {
            quoted = !quoted;
        } else if c.is_ascii_whitespace() && !quoted {
            return text.split_at(at);
        }
    }
    (text, "")
}

/// A word as parameter and value: `name="a b"`, `"name=a b"` and `name=a` alike.
pub(super) fn unquote(word: &str) -> (String, Option<String>) {
    let (inner, whole) = match word.strip_prefix('"') {
        Some(inner) => (inner, true),
        None => (word, false),
    };
    // `equals` of 0 means none to the kernel, so that a word that begins with `=` has no value.
    let equals = inner.char_indices().skip(1).find(|(_, c)| *c == '=').map(|(at, _)| at);
    let Some(at) = equals else {
        let bare = if whole { inner.strip_suffix('"').unwrap_or(inner) } else { inner };
        return (bare.to_owned(), None);
    };
    let (name, value) = inner.split_at(at);
    let mut value = value.strip_prefix('=').unwrap_or(value);
    if let Some(open) = value.strip_prefix('"') {
        value = open.strip_suffix('"').unwrap_or(open);
    } else if whole {
        value = value.strip_suffix('"').unwrap_or(value);
    }
    (name.to_owned(), Some(value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::split;

    fn pairs(text: &str) -> Vec<(String, Option<String>)> {
        split(text)
    }

    #[test]
    fn quotes_are_the_kernels() {
        let some = |n: &str, v: &str| (n.to_owned(), Some(v.to_owned()));
        assert_eq!(
            pairs(r#"a="x y;z=1" "b=p q" c='d e' f"#),
            vec![
                some("a", "x y;z=1"),
                some("b", "p q"),
                some("c", "'d"),
                ("e'".to_owned(), None),
                ("f".to_owned(), None)
            ]
        );
        assert_eq!(pairs("a= b=\"\""), vec![some("a", ""), some("b", "")]);
        assert_eq!(pairs("a=1 -- b=2"), vec![some("a", "1")]);
        assert!(pairs("  \r").is_empty());
    }
}
