//! Headers of LUKS2 volumes with tokens.

use super::Tree;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// UUID of every volume here.
pub const UUID: &str = "5d0c2e1a-77aa-4b1e-9f0e-1d2c3b4a5f60";
/// Binary header and JSON area.
pub const SIZE: usize = 16 << 10;

/// A header with these tokens, and a checksum that is right.
pub fn header(tokens: &Value) -> Vec<u8> {
    let json = json!({"keyslots": {}, "tokens": tokens, "segments": {}, "digests": {}, "config": {}});
    with_json(json.to_string().as_bytes())
}

/// A header whose JSON area holds this text.
pub fn with_json(json: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; SIZE];
    bytes[..6].copy_from_slice(b"LUKS\xba\xbe");
    bytes[7] = 2;
    bytes[8..16].copy_from_slice(&(SIZE as u64).to_be_bytes());
    bytes[72..78].copy_from_slice(b"sha256");
    bytes[168..168 + UUID.len()].copy_from_slice(UUID.as_bytes());
    bytes[4096..4096 + json.len()].copy_from_slice(json);
    let sum = Sha256::digest(&bytes);
    bytes[448..480].copy_from_slice(&sum);
    bytes
}

/// A `systemd-tpm2` token as systemd-cryptenroll writes it.
pub fn tpm2(pcrs: &[i64]) -> Value {
    json!({
        "type": "systemd-tpm2", "keyslots": ["1"], "tpm2-blob": "AAAA", "tpm2-pcrs": pcrs,
        "tpm2-pcr-bank": "sha256", "tpm2-policy-hash": "00", "tpm2-pin": false
    })
}

/// The same with other members.
pub fn but(mut token: Value, members: &Value) -> Value {
    for (key, value) in members.as_object().unwrap() {
        token[key] = value.clone();
    }
    token
}

/// A `clevis` token whose key is bound to this pin.
pub fn clevis(pin: &Value) -> Value {
    let parts =
        json!({"protected": protected(pin), "ciphertext": "x", "iv": "x", "tag": "x", "encrypted_key": ""});
    json!({"type": "clevis", "keyslots": ["2"], "jwe": parts})
}

/// Shares of `clevis`, so many of which are needed.
pub fn shares(threshold: u64, pins: &[Value]) -> Value {
    let jwes: Vec<String> = pins.iter().map(|pin| format!("{}..iv.text.tag", protected(pin))).collect();
    json!({"pin": "sss", "sss": {"t": threshold, "p": "x", "jwe": jwes}})
}

fn protected(pin: &Value) -> String {
    base64url(json!({"alg": "dir", "enc": "A256GCM", "clevis": pin}).to_string().as_bytes())
}

fn base64url(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, b| bits << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for at in 0..=chunk.len() {
            text.push(char::from(DIGITS[(bits >> (18 - 6 * at) & 63) as usize]));
        }
    }
    text
}

impl Tree {
    /// A volume `root` in crypttab with this header, and a host with a TPM.
    pub fn volume(self, options: &str, header: &[u8]) -> Self {
        self.file("etc/crypttab", format!("root UUID={UUID} none {options}\n"))
            .file("dev/nvme0n1p3", header)
            .link(&format!("dev/disk/by-uuid/{UUID}"), "../../nvme0n1p3")
            .dir("sys/class/tpm/tpm0")
    }

    /// The root file system on LVM on an open volume.
    pub fn mapped(self, name: &str) -> Self {
        let block = "sys/class/block";
        self.file(&format!("{block}/dm-0/dm/name"), format!("{name}\n"))
            .file(&format!("{block}/dm-0/dm/uuid"), format!("CRYPT-LUKS2-5d0c2e1a-{name}\n"))
            .dir(&format!("{block}/dm-0/slaves/nvme0n1p3"))
            .file(&format!("{block}/dm-1/dm/name"), "vg--a-root\n")
            .file(&format!("{block}/dm-1/dm/uuid"), "LVM-x\n")
            .dir(&format!("{block}/dm-1/slaves/dm-0"))
            .file("proc/mounts", "/dev/mapper/vg--a-root / ext4 rw 0 0\n")
    }
}
