//! `journalctl -o json`: one object per line.

use super::boot::LastBoot;
use super::{CAPTURE, KernelLog};
use crate::root::{Evidence, Fact, Unknown, Why};
use serde::Deserialize;
use serde_json::Value;

/// The fields that are used (systemd.journal-fields(7)).
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "_BOOT_ID")]
    boot: Option<String>,
    #[serde(rename = "_TRANSPORT")]
    transport: Option<String>,
    /// Microseconds, the kernel's own stamp.
    #[serde(rename = "_SOURCE_MONOTONIC_TIMESTAMP")]
    source_stamp: Option<String>,
    /// Microseconds, when the journal received it.
    #[serde(rename = "__MONOTONIC_TIMESTAMP")]
    stamp: Option<String>,
    /// Text; an array of bytes when it is not UTF-8; null when too large.
    #[serde(rename = "MESSAGE")]
    message: Option<Value>,
}

/// The kernel messages of the last boot in `text`. `cut` says why the output ends early; then silence proves
/// nothing. Lines that are no JSON objects are passed over.
pub(super) fn parse(text: &[u8], source: &str, cut: Option<String>) -> Result<KernelLog, Unknown> {
    let mut last = LastBoot::default();
    let mut boot: Option<String> = None;
    let mut bad: Option<usize> = None;
    let mut entries = 0usize;
    for (index, raw) in text.split(|b| *b == b'\n').enumerate() {
        let number = index + 1;
        if raw.trim_ascii().is_empty() {
            continue;
        }
        let Ok(entry) = serde_json::from_slice::<Entry>(raw) else {
            bad = bad.or(Some(number));
            continue;
        };
        entries += 1;
        if entry.boot.is_some() && entry.boot != boot {
            if boot.is_some() {
                last.restart();
            }
            boot = entry.boot;
        }
        if entry.transport.is_some_and(|t| t != "kernel") {
            continue;
        }
        let stamp = entry.source_stamp.or(entry.stamp);
        if let Some(text) = entry.message.as_ref().and_then(message) {
            last.message(number, stamp.as_deref().and_then(seconds), &text);
        }
    }
    if entries == 0
        && let Some(line) = bad
    {
        return Err(Unknown {
            path: source.to_owned(),
            line: u32::try_from(line).ok(),
            why: Why::Malformed,
            detail: format!(
                "expected one JSON object per line, as `journalctl -k -b -o json` prints; or {CAPTURE}"
            ),
        });
    }
    let mut log = last.finish(source)?;
    if let Some(cut) = cut {
        log.complete = Fact::known(false, Evidence::new(source, cut));
    }
    Ok(log)
}

fn message(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(bytes) => {
            let bytes: Vec<u8> =
                bytes.iter().filter_map(Value::as_u64).filter_map(|b| u8::try_from(b).ok()).collect();
            Some(String::from_utf8_lossy(&bytes).into_owned())
        }
        _ => None,
    }
}

#[allow(clippy::cast_precision_loss)] // microseconds of an uptime stay far below 2^53
pub(super) fn seconds(text: &str) -> Option<f64> {
    text.parse::<u64>().ok().map(|us| us as f64 / 1e6)
}
