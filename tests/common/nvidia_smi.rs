//! Text of `nvidia-smi`: `-q`, `topo -m`, `topo -p2p`, `nvlink -s`.

use super::Tree;
use super::nvidia::uuid;
use std::fmt::Write as _;

/// One GPU of `nvidia-smi -q`.
#[derive(Clone, Debug)]
pub struct SmiGpu {
    /// BDF.
    pub bdf: &'static str,
    /// `Product Name`.
    pub name: &'static str,
    /// Frame buffer in MiB.
    pub vram_mib: u64,
    /// BAR1 in MiB.
    pub bar1_mib: u64,
    /// Highest generation and generation now.
    pub generation: (u8, u8),
    /// Most lanes and lanes now.
    pub width: (u8, u8),
    /// Display attached and active.
    pub display: bool,
}

/// `nvidia-smi -q` for `gpus`; `mode` is the addressing mode, which branches before 535 do not print.
pub fn query(driver: &str, mode: Option<&str>, gpus: &[SmiGpu]) -> String {
    let mut text = format!(
        "\n==============NVSMI LOG==============\n\nTimestamp                                 : Tue Sep  1 10:12:09 2026\n\
         Driver Version                            : {driver}\n\
         CUDA Version                              : 13.2\n\n\
         Attached GPUs                             : {}\n",
        gpus.len()
    );
    for (index, gpu) in gpus.iter().enumerate() {
        gpu.print(index, mode, &mut text);
    }
    text
}

impl SmiGpu {
    fn print(&self, index: usize, mode: Option<&str>, text: &mut String) {
        let yes_no = |on: bool| if on { "Enabled" } else { "Disabled" };
        let bus = self.bdf[5..7].to_uppercase();
        writeln!(text, "GPU 0000{}", self.bdf.to_uppercase()).unwrap();
        let mut line = |depth: usize, key: &str, value: &str| {
            let key = format!("{}{key}", "    ".repeat(depth));
            if value.is_empty() {
                writeln!(text, "{key}").unwrap();
            } else {
                writeln!(text, "{key:<42}: {value}").unwrap();
            }
        };
        line(1, "Product Name", self.name);
        line(1, "Product Brand", "NVIDIA RTX");
        line(1, "Display Mode", yes_no(self.display));
        line(1, "Display Active", yes_no(self.display));
        line(1, "Persistence Mode", "Enabled");
        if let Some(mode) = mode {
            line(1, "Addressing Mode", mode);
        }
        line(1, "MIG Mode", "");
        line(2, "Current", "N/A");
        line(2, "Pending", "N/A");
        line(1, "GPU UUID", &uuid(index));
        line(1, "Minor Number", &index.to_string());
        line(1, "GPU Virtualization Mode", "");
        line(2, "Virtualization Mode", "None");
        line(2, "Host VGPU Mode", "N/A");
        line(1, "PCI", "");
        line(2, "Bus", &format!("0x{bus}"));
        line(2, "Device", "0x00");
        line(2, "Domain", "0x0000");
        line(2, "Bus Id", &format!("0000{}", self.bdf.to_uppercase()));
        line(2, "GPU Link Info", "");
        line(3, "PCIe Generation", "");
        line(4, "Max", &self.generation.0.to_string());
        line(4, "Current", &self.generation.1.to_string());
        line(3, "Link Width", "");
        line(4, "Max", &format!("{}x", self.width.0));
        line(4, "Current", &format!("{}x", self.width.1));
        line(2, "Replays Since Reset", "7");
        line(2, "Replay Number Rollovers", "0");
        line(1, "Performance State", if self.generation.1 == 1 { "P8" } else { "P0" });
        line(1, "FB Memory Usage", "");
        line(2, "Total", &format!("{} MiB", self.vram_mib));
        line(2, "Reserved", "612 MiB");
        line(2, "Used", "14 MiB");
        line(2, "Free", &format!("{} MiB", self.vram_mib - 626));
        line(1, "BAR1 Memory Usage", "");
        line(2, "Total", &format!("{} MiB", self.bar1_mib));
        line(2, "Used", "1 MiB");
        line(2, "Free", &format!("{} MiB", self.bar1_mib - 1));
        text.push('\n');
    }
}

/// `nvidia-smi topo -m` for `count` GPUs; `level` gives the cell of an ordered pair.
pub fn topology(count: usize, level: impl Fn(usize, usize) -> String) -> String {
    let mut text = String::from("\t");
    for gpu in 0..count {
        write!(text, "GPU{gpu}\t").unwrap();
    }
    text.push_str("CPU Affinity\tNUMA Affinity\tGPU NUMA ID\n");
    for row in 0..count {
        write!(text, "GPU{row}\t").unwrap();
        for column in 0..count {
            let cell = if row == column { " X ".to_owned() } else { level(row, column) };
            write!(text, "{cell}\t").unwrap();
        }
        text.push_str("0-23\t0\t\tN/A\n");
    }
    text.push_str(
        "\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe as well as the SMP interconnect\n  \
         NODE = Connection traversing PCIe and host bridges within a NUMA node\n  \
         PHB  = Connection traversing PCIe and a host bridge\n  \
         NV#  = Connection traversing a bonded set of # NVLinks\n",
    );
    text
}

/// `nvidia-smi topo -p2p r` (or `w`) with one status for every pair.
pub fn peers(count: usize, status: &str) -> String {
    let mut text = String::from(" \t");
    for gpu in 0..count {
        write!(text, "GPU{gpu}\t").unwrap();
    }
    text.push('\n');
    for row in 0..count {
        write!(text, " GPU{row}\t").unwrap();
        for column in 0..count {
            write!(text, "{}\t", if row == column { "X" } else { status }).unwrap();
        }
        text.push('\n');
    }
    text.push_str(
        "\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n  CNS  = Chipset not supported\n  \
         GNS  = GPU not supported\n  TNS  = Topology not supported\n  NS   = Not supported\n  \
         DR   = Disabled by regkey\n  U    = Unknown\n",
    );
    text
}

/// `nvidia-smi nvlink -s`: `links` per GPU, each with a speed in GB/s or inactive.
pub fn nvlink(name: &str, gpus: usize, links: usize, speed: Option<&str>) -> String {
    let mut text = String::new();
    for gpu in 0..gpus {
        writeln!(text, "GPU {gpu}: {name} (UUID: {})", uuid(gpu)).unwrap();
        for link in 0..links {
            match speed {
                Some(speed) => writeln!(text, "\t Link {link}: {speed} GB/s").unwrap(),
                None => writeln!(text, "\t Link {link}: <inactive>").unwrap(),
            }
        }
    }
    text
}

impl Tree {
    /// Captures `topo -m` with one level for every pair, and both peer matrices with one status.
    pub fn smi_matrices(self, count: usize, level: &str, status: &str) -> Self {
        self.file("captured/nvidia-smi-topo-m.txt", topology(count, |_, _| level.to_owned()))
            .file("captured/nvidia-smi-topo-p2p-r.txt", peers(count, status))
            .file("captured/nvidia-smi-topo-p2p-w.txt", peers(count, status))
    }

    /// Captures `nvidia-smi -q`.
    pub fn smi_query(self, driver: &str, mode: Option<&str>, gpus: &[SmiGpu]) -> Self {
        self.file("captured/nvidia-smi-q.txt", query(driver, mode, gpus))
    }
}
