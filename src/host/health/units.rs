//! Failed systemd units.
//!
//! Left out: units whose names are made anew each time (transient services, sessions, containers, core dumps):
//! they cannot be found again, and belong to whoever started them.

use super::part::Part;
use crate::host::subprocess::Program;
use crate::root::{Fact, Root, Unknown, Why};

const SYSTEMCTL: Program = Program {
    name: "systemctl --failed",
    places: &["/usr/bin/systemctl", "/bin/systemctl", "/run/current-system/sw/bin/systemctl"],
    arguments: &["--failed", "--plain", "--no-legend", "--no-pager", "--full"],
};
const CAPTURE: &str = "systemctl-failed.txt";
const PASSING: [&str; 9] = [
    "run-u",
    "run-r",
    "run-p",
    "session-",
    "docker-",
    "libpod-",
    "cri-containerd-",
    "crio-",
    "systemd-coredump@",
];

/// Names of failed units, sorted.
pub(super) fn failed(root: &Root) -> Part<Vec<String>> {
    if !root.is_live() {
        return root.captured(CAPTURE).map(|text| units(&text)).into();
    }
    // sd_booted(3): the folder is there exactly when systemd is the init.
    if !root.exists("run/systemd/system") {
        return Part::Absent;
    }
    match live() {
        Ok(text) => Part::Known { value: units(&text) },
        Err(reason) => Fact::Unknown(reason).into(),
    }
}

fn live() -> Result<String, Unknown> {
    let output = SYSTEMCTL.run()?;
    if let Some(cut) = output.cut {
        return Err(SYSTEMCTL.unknown(Why::Unreadable, &cut));
    }
    if !output.success {
        return Err(
            SYSTEMCTL.unknown(Why::Unreadable, "it reports an error; does the system manager answer?")
        );
    }
    Ok(String::from_utf8_lossy(&output.bytes).into_owned())
}

/// `UNIT LOAD ACTIVE SUB DESCRIPTION`, with a dot before it where `--plain` was left out.
fn units(text: &str) -> Vec<String> {
    let mut all: Vec<String> = text
        .lines()
        .map(|line| line.trim_start().trim_start_matches(['●', '*']))
        .filter_map(|line| {
            let mut fields = line.split_ascii_whitespace();
            let (name, _, active) = (fields.next()?, fields.next()?, fields.next()?);
            (active == "failed").then(|| name.to_owned())
        })
        .filter(|name| !PASSING.iter().any(|kind| name.starts_with(kind)))
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::units;

    #[test]
    fn names_of_failed_units_that_can_be_found_again() {
        let text = "nvidia-persistenced.service loaded failed failed NVIDIA Persistence Daemon\n\
                    ● mnt-data.mount        loaded failed failed /mnt/data\n\
                    run-u42.service loaded failed failed /bin/false\n\
                    fine.service loaded active running Fine\n";
        assert_eq!(units(text), ["mnt-data.mount", "nvidia-persistenced.service"]);
    }
}
