//! Processors that are online.

use super::part::{Part, expected};
use crate::root::Root;

const ONLINE: &str = "sys/devices/system/cpu/online";
/// No kernel can be built for more.
const MOST: u32 = 1 << 16;

/// Numbers in `sys/devices/system/cpu/online`, which reads `0-15` or `0,2-7`.
pub(super) fn online(root: &Root) -> Part<Vec<u32>> {
    let numbers = root
        .line(ONLINE)
        .parse(|text| list(text).ok_or_else(|| format!("expected a list such as 0-15, found {text:?}")));
    expected(root, ONLINE, numbers)
}

fn list(text: &str) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for range in text.split(',').map(str::trim) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        if first > last || last >= MOST {
            return None;
        }
        all.extend(first..=last);
    }
    all.sort_unstable();
    all.dedup();
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::list;

    #[test]
    fn ranges_and_single_numbers() {
        assert_eq!(list("0"), Some(vec![0]));
        assert_eq!(list("0,2-4"), Some(vec![0, 2, 3, 4]));
        for bad in ["", "a", "3-1", "0-", "0-99999999", "-1"] {
            assert_eq!(list(bad), None, "{bad}");
        }
    }
}
