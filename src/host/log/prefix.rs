//! What stands before a kernel message: time stamps of `dmesg` and `journalctl` in all their formats, host
//! name, `kernel:`, priority, caller.

/// A line taken apart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Stripped<'a> {
    /// Seconds since boot.
    pub(super) seconds: Option<f64>,
    /// A stamp, priority or `kernel:` was there; lines without are continuations or bare messages.
    pub(super) stamped: bool,
    /// A user-space program wrote it.
    pub(super) userland: bool,
    /// The rest.
    pub(super) message: &'a str,
}

/// Takes the prefix off one line. Stamps may nest (syslog files keep the kernel's own beside theirs).
pub(super) fn strip(line: &str) -> Stripped<'_> {
    let mut out = Stripped { message: line, ..Stripped::default() };
    for _ in 0..4 {
        let rest = out.message.trim_start();
        let Some(next) = priority(rest)
            .map(|r| (None, Names::None, r))
            .or_else(|| bracket(rest))
            .or_else(|| wall_clock(rest))
        else {
            break;
        };
        let (seconds, names, rest) = next;
        out.seconds = seconds.or(out.seconds);
        out.stamped = true;
        out.message = rest.trim_start();
        match names {
            Names::None => {}
            Names::Maybe => {
                if let Some(rest) = out.message.split_once(' ').and_then(|(_, r)| after_kernel(r)) {
                    out.message = rest;
                } else if has_pid(out.message.split(' ').nth(1).unwrap_or_default()) {
                    out.userland = true;
                    return out;
                }
            }
            // `Nov 03 10:11:12 kernel: …` of some syslog files has no host name.
            Names::Always if after_kernel(out.message).is_some() => {}
            Names::Always => {
                let Some((_, after)) = out.message.split_once(' ') else { break };
                let after = after.trim_start();
                if let Some(rest) = after_kernel(after) {
                    out.message = rest;
                } else if after.split(' ').next().is_some_and(|word| word.ends_with(':')) {
                    out.userland = true;
                    return out;
                } else {
                    out.message = after;
                }
            }
        }
    }
    if let Some(rest) = after_kernel(out.message.trim_start()) {
        out.stamped = true;
        out.message = rest;
    }
    match out.message.split_once(':') {
        // `dmesg -x`: `kern  :info  : message`; other facilities are user space.
        Some((facility, rest)) if facility.len() <= 8 && FACILITIES.contains(&facility.trim_end()) => {
            if let Some((level, message)) = rest.split_once(':').filter(|(l, _)| LEVELS.contains(&l.trim())) {
                out.stamped = true;
                out.userland = !facility.starts_with("kern") || level.is_empty();
                out.message = message;
                let inner = strip_inner(message);
                out.seconds = inner.0.or(out.seconds);
                out.message = inner.1;
            }
        }
        _ => {}
    }
    out.message = out.message.trim();
    out
}

const FACILITIES: [&str; 8] = ["kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news"];
const LEVELS: [&str; 8] = ["emerg", "alert", "crit", "err", "warn", "notice", "info", "debug"];

/// Whether host name and program follow a stamp.
#[derive(Clone, Copy)]
enum Names {
    None,
    Maybe,
    Always,
}

/// The bracketed stamp and caller after a decoded facility.
fn strip_inner(text: &str) -> (Option<f64>, &str) {
    let rest = text.trim_start();
    bracket(rest).map_or((None, rest), |(seconds, _, rest)| (seconds, rest.trim_start()))
}

/// `<6>` of `dmesg -r` and serial consoles.
fn priority(text: &str) -> Option<&str> {
    let (number, rest) = text.strip_prefix('<')?.split_once('>')?;
    (number.len() <= 4 && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())).then_some(rest)
}

/// `[   12.345678]`, with the caller (`[    T1]`) that follows it, or `[Mon Nov  2 10:11:12 2026]`.
fn bracket(text: &str) -> Option<(Option<f64>, Names, &str)> {
    let (inside, rest) = text.strip_prefix('[')?.split_once(']')?;
    if inside.len() > 40 {
        return None;
    }
    let inside = inside.trim();
    if inside.contains('.') && inside.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        let seconds: f64 = inside.parse().ok()?;
        let after = rest.trim_start();
        let caller =
            after.strip_prefix('[').and_then(|t| t.split_once(']')).filter(|(who, _)| is_caller(who));
        return Some((Some(seconds), Names::Maybe, caller.map_or(rest, |(_, rest)| rest)));
    }
    let dated = inside.split_ascii_whitespace().any(is_time);
    dated.then_some((None, Names::None, rest))
}

/// `T123` (task) or `C4` (processor), CONFIG_PRINTK_CALLER.
fn is_caller(text: &str) -> bool {
    let text = text.trim_start();
    let digits = text.strip_prefix(['T', 'C']).unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

/// ISO stamps, `Nov 03 10:11:12`, `Mon 2026-11-02 10:11:12 CET` and a bare `10:11:12`.
fn wall_clock(text: &str) -> Option<(Option<f64>, Names, &str)> {
    let (first, rest) = text.split_once(' ')?;
    if let Some((date, time)) = first.split_once('T')
        && is_date(date)
        && time.get(..8).is_some_and(is_time)
    {
        // util-linux writes a comma before the fraction and no names; systemd writes neither or a point.
        let names = if first.contains(',') { Names::Maybe } else { Names::Always };
        return Some((None, names, rest));
    }
    if is_time(first) {
        return Some((None, Names::Maybe, rest));
    }
    let (second, rest) = rest.trim_start().split_once(' ')?;
    if is_date(first) && is_time(second) {
        return Some((None, Names::Always, rest));
    }
    let (third, rest) = rest.trim_start().split_once(' ')?;
    if !is_time(third) {
        return None;
    }
    if is_date(second) {
        // The zone follows.
        let rest = rest.trim_start().split_once(' ').map_or(rest, |(_, r)| r);
        return Some((None, Names::Always, rest));
    }
    let day = |t: &str| t.len() <= 3 && t.trim_end_matches('.').bytes().all(|b| b.is_ascii_digit());
    (day(second) || day(first)).then_some((None, Names::Always, rest))
}

fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 10
        && bytes
            .iter()
            .enumerate()
            .all(|(i, b)| if matches!(i, 4 | 7) { *b == b'-' } else { b.is_ascii_digit() })
}

/// `HH:MM:SS`, with a fraction.
fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 8
        && bytes
            .iter()
            .take(8)
            .enumerate()
            .all(|(i, b)| if matches!(i, 2 | 5) { *b == b':' } else { b.is_ascii_digit() })
        && bytes.iter().skip(8).all(|b| b.is_ascii_digit() || matches!(b, b'.' | b','))
}

/// The text behind `kernel:`.
fn after_kernel(text: &str) -> Option<&str> {
    text.strip_prefix("kernel:").or_else(|| text.strip_prefix("kernel[0]:")).map(str::trim_start)
}

/// `sshd[123]:`
fn has_pid(word: &str) -> bool {
    word.strip_suffix("]:").and_then(|w| w.split_once('[')).is_some_and(|(name, pid)| {
        !name.is_empty() && !pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stamp_leaves_the_message() {
        let message = "DMAR: Host address width 46";
        for (prefix, seconds) in [
            ("", None),
            ("[    3.271592] ", Some(3.271_592)),
            ("[    3.271592] [   T77] ", Some(3.271_592)),
            ("<4>[    3.271592] ", Some(3.271_592)),
            ("kern  :info  : [    3.271592] ", Some(3.271_592)),
            ("[Tue Mar  3 04:05:06 2026] ", None),
            ("Mar 03 04:05:06 box kernel: ", None),
            ("Mar  3 04:05:06.778899 box kernel: ", None),
            ("Mar  3 04:05:06 box kernel: [    3.271592] ", Some(3.271_592)),
            ("2026-03-03T04:05:06+0100 box kernel: ", None),
            ("2026-03-03T04:05:06,123456+01:00 ", None),
            ("Tue 2026-03-03 04:05:06 CET box kernel: ", None),
            ("[    3.271592] box kernel: ", Some(3.271_592)),
            ("[    3.271592] kernel: ", Some(3.271_592)),
            ("04:05:06  ", None),
        ] {
            let line = format!("{prefix}{message}");
            let got = strip(&line);
            assert_eq!((got.message, got.seconds, got.userland), (message, seconds, false), "{line}");
            assert_eq!(got.stamped, !prefix.is_empty(), "{line}");
        }
    }

    #[test]
    fn programs_of_user_space_are_told_apart() {
        for line in [
            "Mar 03 04:05:06 box sudo[99]: root : COMMAND=/bin/grep DMAR: x",
            "Mar 03 04:05:06 box sudo: root : COMMAND=/bin/grep",
            "[    3.271592] box sshd[12]: hello",
            "daemon:info  : [    3.271592] systemd[1]: hello",
            "2026-03-03T04:05:06+0100 box systemd[1]: hello",
        ] {
            assert!(strip(line).userland, "{line}");
        }
    }

    #[test]
    fn a_kernel_message_with_colons_and_brackets_stays_whole() {
        for line in
            ["pci 0000:02:00.0: BAR 1 [mem 0x1-0x2]: assigned", "[drm] amdgpu kernel modesetting enabled."]
        {
            assert_eq!(strip(line).message, line);
        }
    }
}
