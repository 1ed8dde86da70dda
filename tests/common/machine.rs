//! What the kernel says about itself, the processors, the board and the memory.

use super::Tree;
use std::fmt::Write as _;

/// Processors of one host.
#[derive(Clone, Copy, Debug)]
pub struct Cpus {
    /// `vendor_id`.
    pub vendor: &'static str,
    /// `cpu family`.
    pub family: u32,
    /// `model`.
    pub model: u32,
    /// `model name`.
    pub name: &'static str,
    /// Packages.
    pub sockets: u32,
    /// Cores of one package.
    pub cores: u32,
    /// Threads of one core.
    pub threads: u32,
    /// Cores that share a block of APIC ids, and the size of that block.
    pub apic_block: (u32, u32),
    /// A hypervisor is below.
    pub guest: bool,
}

impl Cpus {
    /// Intel Core Ultra 9 285K.
    pub const ARROW_LAKE: Self = Self::intel(198, "Intel(R) Core(TM) Ultra 9 285K", 1, 24, 1);
    /// Two Xeon E5-2640 v4.
    pub const BROADWELL_EP: Self = Self::intel(79, "Intel(R) Xeon(R) CPU E5-2640 v4 @ 2.40GHz", 2, 10, 2);
    /// Two Xeon E5-2640 v3.
    pub const HASWELL_EP: Self = Self::intel(63, "Intel(R) Xeon(R) CPU E5-2640 v3 @ 2.60GHz", 2, 8, 2);
    /// Two Xeon Gold 6226 (Cascade Lake).
    pub const CASCADE_LAKE: Self = Self::intel(85, "Intel(R) Xeon(R) Gold 6226 CPU @ 2.70GHz", 2, 12, 2);
    /// Xeon E3-1245 v3.
    pub const HASWELL: Self = Self::intel(60, "Intel(R) Xeon(R) CPU E3-1245 v3 @ 3.40GHz", 1, 4, 2);
    /// Core i7-13700H.
    pub const RAPTOR_LAKE_H: Self = Self::intel(186, "13th Gen Intel(R) Core(TM) i7-13700H", 1, 14, 1);
    /// EPYC 9655: 96 cores, APIC ids with gaps up to 367.
    pub const TURIN: Self = Self::amd(26, 2, "AMD EPYC 9655 96-Core Processor", 96, (8, 32));
    /// Ryzen 9 5950X.
    pub const VERMEER: Self = Self::amd(25, 33, "AMD Ryzen 9 5950X 16-Core Processor", 16, (8, 16));
    /// Ryzen Threadripper 7960X.
    pub const STORM_PEAK: Self = Self::amd(25, 24, "AMD Ryzen Threadripper 7960X 24-Cores", 24, (8, 16));

    const fn intel(model: u32, name: &'static str, sockets: u32, cores: u32, threads: u32) -> Self {
        let apic_block = (16, 32);
        Self {
            vendor: "GenuineIntel",
            family: 6,
            model,
            name,
            sockets,
            cores,
            threads,
            apic_block,
            guest: false,
        }
    }

    const fn amd(family: u32, model: u32, name: &'static str, cores: u32, apic_block: (u32, u32)) -> Self {
        let vendor = "AuthenticAMD";
        Self { vendor, family, model, name, sockets: 1, cores, threads: 2, apic_block, guest: false }
    }

    fn text(self) -> String {
        let mut text = String::new();
        let mut number = 0;
        let (in_block, block) = self.apic_block;
        let per_socket = self.cores.div_ceil(in_block) * block;
        for thread in 0..self.threads {
            for socket in 0..self.sockets {
                for core in 0..self.cores {
                    let apic = socket * per_socket + core / in_block * block + core % in_block * self.threads;
                    let Self { vendor, family, model, name, cores, .. } = self;
                    let guest = if self.guest { " hypervisor" } else { "" };
                    write!(
                        text,
                        "processor\t: {number}\nvendor_id\t: {vendor}\ncpu family\t: {family}\n\
                         model\t\t: {model}\nmodel name\t: {name}\nstepping\t: 1\n\
                         physical id\t: {socket}\nsiblings\t: {}\ncore id\t\t: {core}\ncpu cores\t: {cores}\n\
                         apicid\t\t: {apic_id}\ninitial apicid\t: {apic_id}\nfpu\t\t: yes\n\
                         flags\t\t: fpu vme de pse tsc msr pae mce cx8 apic sep mtrr{guest} x2apic lm\n\
                         address sizes\t: 46 bits physical, 48 bits virtual\npower management:\n\n",
                        cores * self.threads,
                        apic_id = apic + thread,
                    )
                    .unwrap();
                    number += 1;
                }
            }
        }
        text
    }
}

impl Tree {
    /// `proc/cpuinfo`.
    pub fn cpus(self, cpus: Cpus) -> Self {
        self.file("proc/cpuinfo", cpus.text())
    }

    /// Release, version, command line and boot id.
    pub fn kernel(self, release: &str, cmdline: &str) -> Self {
        self.file("proc/cmdline", format!("{cmdline}\n"))
            .file("proc/sys/kernel/osrelease", format!("{release}\n"))
            .file(
                "proc/version",
                format!(
                    "Linux version {release} (build@builder) (x86_64-linux-gnu-gcc-15 (Debian) 15.2.0, GNU ld \
                     2.45) #1 SMP PREEMPT_DYNAMIC Mon Aug 10 09:21:07 UTC 2026\n"
                ),
            )
            .file("proc/sys/kernel/random/boot_id", "5d0c8f0e-6f0a-4b4e-9d57-0f1b7f2f8c11\n")
            .file("sys/kernel/security/lockdown", "[none] integrity confidentiality\n")
            .file("sys/module/pcie_aspm/parameters/policy", "[default] performance powersave powersupersave \n")
    }

    /// `boot/config-RELEASE` of a distribution kernel, with symbols set apart.
    pub fn kernel_config(self, release: &str, changed: &[(&str, &str)]) -> Self {
        let common = [
            ("CONFIG_X86_64", "y"),
            ("CONFIG_PCI", "y"),
            ("CONFIG_PCI_IOV", "y"),
            ("CONFIG_PCIEAER", "y"),
            ("CONFIG_PCIEASPM", "y"),
            ("CONFIG_ZONE_DEVICE", "y"),
            ("CONFIG_PCI_P2PDMA", "y"),
            ("CONFIG_DMABUF_MOVE_NOTIFY", "y"),
            ("CONFIG_HSA_AMD", "y"),
            ("CONFIG_HSA_AMD_P2P", "y"),
            ("CONFIG_INTEL_IOMMU", "y"),
            ("CONFIG_INTEL_IOMMU_DEFAULT_ON", "y"),
            ("CONFIG_AMD_IOMMU", "y"),
            ("CONFIG_IOMMU_DEFAULT_PASSTHROUGH", "n"),
            ("CONFIG_IOMMU_DEFAULT_DMA_LAZY", "y"),
        ];
        let mut text = format!("#\n# Linux/x86 {release} Kernel Configuration\n#\n");
        for (symbol, value) in common {
            let value = changed.iter().find(|(name, _)| *name == symbol).map_or(value, |(_, value)| value);
            match value {
                "n" => writeln!(text, "# {symbol} is not set").unwrap(),
                _ => writeln!(text, "{symbol}={value}").unwrap(),
            }
        }
        self.file(&format!("boot/config-{release}"), text)
    }

    /// `sys/class/dmi/id`.
    pub fn board(self, vendor: &str, product: &str, board: &str) -> Self {
        self.file("sys/class/dmi/id/sys_vendor", format!("{vendor}\n"))
            .file("sys/class/dmi/id/product_name", format!("{product}\n"))
            .file("sys/class/dmi/id/board_vendor", format!("{vendor}\n"))
            .file("sys/class/dmi/id/board_name", format!("{board}\n"))
    }

    /// `proc/meminfo` and the mounts that every host has.
    pub fn memory(self, gib: u64) -> Self {
        let kib = gib << 20;
        self.file(
            "proc/meminfo",
            format!(
                "MemTotal:       {kib:>9} kB\nMemFree:        {:>9} kB\nSwapTotal:              0 kB\n",
                kib / 2
            ),
        )
        .file(
            "proc/mounts",
            "sysfs /sys sysfs rw,nosuid,nodev,noexec,relatime 0 0\n\
             proc /proc proc rw,nosuid,nodev,noexec,relatime 0 0\n\
             /dev/nvme0n1p2 / ext4 rw,relatime 0 0\n\
             tmpfs /dev/shm tmpfs rw,nosuid,nodev,inode64 0 0\n",
        )
    }

    /// A loaded module with parameters.
    pub fn module(self, name: &str, parameters: &[(&str, &str)]) -> Self {
        let home = format!("sys/module/{name}");
        let tree = self.dir(&home).file(&format!("{home}/initstate"), "live\n");
        parameters.iter().fold(tree, |tree, (parameter, value)| {
            tree.file(&format!("{home}/parameters/{parameter}"), format!("{value}\n"))
        })
    }
}
