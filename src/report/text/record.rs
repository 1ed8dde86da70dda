//! A benchmark record for people: one table of arms for each pair of GPUs.

use crate::bench::record::{Arm, Backend, GpuState, Outcome, PairRecord, Record};
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use std::fmt::Write;

/// Pairs whose tables are shown in full.
const LIMIT: usize = 8;

/// The whole text.
pub fn text(record: &Record) -> String {
    let mut out = String::new();
    if record.backend == Backend::P2pmem {
        let _ = writeln!(out, "Drives that read into memory of other devices (p2pmem)");
    }
    for gpu in &record.gpus {
        let _ = writeln!(out, "{}", gpu_line(gpu, record.backend));
    }
    let _ = writeln!(out, "{}", state_line(record));
    let mut shown = 0;
    for (at, pair) in record.pairs.iter().enumerate() {
        let back = record.pairs.iter().position(|other| other.from == pair.to && other.to == pair.from);
        if back.is_some_and(|back| back < at) {
            continue;
        }
        shown += 1;
        if shown <= LIMIT {
            let back = back.and_then(|back| record.pairs.get(back));
            both(&mut out, pair, back);
        }
    }
    if shown > LIMIT {
        let _ = writeln!(out, "\nand {} more pairs (--format json)", shown - LIMIT);
    }
    if !record.fabric.is_empty() {
        let _ = writeln!(out, "\nAll GPUs at once");
        for arm in &record.fabric {
            let share = if arm.share > 0.0 {
                format!("  {:.0} % of the sum of the pairs alone", arm.share * 100.0)
            } else {
                String::new()
            };
            let _ = writeln!(out, "  {:<28}{:>16}{share}", label(&arm.name), value(arm));
        }
    }
    let wrong = wrong(record);
    if !wrong.is_empty() {
        let _ = writeln!(out, "\nWrong:");
        for line in wrong {
            let _ = writeln!(out, "{}", crate::report::style::wrap("  - ", 4, &line));
        }
    }
    if !record.notes.is_empty() {
        let _ = writeln!(out, "\nNotes:");
        for text in &record.notes {
            let _ = writeln!(out, "{}", crate::report::style::wrap("  - ", 4, text));
        }
    }
    let _ = writeln!(out, "\n{} record {} in {:.1} s", record.mode, record.id, record.seconds);
    out
}

fn gpu_line(gpu: &GpuState, backend: Backend) -> String {
    let mut words = vec![format!("{} {}", short(&gpu.bdf), gpu.name)];
    if backend == Backend::P2pmem && gpu.memory > 0 {
        words.push(format!("{} KiB of memory for peers", gpu.memory >> 10));
    }
    if gpu.link_max.generation > 0 {
        words.push(format!("PCIe Gen{} x{}", gpu.link_max.generation, gpu.link_max.width));
    }
    if gpu.nvlinks > 0 {
        words.push(format!("{} NVLinks of {:.1} GB/s", gpu.nvlinks, f64::from(gpu.nvlink_mb_s) / 1e3));
    }
    if let Some(domain) = &gpu.domain_type {
        words.push(format!("IOMMU domain {domain}"));
    }
    words.join(", ")
}

fn state_line(record: &Record) -> String {
    let state = &record.state;
    let mut words = Vec::new();
    if let Some(driver) = &state.driver {
        words.push(format!("driver {driver}"));
    }
    if let Some(kernel) = &state.kernel {
        words.push(format!("kernel {kernel}"));
    }
    if let Some(hypervisor) = &state.hypervisor {
        words.push(format!("guest of {hypervisor}"));
    }
    words.join(", ")
}

/// The table of a pair: one row for each arm, one column for each direction.
fn both(out: &mut String, forth: &PairRecord, back: Option<&PairRecord>) {
    let (a, b) = (short(&forth.from), short(&forth.to));
    let ceiling = if forth.ceiling_gb_s > 0.0 {
        let digits = if forth.ceiling_gb_s < 10.0 { 2 } else { 0 };
        format!(", the path carries {:.digits$} GB/s in each direction", forth.ceiling_gb_s)
    } else {
        String::new()
    };
    let _ = writeln!(out, "\n{a} and {b}: {}{ceiling}", route(&forth.route));
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(vec!["Arm".to_owned(), format!("{a} -> {b}"), format!("{b} -> {a}")]);
    let mut names: Vec<&str> = Vec::new();
    for arm in forth.arms.iter().chain(back.iter().flat_map(|back| &back.arms)) {
        if !names.contains(&arm.name.as_str()) {
            names.push(&arm.name);
        }
    }
    names.sort_by_key(|name| order(name));
    for name in names {
        let cell = |pair: Option<&PairRecord>| {
            pair.and_then(|pair| pair.arms.iter().find(|arm| arm.name == name)).map_or(String::new(), value)
        };
        table.add_row(vec![label(name), cell(Some(forth)), cell(back)]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for line in table.lines() {
        let _ = writeln!(out, "  {}", line.trim_end());
    }
}

fn route(route: &str) -> String {
    match route {
        "" => "route not known".to_owned(),
        other => other.to_owned(),
    }
}

/// Rows in the order in which people ask.
fn order(name: &str) -> (usize, u64) {
    const FIRST: [&str; 15] = [
        "first-page",
        "p2p-read",
        "ce-read",
        "ce-write",
        "round-ce-write",
        "sm-read",
        "sm-write",
        "bidirectional",
        "staged",
        "staged-double",
        "driver-staged",
        "resident",
        "latency-load",
        "latency-copy-",
        "latency-loop",
    ];
    let place =
        FIRST.iter().position(|first| name.starts_with(first) && !(name != *first && *first == "staged"));
    let number = name.rsplit('-').next().and_then(|text| text.parse().ok()).unwrap_or(0);
    (place.unwrap_or(FIRST.len()), number)
}

fn label(name: &str) -> String {
    let size = |bytes: &str| match bytes.parse::<u64>() {
        Ok(bytes) if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
        Ok(bytes) if bytes >= 1 << 10 => format!("{} KiB", bytes >> 10),
        Ok(bytes) => format!("{bytes} B"),
        Err(_) => bytes.to_owned(),
    };
    match name {
        "first-page" => "first page".to_owned(),
        "ce-read" => "copy engine reads".to_owned(),
        "ce-write" => "copy engine writes".to_owned(),
        "round-ce-write" => "copy engine writes, in a round".to_owned(),
        "sm-read" => "SMs read".to_owned(),
        "sm-write" => "SMs write".to_owned(),
        "bidirectional" => "both directions at once".to_owned(),
        "staged" => "staged, one hop after the other".to_owned(),
        "staged-double" => "staged, double-buffered".to_owned(),
        "driver-staged" => "staged by the driver".to_owned(),
        "resident" => "resident consumer, 4 KiB page".to_owned(),
        "latency-load" => "dependent load".to_owned(),
        "latency-loop-2048x32" => "32 B copy, 2048 in a row".to_owned(),
        "p2p-read" => "drive reads into peer memory".to_owned(),
        "self" => "inside the first device".to_owned(),
        other => match other.rsplit_once('-') {
            Some(("latency-copy", bytes)) => format!("copy of {}, waited for", size(bytes)),
            Some(("p2p-read", bytes)) => format!("read of {} into peer memory", size(bytes)),
            Some(("staged", bytes)) => format!("read of {}, staged", size(bytes)),
            Some(("driver-staged", bytes)) => format!("copy of {} by the driver", size(bytes)),
            Some(("allreduce", bytes)) => format!("all-reduce of {}", size(bytes)),
            Some(("nccl-allreduce", bytes)) => format!("NCCL all-reduce of {}", size(bytes)),
            _ => other.to_owned(),
        },
    }
}

fn value(arm: &Arm) -> String {
    match arm.outcome {
        Outcome::Measured if arm.samples.is_empty() => "right".to_owned(),
        Outcome::Measured => {
            let digits = if arm.median >= 100.0 { 1 } else { 2 };
            format!("{:.digits$} {}", arm.median, arm.unit)
        }
        Outcome::Refused => "refused".to_owned(),
        Outcome::Skipped => "-".to_owned(),
        Outcome::Failed => "FAILED".to_owned(),
        Outcome::Hang => "HANG".to_owned(),
        Outcome::Crash => "CRASH".to_owned(),
        Outcome::Corrupt => "WRONG DATA".to_owned(),
    }
}

/// One sentence for each arm that is not right.
fn wrong(record: &Record) -> Vec<String> {
    let mut lines = Vec::new();
    let named = record
        .pairs
        .iter()
        .flat_map(|pair| {
            let way = format!("{} -> {} ", short(&pair.from), short(&pair.to));
            pair.arms.iter().map(move |arm| (way.clone(), arm))
        })
        .chain(record.fabric.iter().map(|arm| (String::new(), arm)));
    for (way, arm) in named {
        let bad = matches!(arm.outcome, Outcome::Corrupt | Outcome::Failed | Outcome::Hang | Outcome::Crash);
        let fault = crate::bench::counters::faulted(&arm.deltas);
        if !bad && fault.is_none() {
            continue;
        }
        let mut line = format!("{way}{}: {}", label(&arm.name), arm.why);
        if !bad {
            line = format!("{way}{}: data right", label(&arm.name));
        }
        for error in &arm.errors {
            let _ = write!(
                line,
                "; {}: {} words, bytes {} to {}: {}",
                error.mechanism,
                error.words,
                error.first,
                error.last + 8,
                error.detail
            );
        }
        if let Some(fault) = fault {
            let _ = write!(line, "; {fault}");
        }
        lines.push(line);
    }
    lines
}

/// `0000:02:00.0` is `02:00.0`.
fn short(bdf: &str) -> &str {
    bdf.strip_prefix("0000:").unwrap_or(bdf)
}
