//! GRUB's environment block (`grubenv`): 1024 bytes of `name=value` lines behind a signature, filled up with `#`
//! (grub-core/lib/envblk.c). GRUB writes it in place at boot, so its length never changes.

use std::ops::Range;

/// Length of a block that `grub-editenv create` makes (`DEFAULT_ENVBLK_SIZE`, util/grub-editenv.c).
pub const SIZE: usize = 1024;
/// First line (`GRUB_ENVBLK_SIGNATURE`, include/grub/lib/envblk.h).
const SIGNATURE: &[u8] = b"# GRUB Environment Block\n";

/// A block that GRUB would take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grubenv {
    bytes: Vec<u8>,
    /// Where the filling begins.
    end: usize,
}

impl Grubenv {
    /// Takes the bytes of a file; the reason when GRUB or `grub-editenv` would not take them, or when the block
    /// has not the length that GRUB expects.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() != SIZE {
            return Err(format!("expected {SIZE} bytes, found {}", bytes.len()));
        }
        if !bytes.starts_with(SIGNATURE) {
            return Err("expected `# GRUB Environment Block` on the first line".to_owned());
        }
        let end = bytes.iter().rposition(|b| *b != b'#').map_or(0, |at| at + 1);
        if bytes.get(end.wrapping_sub(1)) != Some(&b'\n') {
            return Err("the last line has no end before the filling of `#`".to_owned());
        }
        Ok(Self { bytes: bytes.to_vec(), end })
    }

    /// An empty block.
    pub fn empty() -> Self {
        let mut bytes = SIGNATURE.to_vec();
        let end = bytes.len();
        bytes.resize(SIZE, b'#');
        Self { bytes, end }
    }

    /// The whole block.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The value of a variable, escapes undone; the first line counts, as in `grub-editenv set`.
    pub fn get(&self, name: &str) -> Option<Vec<u8>> {
        self.find(name).map(|line| unescape(self.bytes.get(line.value).unwrap_or_default()))
    }

    /// Every variable in order.
    pub fn variables(&self) -> Vec<(String, Vec<u8>)> {
        let lines = self.lines().into_iter();
        lines
            .map(|line| {
                let name = self.bytes.get(line.name).unwrap_or_default();
                let value = self.bytes.get(line.value).unwrap_or_default();
                (String::from_utf8_lossy(name).into_owned(), unescape(value))
            })
            .collect()
    }

    /// The block with a variable set; the reason when it has no room.
    pub fn set(&self, name: &str, value: &str) -> Result<Self, String> {
        let mut escaped = Vec::with_capacity(value.len());
        for byte in value.bytes() {
            if matches!(byte, b'\\' | b'\n') {
                escaped.push(b'\\');
            }
            escaped.push(byte);
        }
        let mut content = self.bytes.get(..self.end).unwrap_or_default().to_vec();
        if let Some(line) = self.find(name) {
            content.splice(line.value, escaped);
        } else {
            content.extend_from_slice(name.as_bytes());
            content.push(b'=');
            content.extend(escaped);
            content.push(b'\n');
            // `grub_envblk_set` keeps one byte free when it adds a line.
            if content.len() >= SIZE {
                return Err(full(name));
            }
        }
        Self::filled(content).ok_or_else(|| full(name))
    }

    /// The block without a variable.
    #[must_use]
    pub fn unset(&self, name: &str) -> Self {
        let Some(line) = self.find(name) else { return self.clone() };
        let mut content = self.bytes.get(..self.end).unwrap_or_default().to_vec();
        content.drain(line.name.start..(line.value.end + 1).min(content.len()));
        Self::filled(content).unwrap_or_else(|| self.clone())
    }

    fn filled(mut bytes: Vec<u8>) -> Option<Self> {
        let end = bytes.len();
        if end > SIZE {
            return None;
        }
        bytes.resize(SIZE, b'#');
        Some(Self { bytes, end })
    }

    fn find(&self, name: &str) -> Option<Line> {
        let named = |line: &Line| self.bytes.get(line.name.clone()) == Some(name.as_bytes());
        self.lines().into_iter().find(named)
    }

    /// Lines with `=` that are no comments. A backslash takes the next byte with it, so a value may hold line ends.
    fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut start = SIGNATURE.len();
        while start < self.end {
            let mut at = start;
            while at < self.end && self.bytes.get(at) != Some(&b'\n') {
                at += if self.bytes.get(at) == Some(&b'\\') { 2 } else { 1 };
            }
            let at = at.min(self.end);
            let text = self.bytes.get(start..at).unwrap_or_default();
            if let (Some(equals), false) = (text.iter().position(|b| *b == b'='), text.starts_with(b"#")) {
                lines.push(Line { name: start..start + equals, value: start + equals + 1..at });
            }
            start = at + 1;
        }
        lines
    }
}

struct Line {
    name: Range<usize>,
    value: Range<usize>,
}

fn unescape(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    let mut bytes = value.iter();
    while let Some(byte) = bytes.next() {
        out.extend(if *byte == b'\\' { bytes.next() } else { Some(byte) });
    }
    out
}

fn full(name: &str) -> String {
    format!("the environment block has no room for {name} (grub-editenv list shows what fills it)")
}
