//! `nvidia-smi nvlink -s`: links per GPU, in the forms of several drivers.

use super::{SmiNvlink, captured};
use crate::root::{Evidence, Fact, Root, Why};
use regex::Regex;

const FILE: &str = "nvidia-smi-nvlink-s.txt";
const PATH: &str = "captured/nvidia-smi-nvlink-s.txt";

/// `GPU 0: NAME`, `Link 0: 25.781 GB/s`, `Link 0: 25 GB/s (Active)`, `Link 1: <inactive>`, and the sentence
/// printed in place of links when none is active. Several may share a line.
const PATTERN: &str = concat!(
    r"(?i)\bGPU (?P<gpu>\d{1,4}): ",
    r"|\bLink (?P<link>\d{1,4}): *(?:(?P<off><inactive>)|(?P<speed>\d{1,6}(?:\.\d{1,6})?) GB/s(?: *\((?P<state>\w+)\))?)",
    r"|(?P<all>all links are inactive)",
    r"|\bLink (?P<odd>\d{1,4}): *\S"
);

/// Reads the captured output. A GPU without any line of links has no NVLink.
pub(super) fn read(root: &Root) -> Fact<Vec<SmiNvlink>> {
    match captured(root, FILE) {
        Fact::Known { value, .. } => parse(&value),
        Fact::Absent { evidence } => Fact::Absent { evidence },
        Fact::Unknown(reason) => Fact::Unknown(reason),
    }
}

fn parse(text: &str) -> Fact<Vec<SmiNvlink>> {
    let Ok(pattern) = Regex::new(PATTERN) else {
        return Fact::unknown(PATH, Why::Malformed, "internal: the pattern does not compile");
    };
    let (mut gpu, mut links, mut evidence) = (None, Vec::new(), Vec::new());
    for (index, line) in text.lines().enumerate() {
        let mut seen = false;
        for found in pattern.captures_iter(line) {
            seen = true;
            let number = |name: &str| found.name(name).and_then(|m| m.as_str().parse::<i64>().ok());
            if let Some(number) = number("gpu") {
                gpu = Some(number);
                continue;
            }
            let Some(gpu) = gpu else {
                return Fact::malformed(PATH, index + 1, "a link before the first `GPU N:` line");
            };
            if found.name("odd").is_some() {
                return Fact::malformed(PATH, index + 1, "expected `N GB/s` or `<inactive>` after the link");
            }
            if found.name("all").is_some() {
                links.push(SmiNvlink { gpu, link: -1, active: false, mb_per_s: 0 });
            } else if let Some(link) = number("link") {
                let off = found.name("off").is_some()
                    || found.name("state").is_some_and(|m| m.as_str().eq_ignore_ascii_case("inactive"));
                let mb_per_s = if off { 0 } else { found.name("speed").map_or(0, |m| milli(m.as_str())) };
                links.push(SmiNvlink { gpu, link, active: mb_per_s > 0, mb_per_s });
            }
        }
        if seen {
            evidence.push(Evidence::at(PATH, index + 1, line.trim().chars().take(200).collect::<String>()));
        }
    }
    if gpu.is_none() {
        return Fact::unknown(PATH, Why::Malformed, "expected `GPU 0: ...` lines, found none");
    }
    Fact::from_lines(links, evidence)
}

/// `25.781` is 25781.
fn milli(text: &str) -> i64 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction: String = fraction.chars().chain("000".chars()).take(3).collect();
    let whole: i64 = whole.parse().unwrap_or(0);
    whole * 1000 + fraction.parse::<i64>().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::milli;

    #[test]
    fn speeds_keep_three_places() {
        assert_eq!(
            (milli("25.781"), milli("25"), milli("26.5625"), milli("0.5")),
            (25781, 25000, 26562, 500)
        );
    }
}
