//! Headers of LUKS volumes, as far as they tell how a volume is opened: the tokens of LUKS2 with what their keys are
//! sealed to ("LUKS2 On-Disk Format Specification" 1.1.3; systemd src/shared/tpm2-util.c). Keys are not looked at.

use super::clevis::{self, Pin};
use serde_json::Value;
use sha2::{Digest, Sha256, Sha512};

/// Bytes that hold any header: the largest binary header with its JSON area.
pub const LARGEST: u64 = 4 << 20;

/// Length of the binary header.
const BINARY: usize = 4096;
/// Sizes that the two together may have.
const SIZES: [usize; 9] =
    [16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20];
/// Where the checksum stands.
const CHECKSUM: std::ops::Range<usize> = 448..512;

/// What a header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// 1 or 2. Only version 2 has tokens.
    pub version: u16,
    /// UUID, as it stands there.
    pub uuid: String,
    /// Tokens that open a key slot, with their number.
    pub tokens: Vec<(String, Token)>,
    /// The checksum was compared. False for LUKS1, which has none, and for an algorithm that is not known here.
    pub verified: bool,
}

/// One way to a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// `systemd-tpm2`: sealed in the TPM.
    Tpm2 {
        /// Registers of a literal policy; none when they cannot be read.
        pcrs: Option<Vec<i64>>,
        /// Registers of a signed policy (`tpm2_pubkey_pcrs`).
        signed: Option<Vec<i64>>,
        /// A PIN is asked for.
        pin: bool,
        /// Bound to the measurements that systemd-pcrlock predicts.
        pcrlock: bool,
    },
    /// `clevis`.
    Clevis(Pin),
    /// `systemd-fido2`, `systemd-pkcs11`: a device that a person holds.
    Device(String),
    /// `systemd-recovery`: a passphrase to be typed.
    Recovery,
    /// Another type.
    Other(String),
}

/// Reads the header at the start of a volume; `bytes` may go on behind it. The reason when there is none, or when it
/// is not whole.
pub fn parse(bytes: &[u8]) -> Result<Header, String> {
    let binary = bytes.get(..BINARY).ok_or("expected a LUKS header, found too few bytes")?;
    match binary.get(..6) {
        Some(b"LUKS\xba\xbe") => {}
        _ => return Err("expected a LUKS header (`LUKS` and 0xba 0xbe)".to_owned()),
    }
    let uuid = text(binary.get(168..208).unwrap_or_default());
    let version = u16::from_be_bytes([number(binary, 6), number(binary, 7)]);
    match version {
        1 => return Ok(Header { version, uuid, tokens: Vec::new(), verified: false }),
        2 => {}
        other => return Err(format!("expected version 1 or 2 of LUKS, found {other}")),
    }
    let size = binary.get(8..16).and_then(|b| b.try_into().ok()).map(u64::from_be_bytes).unwrap_or_default();
    let size = usize::try_from(size).ok().filter(|size| SIZES.contains(size));
    let size = size.ok_or("the size of the header is none that LUKS2 knows")?;
    let area =
        bytes.get(..size).ok_or_else(|| format!("expected {size} bytes of header, found {}", bytes.len()))?;
    let verified = verify(area, &text(binary.get(72..104).unwrap_or_default()))?;
    let json = area.get(BINARY..).unwrap_or_default();
    let json = json.split(|b| *b == 0).next().unwrap_or_default();
    let value: Value = serde_json::from_slice(json).map_err(|e| format!("its JSON area: {e}"))?;
    let tokens = match value.get("tokens") {
        None => Vec::new(),
        Some(Value::Object(tokens)) => {
            tokens.iter().filter_map(|(id, t)| Some((id.clone(), token(t)?))).collect()
        }
        Some(_) => return Err("its JSON area: expected an object as `tokens`".to_owned()),
    };
    Ok(Header { version, uuid, tokens, verified })
}

fn number(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or_default()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.split(|b| *b == 0).next().unwrap_or_default()).into_owned()
}

/// The checksum is that of the whole area with zeros in its own place.
fn verify(area: &[u8], algorithm: &str) -> Result<bool, String> {
    let (before, rest) = area.split_at(CHECKSUM.start);
    let (stored, after) = rest.split_at(CHECKSUM.len());
    let zeros = [0; CHECKSUM.end - CHECKSUM.start];
    let sum: Vec<u8> = match algorithm {
        "sha256" => {
            Sha256::new().chain_update(before).chain_update(zeros).chain_update(after).finalize().to_vec()
        }
        "sha512" => {
            Sha512::new().chain_update(before).chain_update(zeros).chain_update(after).finalize().to_vec()
        }
        _ => return Ok(false),
    };
    if stored.starts_with(&sum) {
        Ok(true)
    } else {
        Err("its checksum is wrong: `cryptsetup luksDump` reads the second header, `repair` restores it"
            .to_owned())
    }
}

/// A token; none for one that opens no key slot.
fn token(value: &Value) -> Option<Token> {
    let slots = value.get("keyslots").and_then(Value::as_array);
    if slots.is_some_and(Vec::is_empty) {
        return None;
    }
    let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
    let is = |name: &str| value.get(name).and_then(Value::as_bool) == Some(true);
    Some(match kind {
        "systemd-tpm2" => Token::Tpm2 {
            pcrs: value.get("tpm2-pcrs").and_then(registers),
            signed: value.get("tpm2_pubkey_pcrs").map_or(Some(Vec::new()), registers),
            pin: is("tpm2-pin"),
            pcrlock: is("tpm2_pcrlock") || value.get("tpm2_pcrlock_nv").is_some(),
        },
        "clevis" => Token::Clevis(clevis::of_token(value)),
        "systemd-fido2" | "systemd-pkcs11" => Token::Device(kind.to_owned()),
        "systemd-recovery" => Token::Recovery,
        other => Token::Other(other.to_owned()),
    })
}

/// A list of register numbers.
fn registers(value: &Value) -> Option<Vec<i64>> {
    value.as_array()?.iter().map(Value::as_i64).collect()
}
