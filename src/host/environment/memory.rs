//! Physical memory and the size of `/dev/shm`.

use crate::root::{Evidence, Fact, Root, Why};

const MEMINFO: &str = "proc/meminfo";
const SHM: &str = "dev/shm";

/// `MemTotal` in bytes (the kernel prints KiB and calls them kB).
pub(in crate::host) fn total(root: &Root) -> Fact<i64> {
    let text = match root.text(MEMINFO) {
        Fact::Known { value, .. } => value,
        // Every kernel makes this file.
        Fact::Absent { .. } => return Fact::unknown(MEMINFO, Why::NotCaptured, ""),
        Fact::Unknown(reason) => return Fact::Unknown(reason),
    };
    let found = text.lines().enumerate().find_map(|(i, l)| Some((i + 1, l, l.strip_prefix("MemTotal:")?)));
    let Some((number, line, rest)) = found else {
        return Fact::malformed(MEMINFO, 1, "expected a line `MemTotal: N kB`");
    };
    let kib = rest.trim().strip_suffix("kB").and_then(|n| n.trim().parse::<i64>().ok());
    match kib.filter(|n| *n >= 0).and_then(|n| n.checked_mul(1024)) {
        Some(bytes) => Fact::known(bytes, Evidence::at(MEMINFO, number, line)),
        None => Fact::malformed(MEMINFO, number, format!("expected `MemTotal: N kB`, found {line:?}")),
    }
}

/// Size of `/dev/shm`: the mounted file system when live; in a tree its mount option, or half of the memory,
/// which is what tmpfs takes without one (Documentation/filesystems/tmpfs.rst).
pub(super) fn shm(root: &Root, memory: &Fact<i64>) -> Fact<i64> {
    if root.is_live() { mounted() } else { captured(root, memory) }
}

fn mounted() -> Fact<i64> {
    match nix::sys::statvfs::statvfs("/dev/shm") {
        Ok(stat) => {
            // Their width differs between platforms.
            #[allow(clippy::useless_conversion)]
            let (blocks, size) = (u64::from(stat.blocks()), u64::from(stat.fragment_size()));
            let bytes = i64::try_from(blocks.saturating_mul(size)).unwrap_or(i64::MAX);
            Fact::known(bytes, Evidence::new(SHM, format!("{bytes} bytes (statvfs)")))
        }
        Err(nix::errno::Errno::ENOENT) => Fact::absent(SHM),
        Err(nix::errno::Errno::EACCES) => Fact::unknown(SHM, Why::Permission, "run as root to read it"),
        Err(error) => Fact::unknown(SHM, Why::Unreadable, error.desc()),
    }
}

fn captured(root: &Root, memory: &Fact<i64>) -> Fact<i64> {
    // `proc/mounts` is a link to `self/mounts`, which a capture may not hold.
    let mut missed = Fact::unknown("proc/mounts", Why::NotCaptured, "");
    for path in ["proc/mounts", "proc/self/mounts", "proc/1/mounts"] {
        match root.text(path) {
            Fact::Known { value, .. } => return option(&value, path, memory),
            Fact::Absent { .. } => {}
            Fact::Unknown(reason) => missed = Fact::Unknown(reason),
        }
    }
    missed
}

/// The last mount on `/dev/shm` is the one that counts.
fn option(mounts: &str, path: &str, memory: &Fact<i64>) -> Fact<i64> {
    let fields = |line: &str| line.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let last = mounts
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line, fields(line)))
        .filter(|(_, _, f)| f.get(1).is_some_and(|at| at == "/dev/shm"))
        .last();
    let Some((number, line, fields)) = last else { return Fact::absent(SHM) };
    let here = || Evidence::at(path, number, line);
    let options = fields.get(3).map(String::as_str).unwrap_or_default();
    let Some(size) = options.split(',').find_map(|o| o.strip_prefix("size=")) else {
        return match memory {
            Fact::Known { value, evidence } => {
                let mut lines = vec![here()];
                lines.extend(evidence.iter().cloned());
                Fact::from_lines(value / 2, lines)
            }
            _ => Fact::unknown(path, Why::Derived, "no size= option: half of the memory, which is not known"),
        };
    };
    match bytes(size, memory.value().copied()) {
        Some(bytes) => Fact::known(bytes, here()),
        None if size.ends_with('%') && memory.value().is_none() => {
            Fact::unknown(path, Why::Derived, format!("size={size} of the memory, which is not known"))
        }
        None => Fact::malformed(path, number, format!("expected size=N with k, m, g or %, found {size:?}")),
    }
}

/// `65536k`, `50%`
fn bytes(size: &str, memory: Option<i64>) -> Option<i64> {
    let digits = size.trim_end_matches(|c: char| !c.is_ascii_digit());
    let number = digits.parse::<i64>().ok().filter(|n| *n >= 0)?;
    match size.get(digits.len()..)? {
        "" => Some(number),
        "k" | "K" => number.checked_mul(1 << 10),
        "m" | "M" => number.checked_mul(1 << 20),
        "g" | "G" => number.checked_mul(1 << 30),
        "t" | "T" => number.checked_mul(1 << 40),
        "%" => memory?.checked_div(100)?.checked_mul(number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_with_units() {
        assert_eq!(bytes("65536k", None), Some(64 << 20));
        assert_eq!(bytes("2g", None), Some(2 << 30));
        assert_eq!(bytes("4096", None), Some(4096));
        assert_eq!(bytes("25%", Some(1000)), Some(250));
        for bad in ["", "k", "-1k", "12q", "99999999999999999999g", "9999999999g", "é"] {
            assert_eq!(bytes(bad, Some(1)), None, "{bad}");
        }
    }
}
