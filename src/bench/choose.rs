//! Which GPUs are measured, and why the others are not.

use super::protocol::DeviceFacts;
use super::view::View;
use crate::root::Root;

/// Memory of a drawing process that is tolerated.
const DISPLAY_MEMORY: u64 = 300 << 20;

/// Why nothing can be measured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The host cannot be measured: no driver, too few GPUs, MIG.
    #[error("{0}")]
    Unsupported(String),
    /// Others use the GPUs.
    #[error("{0}")]
    Busy(String),
    /// The request names what is not there.
    #[error("{0}")]
    Usage(String),
}

/// The GPUs to measure, in the driver's order; what was left out goes to `notes`.
pub(super) fn choose(
    devices: &[DeviceFacts],
    wanted: &[String],
    view: &View,
    notes: &mut Vec<String>,
) -> Result<Vec<DeviceFacts>, Refusal> {
    let mut chosen: Vec<DeviceFacts> = Vec::new();
    if wanted.is_empty() {
        chosen.extend_from_slice(devices);
    }
    for name in wanted {
        let device = named(devices, name).ok_or_else(|| {
            let list: Vec<String> =
                devices.iter().enumerate().map(|(n, d)| format!("{n} = {} {}", d.bdf, d.name)).collect();
            Refusal::Usage(format!("--gpus {name}: no such GPU; the driver has {}", list.join(", ")))
        })?;
        if !chosen.contains(device) {
            chosen.push(device.clone());
        }
    }
    chosen.retain(|device| {
        let mig = view.gpu(&device.bdf).is_some_and(|gpu| gpu.mig);
        if mig {
            notes.push(format!("{} {}: MIG is on, and instances have no peers", device.bdf, device.name));
        }
        if device.integrated {
            notes.push(format!("{} {}: part of the processor, no peer", device.bdf, device.name));
        }
        !mig && !device.integrated
    });
    if chosen.len() < 2 {
        let why = match (devices.len(), notes.is_empty()) {
            (0, _) => "the driver sees no GPU".to_owned(),
            (1, true) => format!(
                "one GPU ({} {}): a transfer between GPUs needs two",
                devices.first().map_or("", |d| d.bdf.as_str()),
                devices.first().map_or("", |d| d.name.as_str())
            ),
            (_, true) => "a transfer between GPUs needs two of them".to_owned(),
            (_, false) => format!("fewer than two usable GPUs: {}", notes.join("; ")),
        };
        return Err(Refusal::Unsupported(why));
    }
    Ok(chosen)
}

/// By number in the driver's order, or by BDF with or without domain.
fn named<'a>(devices: &'a [DeviceFacts], name: &str) -> Option<&'a DeviceFacts> {
    if let Ok(number) = name.parse::<usize>() {
        return devices.get(number);
    }
    let name = name.to_ascii_lowercase();
    devices.iter().find(|device| {
        device.bdf == name || device.bdf.strip_prefix("0000:").is_some_and(|short| short == name)
    })
}

/// Others that use the chosen GPUs; none when they are free. Small drawing processes are noted.
pub(super) fn users(chosen: &[DeviceFacts], view: &View, notes: &mut Vec<String>) -> Option<String> {
    let mut busy = Vec::new();
    let own = std::process::id();
    for device in chosen {
        let Some(gpu) = view.gpu(&device.bdf) else { continue };
        match &gpu.processes {
            Err(why) => notes.push(format!("{}: whether others use it is not known: {why}", device.bdf)),
            Ok(processes) => {
                for process in processes.iter().filter(|process| process.pid != own) {
                    let small = process.memory.is_some_and(|bytes| bytes < DISPLAY_MEMORY);
                    let memory = process
                        .memory
                        .map_or_else(|| "unknown".to_owned(), |bytes| format!("{} MiB", bytes >> 20));
                    let words =
                        format!("{}: {} (pid {}, {memory})", device.bdf, comm(process.pid), process.pid);
                    if !process.compute && small {
                        notes.push(format!("{words} draws on it and was tolerated"));
                    } else {
                        busy.push(words);
                    }
                }
            }
        }
    }
    (!busy.is_empty()).then(|| format!("GPUs are in use: {}", busy.join(", ")))
}

fn comm(pid: u32) -> String {
    let name = Root::live().line(&format!("proc/{pid}/comm"));
    name.value().cloned().unwrap_or_else(|| "unnamed".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::view::ViewGpu;
    use crate::gpu::nvml::Process;

    fn device(bdf: &str) -> DeviceFacts {
        DeviceFacts { bdf: bdf.to_owned(), name: "Test GPU".to_owned(), ..DeviceFacts::default() }
    }

    fn two() -> Vec<DeviceFacts> {
        vec![device("0000:17:00.0"), device("0000:65:00.0")]
    }

    #[test]
    fn gpus_are_named_by_number_and_by_bdf() {
        let view = View::default();
        let pick = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            choose(&two(), &names, &view, &mut Vec::new())
        };
        assert_eq!(pick(&["1", "0000:17:00.0"]).unwrap().len(), 2);
        assert_eq!(pick(&["17:00.0", "65:00.0"]).unwrap(), two());
        assert!(matches!(pick(&["2"]), Err(Refusal::Usage(_))));
        assert!(matches!(pick(&["0", "0"]), Err(Refusal::Unsupported(_))));
    }

    #[test]
    fn users_are_named_and_small_drawing_ones_are_tolerated() {
        let process = |compute, memory| Process { pid: 1, memory: Some(memory), compute };
        let view = |process: Process| View {
            gpus: vec![ViewGpu {
                bdf: "0000:17:00.0".to_owned(),
                processes: Ok(vec![process]),
                ..ViewGpu::default()
            }],
            ..View::default()
        };
        let mut notes = Vec::new();
        assert!(users(&two(), &view(process(true, 1 << 30)), &mut notes).unwrap().contains("1024 MiB"));
        assert!(users(&two(), &view(process(false, 600 << 20)), &mut notes).is_some());
        assert!(notes.is_empty());
        assert!(users(&two(), &view(process(false, 20 << 20)), &mut notes).is_none());
        assert!(notes[0].contains("tolerated"));
    }
}
