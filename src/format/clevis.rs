//! What a key that clevis keeps is bound to: the protected header of a JWE names the pin and its settings
//! (clevis src/pins; clevis-encrypt-tpm2(1), clevis-encrypt-sss(1)).

use serde_json::Value;

/// Shares inside of shares.
const DEEPEST: usize = 4;

/// A pin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pin {
    /// Sealed in the TPM.
    Tpm2 {
        /// Registers, empty for none; none when they cannot be read.
        pcrs: Option<Vec<i64>>,
    },
    /// A server in the network.
    Tang,
    /// So many of several pins.
    Sss {
        /// Pins that are needed.
        threshold: usize,
        /// All of them.
        pins: Vec<Pin>,
    },
    /// Another, or one that cannot be read.
    Other(String),
}

/// The pin of a LUKS2 token of type `clevis`.
pub(super) fn of_token(token: &Value) -> Pin {
    let jwe = token.get("jwe");
    let protected = match jwe {
        Some(Value::String(compact)) => compact.split('.').next(),
        Some(object) => object.get("protected").and_then(Value::as_str),
        None => None,
    };
    protected.map_or_else(|| Pin::Other("no protected header".to_owned()), |text| pin(text, 0))
}

fn pin(protected: &str, depth: usize) -> Pin {
    let header = base64url(protected).and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let Some(clevis) = header.as_ref().and_then(|h| h.get("clevis")) else {
        return Pin::Other("a header that cannot be read".to_owned());
    };
    let name = clevis.get("pin").and_then(Value::as_str).unwrap_or_default();
    let settings = clevis.get(name);
    match name {
        "tpm2" => Pin::Tpm2 { pcrs: settings.and_then(|s| registers(s.get("pcr_ids"))) },
        "tang" => Pin::Tang,
        "sss" if depth < DEEPEST => {
            let shares = settings.and_then(|s| s.get("jwe")).and_then(Value::as_array);
            let shares = shares.into_iter().flatten().filter_map(Value::as_str);
            let pins = shares.map(|jwe| pin(jwe.split('.').next().unwrap_or_default(), depth + 1)).collect();
            let threshold = settings.and_then(|s| s.get("t")).and_then(Value::as_u64);
            match threshold.and_then(|t| usize::try_from(t).ok()) {
                Some(threshold) => Pin::Sss { threshold, pins },
                None => Pin::Other("sss without a threshold".to_owned()),
            }
        }
        other => Pin::Other(other.to_owned()),
    }
}

/// `"0,7"`, or an array; nothing means no register.
fn registers(value: Option<&Value>) -> Option<Vec<i64>> {
    match value {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::String(text)) => {
            let numbers = text.split(',').map(str::trim).filter(|t| !t.is_empty());
            numbers.map(|t| t.parse().ok()).collect()
        }
        Some(Value::Array(list)) => list.iter().map(Value::as_i64).collect(),
        Some(Value::Number(number)) => number.as_i64().map(|n| vec![n]),
        Some(_) => None,
    }
}

/// Base64 with `-` and `_`, without padding (RFC 7515, appendix C).
fn base64url(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut bits, mut held) = (0_u32, 0_u32);
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'-' => 62,
            b'_' => 63,
            b'=' => break,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push(u8::try_from(bits >> held & 0xff).ok()?);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::base64url;

    #[test]
    fn base64url_is_read() {
        assert_eq!(base64url("eyJhIjoxfQ").unwrap(), b"{\"a\":1}");
        assert_eq!(base64url("-_8").unwrap(), [0xfb, 0xff]);
        assert_eq!(base64url("").unwrap(), b"");
        assert!(base64url("a+b").is_none());
    }
}
