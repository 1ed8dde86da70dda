//! `RegistryDwords` as the driver splits it (os-registry.c, `rm_string_token`, `os_strtoul`).

use super::RegistryKey;

/// Parses a `RegistryDwords` string: `;`-separated `key=value`, blanks dropped, a token with a second `=`
/// ignored (os-registry.c, `rm_parse_option_string`). Of two values for one key the last stays.
pub fn parse_registry(text: &str) -> Vec<RegistryKey> {
    let text: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let mut keys: Vec<RegistryKey> = Vec::new();
    for token in text.split(';') {
        let mut parts = token.split('=');
        let (Some(key), Some(value), None) = (parts.next(), parts.next(), parts.next()) else { continue };
        if key.is_empty() || value.is_empty() {
            continue;
        }
        keys.retain(|other| other.key != key);
        keys.push(RegistryKey { key: key.to_owned(), value: dword(value), text: value.to_owned() });
    }
    keys
}

/// `simple_strtoul` with base 0: `0x` is hexadecimal, a leading `0` octal; digits end at the first other
/// character, and 32 bits are kept. -1 where there is no digit at all (the driver reads 0 there).
fn dword(text: &str) -> i64 {
    let lower = text.to_ascii_lowercase();
    let (digits, radix) = match lower.strip_prefix("0x") {
        Some(hex) if hex.starts_with(|c: char| c.is_ascii_hexdigit()) => (hex, 16),
        _ if lower.starts_with('0') => (lower.as_str(), 8),
        _ => (lower.as_str(), 10),
    };
    let mut value: Option<u64> = None;
    for digit in digits.chars().map_while(|c| c.to_digit(radix)) {
        let so_far = value.unwrap_or(0).wrapping_mul(u64::from(radix));
        value = Some(so_far.wrapping_add(u64::from(digit)));
    }
    value.map_or(-1, |value| i64::try_from(value & 0xffff_ffff).unwrap_or(-1))
}

#[cfg(test)]
mod tests {
    use super::{dword, parse_registry};

    #[test]
    fn numbers_are_read_as_strtoul_does() {
        assert_eq!((dword("0x11"), dword("0X1f"), dword("17"), dword("021")), (17, 31, 17, 17));
        assert_eq!((dword("0"), dword("08"), dword("12z"), dword("0xzz")), (0, 0, 12, 0));
        assert_eq!((dword("yes"), dword("-1"), dword("0x1ffffffff")), (-1, -1, 0xffff_ffff));
    }

    #[test]
    fn tokens_are_the_drivers() {
        let keys = parse_registry(" A = 1 ; B=2=3;C=4=;=5;D=;;E;A=0x10 ");
        let short: Vec<(&str, i64, &str)> =
            keys.iter().map(|k| (k.key.as_str(), k.value, k.text.as_str())).collect();
        assert_eq!(short, [("A", 16, "0x10")]);
        assert!(parse_registry("").is_empty());
    }
}
