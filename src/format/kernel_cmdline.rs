//! Words of a kernel command line as the kernel splits them (lib/cmdline.c `next_arg`), and
//! `/etc/kernel/cmdline`, the line that kernel-install, Proxmox and UKI builders give to new entries.

/// Splits at blanks outside double quotes; quotes stay where they stand.
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    for c in text.chars() {
        if c == '"' {
            quoted = !quoted;
        }
        if !quoted && (c.is_ascii_whitespace() || c == '\u{b}') {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
        } else {
            word.push(c);
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// The words of a running line that belong to the kernel: those before ` -- ` (after it they belong to init).
pub fn kernel_words(text: &str) -> Vec<String> {
    words(text).into_iter().take_while(|w| w != "--").collect()
}

/// A word as words are compared: `-` and `_` alike in the key (kernel/params.c `parameq`), double quotes aside.
pub fn comparable(word: &str) -> String {
    let text: String = word.chars().filter(|c| *c != '"').collect();
    match text.split_once('=') {
        Some((key, value)) => format!("{}={value}", key.replace('-', "_")),
        None => text.replace('-', "_"),
    }
}

/// The key of a word as keys are compared.
pub fn key(word: &str) -> String {
    comparable(word).split('=').next().unwrap_or_default().to_owned()
}

/// The words of `/etc/kernel/cmdline`. proxmox-boot-tool takes the first line alone; kernel-install takes all
/// lines (`all_lines`), leaving out those that begin with `#`.
pub fn file_words(text: &str, all_lines: bool) -> Vec<String> {
    if all_lines {
        text.lines().filter(|l| !l.trim_start().starts_with('#')).flat_map(words).collect()
    } else {
        words(text.lines().next().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::{comparable, file_words, kernel_words, key, words};

    #[test]
    fn blanks_inside_double_quotes_do_not_split() {
        assert_eq!(words("a  b=\"c d\"\te\n"), ["a", "b=\"c d\"", "e"]);
        assert_eq!(words(r#"x "whole token=a b" y"#), ["x", r#""whole token=a b""#, "y"]);
        assert_eq!(kernel_words("a -- b"), ["a"]);
    }

    #[test]
    fn keys_compare_with_dash_and_underscore_alike() {
        assert_eq!(comparable("intel-iommu=a-b"), "intel_iommu=a-b");
        assert_eq!(comparable("\"a=b c\""), comparable("a=\"b c\""));
        assert_eq!(key("vfio-pci.ids=1:2"), "vfio_pci.ids");
    }

    #[test]
    fn the_file_may_hold_comments_and_further_lines() {
        assert_eq!(file_words("a b\nc\n", false), ["a", "b"]);
        assert_eq!(file_words("a\n# x\n\nb c\n", true), ["a", "b", "c"]);
    }
}
